"""The words of each language: good translations are left alone, and slips in them are found."""

from __future__ import annotations

import re
import tomllib
from importlib.resources import files

import pytest

from snellen_curate.translate.languages import BAR, open_language
from snellen_curate.translate.pair import TextPair
from snellen_curate.translate.rules import check_pair
from snellen_curate.translate.terms import terms_of

ENGLISH = open_language("en")
WORDS = files("snellen_curate.translate") / "words"
TAGS = ("ar", "de", "es", "fr", "ja", "ru", "zh")

KNIFE = "The knife is on the left of the red plate."
HEAVY = "Each box weighs 2.5 kg."
THREE = "Three women are not wearing gloves."
HOT = "It rained before the hot day."
SLIPS = [
    (
        "de",
        KNIFE,
        "Das Messer liegt links vom roten Teller.",
        {"links": "rechts", "roten": "grünen", "Das": "Übersetzung: Das"},
    ),
    ("de", HEAVY, "Jede Kiste wiegt 2,5 kg.", {"kg": "g", "2,5": "25", "wiegt": "weighs 重"}),
    ("de", THREE, "Drei Frauen tragen keine Handschuhe.", {"Drei": "Vier", "Frauen": "Männer", "keine ": ""}),
    ("de", HOT, "Vor dem heißen Tag regnete es.", {"Vor": "Nach", "heißen": "kalten", "es": "es nicht"}),
    (
        "fr",
        KNIFE,
        "Le couteau est à gauche de l'assiette rouge.",
        {"gauche": "droite", "rouge": "verte", "Le": "Voici la traduction : Le"},
    ),
    ("fr", HEAVY, "Chaque caisse pèse 2,5 kg.", {"kg": "g", "2,5": "25"}),
    (
        "fr",
        THREE,
        "Trois femmes ne portent pas de gants.",
        {"Trois": "Quatre", "femmes": "hommes", "ne portent pas de": "portent des"},
    ),
    ("fr", HOT, "Il a plu avant la journée chaude.", {"avant": "après", "chaude": "froide", "a plu": "n'a pas plu"}),
    (
        "es",
        KNIFE,
        "El cuchillo está a la izquierda del plato rojo.",
        {"izquierda": "derecha", "rojo": "verde", "El": "¡Claro! El"},
    ),
    ("es", HEAVY, "Cada caja pesa 2,5 kg.", {"kg": "g", "2,5": "25"}),
    ("es", THREE, "Tres mujeres no llevan guantes.", {"Tres": "Cuatro", "mujeres": "hombres", "no ": ""}),
    ("es", HOT, "Llovió antes del día caluroso.", {"antes": "después", "caluroso": "frío", "Llovió": "No llovió"}),
    (
        "ru",
        KNIFE,
        "Нож лежит слева от красной тарелки.",
        {"слева": "справа", "красной": "зелёной", "Нож": "Перевод: Нож"},
    ),
    ("ru", HEAVY, "Каждая коробка весит 2,5 кг.", {"кг": "г", "2,5": "25"}),
    ("ru", THREE, "Три женщины не носят перчаток.", {"Три": "Четыре", "женщины": "мужчины", "не ": ""}),
    ("ru", HOT, "Перед жарким днём шёл дождь.", {"Перед": "После", "жарким": "холодным", "шёл": "не шёл"}),
    ("ar", KNIFE, "السكين على يسار الطبق الأحمر.", {"يسار": "يمين", "الأحمر": "الأخضر", "السكين": "الترجمة: السكين"}),
    ("ar", HEAVY, "يزن كل صندوق ٢٫٥ كغ.", {"كغ": "غ", "٢٫٥": "٢٥"}),
    ("ar", THREE, "ثلاث نساء لا يرتدين قفازات.", {"ثلاث": "أربع", "نساء": "رجال", "لا ": ""}),
    ("ar", HOT, "أمطرت قبل اليوم الحار.", {"قبل": "بعد", "الحار": "البارد", "أمطرت": "لم تمطر"}),
    ("ja", KNIFE, "ナイフは赤い皿の左にあります。", {"左": "右", "赤": "緑", "ナイフ": "翻訳：ナイフ"}),
    ("ja", HEAVY, "箱の重さはそれぞれ2.5kgです。", {"kg": "グラム", "2.5": "25"}),
    ("ja", THREE, "三人の女性は手袋をしていません。", {"三": "四", "女性": "男性", "いません": "います"}),
    ("ja", HOT, "暑い日の前に雨が降りました。", {"前": "後", "暑": "寒", "ました": "ませんでした"}),
    ("zh", KNIFE, "刀在红盘子的左边。", {"左": "右", "红": "绿", "刀": "好的！刀"}),
    ("zh", HEAVY, "每个箱子重 2.5 公斤。", {"公斤": "克", "2.5": "25"}),
    ("zh", THREE, "三位女士没有戴手套。", {"三": "四", "女士": "男士", "没有": ""}),
    ("zh", HOT, "炎热的一天之前下了雨。", {"之前": "之后", "热": "冷", "下了": "没有下"}),
]
"""A language, a text, its translation, and exchanges that are slips."""


def wrong_rules(source: str, target: str, tag: str) -> set[str]:
    pair = TextPair({"question": source}, {"question": target}, ENGLISH, open_language(tag))
    return {each.rule for each in check_pair(pair) if each.level == "wrong"}


@pytest.mark.parametrize(("tag", "source", "good", "slips"), SLIPS)
def test_a_good_translation_is_left_alone_and_each_slip_is_found(
    tag: str, source: str, good: str, slips: dict[str, str]
) -> None:
    assert not wrong_rules(source, good, tag)
    for form, slip in slips.items():
        assert good.count(form) == 1
        assert wrong_rules(source, good.replace(form, slip), tag), slip


GOOD = [
    ("de", "A man not only sings.", "Ein Mann singt nicht nur."),
    ("de", "Which year, 2008-09, was it?", "Welches Jahr war es, 2008/2009?"),
    ("de", "He is in the Church of the Holy Trinity.", "Er ist in der Church of the Holy Trinity."),
    ("fr", "He leaves before she comes.", "Il part avant qu'elle ne vienne."),
    ("fr", "A castle of the 18th century", "Un château du XVIIIe siècle"),
    ("ru", "Is the ball red or blue?", "Мяч красный или синий?"),
    ("ar", "Two dogs", "كلبان"),
    ("ja", "It may be raining.", "雨かもしれません。"),
    ("zh", "Is the bus red?", "公交车是不是红色的？"),
    ("zh", "No parking", "禁止停车"),
    ("zh", "Complete it: for i in range(10): print(i)", "补全：for i in range(10): print(i)"),
    ("zh", "How many birds does Jamal see?", "贾马尔看见多少只鸟？"),
    ("zh", "It rings for half as long.", "它响铃多少次，是一半。"),
    ("fr", "Six more roses than lilies", "Six roses de plus qu'il n'y a de lys"),
    ("fr", "Ann has two books, Ben one.", "Anne a deux livres, Ben n'en a qu'un."),
    ("fr", "Ann is 2 years younger than Ben.", "Anne a 2 ans de moins que Ben."),
    ("ja", "Every day except Sunday", "日曜日のみ休みです"),
    ("ja", "She bought 3 dozen eggs.", "彼女は卵を36個買いました。"),
    ("ja", "It takes a minute and a half.", "1.5分かかります。"),
    ("ja", "It takes .5 hours of 2 hours.", "2時間のうち30分かかります。"),
    ("ja", "4 gallons/minute", "1分に4ガロン"),
    ("ja", "three-fifths water", "5分の3が水"),
    ("ja", "six sea horses and three clownfish", "6匹のタツノオトシゴと3匹のクマノミ"),
]


@pytest.mark.parametrize(("tag", "source", "target"), GOOD)
def test_apparent_slips_are_not_flagged(tag: str, source: str, target: str) -> None:
    assert not wrong_rules(source, target, tag)


def test_a_word_that_changed_places_with_another_is_missed_once() -> None:
    source = "a black and white cat"
    assert not wrong_rules(source, "eine schwarz-weiße Katze", "de")
    assert wrong_rules(source, "eine schwarz-schwarze Katze", "de") == {"opposites"}
    assert not wrong_rules(source, "eine weiß-schwarze Katze", "de")


def test_long_texts_are_only_doubtful() -> None:
    long = " It is a very long description of an old town hall." * 9
    target = " Das ist eine sehr lange Beschreibung eines alten Rathauses." * 9
    assert not wrong_rules(KNIFE + long, "Das Messer liegt rechts vom roten Teller." + target, "de")


@pytest.mark.parametrize("tag", TAGS)
def test_the_words_of_a_language_have_the_concepts_of_english(tag: str) -> None:
    english, words = (tomllib.loads((WORDS / f"{name}.toml").read_text(encoding="utf-8")) for name in ("en", tag))
    assert words.keys() - english.keys() == {"numbers", "symbols"}
    for name, group in english.items():
        assert words[name].keys() - {"ignore"} == group.keys() - {"title"}, name
    for name, concepts in words.items():
        for concept, alternatives in concepts.items() if name != "symbols" else ():
            repeated = [each for each in BAR.split(alternatives) if not each or each == "~"]
            assert not repeated, (name, concept)
    assert terms_of(ENGLISH, open_language(tag)).groups
    assert all(re.fullmatch(r"[\d.]+", number) for number in words["numbers"])


def test_a_language_without_words_has_none() -> None:
    assert terms_of(ENGLISH, open_language("fi")).groups == ()
    assert terms_of(open_language("de"), open_language("fr")).groups == ()
