"""The rules by which a translation is checked: slips that they notice, good translations that they
leave alone, and their parts."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from pathlib import Path

import pytest
from translation_slips import GLOSSARY, GOOD, KEEP, SLIPS, Slip, fields

from snellen.core.errors import DataError, UsageError
from snellen.core.output import ParsedAnswer
from snellen.extract.yes_no import parse_yes_no
from snellen_curate.translate.languages import known_languages, length_range, open_language
from snellen_curate.translate.numerals import number_mentions, word_values
from snellen_curate.translate.pair import Mismatch, TextPair, bare_text, find_spans
from snellen_curate.translate.rules import RULES, check_pair
from snellen_curate.translate.terms import read_glossary, read_terms

HERE = Path(__file__).parent
ENGLISH, CHINESE = open_language("en"), open_language("zh")


def check(source: str, target: str, to: str = "zh") -> list[Mismatch]:
    pair = TextPair(fields(source), fields(target), ENGLISH, open_language(to), ("A",), KEEP, GLOSSARY)
    return check_pair(pair)


def wrong_rules(source: str, target: str, to: str = "zh") -> set[str]:
    return {each.rule for each in check(source, target, to) if each.level == "wrong"}


@pytest.mark.parametrize("slip", SLIPS, ids=lambda slip: f"{slip.rule}: {slip.bad[:30]}")
def test_a_slip_is_noticed_by_its_rule(slip: Slip) -> None:
    assert slip.rule in wrong_rules(slip.source, slip.bad)
    assert not wrong_rules(slip.source, slip.good)


@pytest.mark.parametrize(("source", "target"), GOOD, ids=[target for _, target in GOOD])
def test_a_good_translation_is_left_alone(source: str, target: str) -> None:
    assert not wrong_rules(source, target)


def test_there_are_slips_of_every_rule_that_calls_something_wrong() -> None:
    counts = Counter(slip.rule for slip in SLIPS)
    assert len(SLIPS) >= 40
    assert set(RULES) - set(counts) == {"lines", "names"}


DOUBTFUL = [
    ("names", "Where did Marie Curie live?", "居里夫人住在哪里？"),
    ("names", "What does NASA build?", "美国航天局建造什么？"),
    ("lines", "First line.\nSecond line.", "第一行。第二行。"),
    ("untranslated", "Does the text say car?", "文字写的是 car 吗？"),
    ("untranslated", "A|Rialto|B|Madison", "A|Rialto|B|麦迪逊"),
]


@pytest.mark.parametrize(("rule", "source", "target"), DOUBTFUL)
def test_possibly_right_translations_are_doubtful(rule: str, source: str, target: str) -> None:
    assert {(each.rule, each.level) for each in check(source, target)} == {(rule, "doubtful")}


OTHER_LANGUAGES = [
    ("de", "The box weighs 1,234.5 kg.", "Die Kiste wiegt 1.234,5 kg.", set()),
    ("de", "The box weighs 1,234.5 kg.", "Die Kiste wiegt 1.243,5 kg.", {"numbers"}),
    ("fr", "It costs 80 000 euros, not 90.", "Cela coûte 80 000 euros, pas 90.", set()),
    ("fr", "It is not raining.", "Il pleut.", {"negation"}),
    ("es", "A|Yes|B|No", "A|Sí|B|No", set()),
    ("es", "A|Yes|B|No", "A|No|B|Sí", {"yes and no", "negation"}),
    ("ar", "There are 15 birds.", "هناك ١٥ طائرًا.", set()),
    ("ar", "There are 15 birds.", "هناك ١٦ طائرًا.", {"numbers"}),
    ("hi", "What is the man holding?", "What is the man holding?", {"untranslated"}),
    ("ja", "How many of the 3 dogs are not brown?", "3匹の犬のうち、茶色でないのは何匹ですか？", set()),
    ("th", "A|Yes|B|No", "A|Yes|B|No", set()),
    ("fi", "The 12 birds in the tree sing.", "Puun 12 lintua laulavat.", set()),
    ("fi", "The 12 birds in the tree sing.", "Puun linnut laulavat.", {"numbers"}),
]


@pytest.mark.parametrize(("to", "source", "target", "wrong"), OTHER_LANGUAGES)
def test_other_languages(to: str, source: str, target: str, wrong: set[str]) -> None:
    assert wrong_rules(source, target, to) == wrong


def test_the_examples_of_the_paper_pass() -> None:
    import tomllib
    from importlib.resources import files as package_files

    folder = package_files("snellen_curate.translate.instructions")
    table = tomllib.loads((folder / "mmbench-en-zh.toml").read_text(encoding="utf-8"))
    for example in table["examples"]:
        source, target = (
            {"question" if key == "Q" else key: text for key, text in example[side].items()}
            for side in ("source", "target")
        )
        mismatches = check_pair(TextPair(source, target, ENGLISH, CHINESE))
        assert not [each for each in mismatches if each.level == "wrong"]


NUMBERS = [
    ("１２３", {"123"}),
    ("一百二十三", {"123"}),
    ("二〇二三年", {"2023"}),
    ("十二", {"12"}),
    ("两只", {"2"}),
    ("3.5亿", {"350000000"}),
    ("九万一千", {"91000"}),
    ("5千米", {"5"}),
    ("٣٤٫٥", {"34.5"}),
    ("१२", {"12"}),
    ("H2O", set()),
    (".5 hours", {"0.5", "30"}),
    ("1.234", {"1.234", "1234"}),
    ("1,234,567.8", {"1234567.8"}),
]


@pytest.mark.parametrize(("text", "values"), NUMBERS)
def test_numbers_are_read_in_any_writing(text: str, values: set[str]) -> None:
    read = {value for mention in number_mentions(text) for value in mention.readings}
    assert read == {Decimal(value) for value in values}


def test_reads_numbers_written_as_words() -> None:
    values = word_values("Twenty-three of World War II, at 3 pm, half a million in the 1990s")
    assert {Decimal(n) for n in (23, 2, 15, 500_000, 90, 20)} <= values
    assert Decimal(7) not in values


def test_a_part_belongs_to_one_kind() -> None:
    text = "See `a_b(1)` at https://x.org/f.pdf, file c.png, {name}, $y_1$ and v_2 #tag ____ 7"
    spans = find_spans(text)
    assert spans.kept == {
        "placeholders": ["___", "{name}"],
        "code": ["a_b(1)"],
        "formulae": ["y_1"],
        "addresses": ["https://x.org/f.pdf"],
        "files": ["c.png"],
        "identifiers": ["v_2"],
        "tags": ["#tag"],
    }
    assert [each.text for each in number_mentions(spans.rest)] == ["7"]


def test_yes_and_no_of_every_language_are_read_as_such() -> None:
    languages = known_languages().values()
    assert sum(bool(language.yes) for language in languages) > 15
    for language in languages:
        assert bool(language.yes) == bool(language.no)
        for word, value in ((language.yes, "Yes"), (language.no, "No")):
            if word:
                answer = parse_yes_no(word)
                assert isinstance(answer, ParsedAnswer), (language.tag, word)
                assert answer.value == value


def test_a_chinese_question_can_be_translated_into_english() -> None:
    pair = TextPair(
        {"question": "12 只鸟中有几只不是红色的？"},
        {"question": "How many of the 12 birds are not red?"},
        CHINESE,
        ENGLISH,
    )
    assert not check_pair(pair)
    slips = {
        "How many of the 12 birds are red?": "negation",
        "How many birds are not red?": "numbers",
        "12 只鸟中有几只不是红色的？": "untranslated",
    }
    for text, rule in slips.items():
        bad = TextPair(pair.source, {"question": text}, CHINESE, ENGLISH)
        assert rule in {each.rule for each in check_pair(bad) if each.level == "wrong"}


def test_a_request_for_yes_or_no_is_one() -> None:
    for text in ("Answer yes or no.", "Please reply Yes/No", 'Say "yes" or "no".'):
        assert ENGLISH.asks_yes_or_no(text)
    for text in ("请回答是或否。", "是/否？"):
        assert CHINESE.asks_yes_or_no(text)
    for text in ("Is there no bird?", "Yes, there is a notable bird."):
        assert not ENGLISH.asks_yes_or_no(text)
    for text in ("是否有鸟？", "它是鸟吗？能否回答"):
        assert not CHINESE.asks_yes_or_no(text)


def test_language_tags() -> None:
    tags = {"zh-CN": "zh", "ZH_hans": "zh", "cn": "zh", "zh-TW": "zh-Hant", "de-AT": "de", "pt": "pt"}
    for tag, expected in tags.items():
        assert open_language(tag).tag == expected
    unknown = open_language("fi")
    assert (unknown.tag, unknown.scripts, unknown.yes) == ("fi", (), "")
    assert length_range(ENGLISH, unknown) == (0.3, 3.0)
    for bad in ("", "Chinese!", "z", "simplified chinese"):
        with pytest.raises(UsageError, match="language tag"):
            open_language(bad)


def test_texts_are_compared_bare() -> None:
    assert bare_text("它是 红色。") == bare_text("它是红色")
    assert bare_text("Ａ Ｂ!") == bare_text("a b")
    assert len({bare_text(text) for text in ("1.5", "15", "-15")}) == 3


def test_glossaries(tmp_path: Path) -> None:
    path = tmp_path / "terms.toml"
    path.write_text('cat = "猫"\n"red circle" = "红圆"\n', encoding="utf-8")
    assert read_glossary(str(path)) == {"cat": "猫", "red circle": "红圆"}
    for text in ("cat = 1\n", "cat =", "cat\t猫\n"):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(DataError):
            read_glossary(str(path))
    with pytest.raises(DataError, match="no such file"):
        read_glossary(str(tmp_path / "none.toml"))
    kept = tmp_path / "keep.txt"
    kept.write_text("Rialto\n\nMadison\n", encoding="utf-8")
    assert read_terms([str(kept), "NASA"]) == ("Rialto", "Madison", "NASA")
    with pytest.raises(UsageError, match="no such file"):
        read_terms(["lost.txt"])
