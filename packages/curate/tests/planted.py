"""An MMBench-like data set with planted bad items, and replies of scripted models to it.

`build(folder)` draws the pictures and writes the files; the same files every time. Which items are
bad, in which way, and which models answer which item stands in tables here, not in files that
Snellen wrote, so that tests measure precision and recall against them.
"""

from __future__ import annotations

import csv
import io
import json
import random
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

STRIDE = 1_000_000
"""Rotation r of question i is the row i + r * STRIDE, as in MMBench's files."""
LABELS = "ABCD"
SIZE = (192, 144)
COLOURS = {
    "red": ("#d02020", "红色"),
    "blue": ("#2040d0", "蓝色"),
    "green": ("#108030", "绿色"),
    "black": ("#101010", "黑色"),
    "orange": ("#f08000", "橙色"),
    "purple": ("#8020a0", "紫色"),
}
SHAPES = {"circle": "圆形", "square": "正方形", "triangle": "三角形", "star": "星形"}
CORNERS = {
    "top left": ("左上角", (45, 38)),
    "top right": ("右上角", (147, 38)),
    "bottom left": ("左下角", (45, 106)),
    "bottom right": ("右下角", (147, 106)),
}
WORDS = {"harbour": "港口", "window": "窗户", "garden": "花园", "market": "市场", "bridge": "桥"}
FRUITS = {"apples": "苹果", "pears": "梨", "plums": "李子", "figs": "无花果"}
CITIES = ("Lisbon", "Oslo", "Nairobi", "Quito", "Hanoi")
COMMANDS = ("ls -a", "git pull", "rm *.log", "cat x.txt", "cd ..")

SOURCES = (("drawn", "CC0-1.0"), ("COCO", "CC-BY-4.0"), ("ScienceQA", "CC-BY-NC-SA-4.0"), ("Internet", "CC-BY-SA-4.0"))

TEXT_ONLY_MODELS = ("text-1", "text-2", "text-3")
VISION_MODELS = ("vision-1", "vision-2", "vision-3", "vision-4", "vision-5")

KINDS = (
    "answerable_from_text",
    "wrong_key",
    "exact_duplicate",
    "near_duplicate_picture",
    "near_duplicate_question",
    "broken_picture",
    "lost_picture",
    "no_picture",
    "missing_licence",
)
"""What is planted in the data set itself."""
UNANSWERABLE = ("wrong_key", "broken_picture", "lost_picture", "no_picture")
"""Kinds whose items no model that looks can answer as the key says."""
SLIPS = ("number", "untranslated", "swapped_options", "name", "code", "equal_options", "negation")
"""What is planted in its Chinese sibling."""


@dataclass(frozen=True)
class Mark:
    """Something drawn: a shape or a text, with its middle and its size in pixels."""

    what: str
    colour: str
    at: tuple[int, int]
    size: int = 36


@dataclass(frozen=True)
class Question:
    """One item in both languages. The first option is the right one; `key` is the index of the one
    that the data call right."""

    category: str
    ability: str
    question: str
    options: tuple[str, ...]
    question_zh: str
    options_zh: tuple[str, ...]
    marks: tuple[Mark, ...] = ()
    hint: str = ""
    hint_zh: str = ""
    key: int = 0
    order: tuple[int, ...] = ()
    """Index of the option that stands at each label; set by `_with_orders`."""
    id: str = ""
    source: str = ""
    license: str = ""
    image: str = ""
    """Path of its file, relative to the data; empty for none."""


@dataclass(frozen=True)
class Planted:
    """The files, and what is planted in them."""

    folder: Path
    data: Path
    """`planted.tsv`: one row a question. `snellen ... --circular` rotates the options."""
    rotated: Path
    """`rotated.tsv`: the same with a row for each rotation, as MMBench publishes its data."""
    translated: Path
    """`planted_zh.tsv`: the Chinese sibling with the same ids, and slips."""
    translated_well: Path
    """`good_zh.tsv`: the Chinese sibling without slips."""
    ids: tuple[str, ...]
    planted: Mapping[str, Mapping[str, str]]
    """Kind (`KINDS`) to ids of bad items, each with the item it repeats, or why it is bad."""
    slips: Mapping[str, str]
    """Id to the kind of its translation slip (`SLIPS`)."""
    replies: Mapping[str, Path]
    """Model to its file of recorded replies: `replay/FILE`."""
    right: Mapping[str, frozenset[str]]
    """Model to the ids that it answers right in every rotation."""
    silent: Mapping[str, frozenset[str]]
    """Model to the ids of which its file has no reply."""
    true_options: Mapping[str, str]
    """Id to the text of the option that is right, whatever the key says."""

    def ids_of(self, *kinds: str) -> frozenset[str]:
        """Ids of the bad items of these kinds."""
        return frozenset(name for kind in kinds for name in self.planted[kind])

    def models(self, names: Iterable[str]) -> list[str]:
        """The models of these names as `--text-only` and `--vision` take them."""
        return [f"replay/{self.replies[name]}" for name in names]


def build(folder: Path) -> Planted:
    """Write the data set, its sibling and the replies into `folder`."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "images").mkdir(exist_ok=True)
    questions, planted = _plant(_with_orders(_ordinary() + _from_text()))
    _write_images(folder, questions, planted)
    right, silent = _abilities(questions, planted)
    slips = _choose_slips(questions, planted)
    good = [_translate(question) for question in questions]
    slipped = [_slip(question, slips[question.id]) if question.id in slips else question for question in good]
    paths = {name: folder / f"{name}.tsv" for name in ("planted", "rotated")}
    sibling, good_sibling = folder / "planted_zh.tsv", folder / "good_zh.tsv"
    _write_rows(paths["planted"], map(_row, questions))
    _write_rows(paths["rotated"], (row for each in questions for row in _rotated_rows(each)))
    _write_rows(sibling, map(_row, slipped))
    _write_rows(good_sibling, map(_row, good))
    made = Planted(
        folder=folder,
        data=paths["planted"],
        rotated=paths["rotated"],
        translated=sibling,
        translated_well=good_sibling,
        ids=tuple(question.id for question in questions),
        planted=planted,
        slips=slips,
        replies={name: folder / f"{name}.tsv" for name in right},
        right=right,
        silent=silent,
        true_options={question.id: question.options[0] for question in questions},
    )
    for model, path in made.replies.items():
        _write_rows(path, _replies(model, questions, right[model], silent[model]))
    listing = {"planted": planted, "slips": slips}
    (folder / "planted.json").write_text(json.dumps(listing, indent=1) + "\n")
    return made


def _ordinary() -> list[Question]:
    """Sixty questions that need their pictures, ten of each of six abilities."""
    rng = random.Random("questions")
    makers = (_colour, _corner, _ocr, _side, _largest, _tallest)
    return [make(rng, number) for number in range(10) for make in makers]


def _colour(rng: random.Random, number: int) -> Question:
    shape, *others = rng.sample(list(SHAPES), 3)
    colour, *wrong = rng.sample(list(COLOURS), 4)
    marks = (
        Mark(shape, colour, (60 + 6 * number, 50), 44),
        Mark(others[0], wrong[0], (150, 110), 30),
        Mark(others[1], wrong[1], (40, 112), 30),
    )
    return Question(
        "attribute_recognition",
        "finegrained_perception (instance-level)",
        f"What colour is the {shape} in the picture?",
        (colour, *wrong),
        f"图片中的{SHAPES[shape]}是什么颜色？",
        tuple(COLOURS[name][1] for name in (colour, *wrong)),
        marks,
    )


def _corner(rng: random.Random, number: int) -> Question:
    del number
    shape, other = rng.sample(list(SHAPES), 2)
    colour, other_colour = rng.sample(list(COLOURS), 2)
    corner, second, *_ = rng.sample(list(CORNERS), 4)
    options = (corner, *(name for name in CORNERS if name != corner))
    marks = (Mark(shape, colour, CORNERS[corner][1], 40), Mark(other, other_colour, CORNERS[second][1], 32))
    return Question(
        "object_localization",
        "finegrained_perception (instance-level)",
        f"In which corner of the picture is the {colour} {shape}?",
        options,
        f"{COLOURS[colour][1]}的{SHAPES[shape]}在图片的哪个角？",
        tuple(CORNERS[name][0] for name in options),
        marks,
    )


def _ocr(rng: random.Random, number: int) -> Question:
    """Words, volumes, cities and commands in turn: the last three stay as they are in Chinese."""
    category = ("ocr", "finegrained_perception (instance-level)")
    which = number % 4
    if which == 0:
        texts = tuple(rng.sample(list(WORDS), 4))
        question, zh = "Which word is written in the picture?", "图片中写的是哪个词？"
        texts_zh = tuple(WORDS[word] for word in texts)
    elif which == 1:
        texts = tuple(f"{amount} ml" for amount in rng.sample([125, 250, 330, 500, 750], 4))
        question = f"How much does bottle {number + 3} hold, according to its label?"
        zh, texts_zh = f"根据标签，{number + 3} 号瓶子的容量是多少？", texts
    elif which == 2:
        texts = tuple(rng.sample(CITIES, 4))
        question = "Which city does the sign of the Globe Theatre name?"
        zh, texts_zh = "Globe Theatre 的招牌上写的是哪个城市？", texts
    else:
        texts = tuple(rng.sample(COMMANDS, 4))
        question = "Which command is not missing before `exit 0` in the picture?"
        zh, texts_zh = "图片中 `exit 0` 之前并不缺少哪条命令？", texts
    marks = (Mark(f"text:{texts[0]}", "black", (96, 40 + 6 * number), 26),)
    return Question(*category, question, texts, zh, texts_zh, marks)


def _side(rng: random.Random, number: int) -> Question:
    """Two options: a guess is right under CircularEval one time in four."""
    shape, other = rng.sample(list(SHAPES), 2)
    colour, other_colour = rng.sample(list(COLOURS), 2)
    is_left = rng.random() < 0.5
    height = 40 + 7 * number
    marks = (
        Mark(shape, colour, (50 if is_left else 140, height), 38),
        Mark(other, other_colour, (140 if is_left else 50, 144 - height), 38),
    )
    options = ("to the left", "to the right") if is_left else ("to the right", "to the left")
    zh = {"to the left": "左边", "to the right": "右边"}
    return Question(
        "spatial_relationship",
        "finegrained_perception (cross-instance)",
        f"Where is the {colour} {shape}, seen from the {other_colour} {other}?",
        options,
        f"从{COLOURS[other_colour][1]}的{SHAPES[other]}来看，{COLOURS[colour][1]}的{SHAPES[shape]}在哪一边？",
        tuple(zh[option] for option in options),
        marks,
    )


def _largest(rng: random.Random, number: int) -> Question:
    del number
    shapes = rng.sample(list(SHAPES), 3)
    colours = rng.sample(list(COLOURS), 3)
    places = rng.sample([(40, 45), (96, 80), (150, 50), (60, 110), (140, 112)], 3)
    marks = tuple(
        Mark(shape, colour, place, size)
        for shape, colour, place, size in zip(shapes, colours, places, (62, 34, 20), strict=True)
    )
    return Question(
        "attribute_comparison",
        "finegrained_perception (cross-instance)",
        "Which of the three shapes is the largest?",
        tuple(f"the {shape}" for shape in shapes),
        "三个图形中哪一个最大？",
        tuple(SHAPES[shape] for shape in shapes),
        marks,
    )


def _tallest(rng: random.Random, number: int) -> Question:
    fruits = rng.sample(list(FRUITS), 4)
    heights = [96, *rng.sample(range(20, 80, 12), 3)]
    order = rng.sample(range(4), 4)
    marks = tuple(
        Mark(f"bar:{fruits[index]}:{heights[index]}", rng.choice(list(COLOURS)), (30 + 44 * at, 0))
        for at, index in enumerate(order)
    )
    return Question(
        "structuralized_imagetext_understanding",
        "logic_reasoning",
        f"Of which fruit did shop {number + 1} sell the most, according to the chart?",
        tuple(fruits),
        f"根据图表，{number + 1} 号商店卖得最多的是哪种水果？",
        tuple(FRUITS[fruit] for fruit in fruits),
        marks,
        hint=f"The chart shows the sales of {2001 + number}.",
        hint_zh=f"图表显示的是 {2001 + number} 年的销量。",
    )


def _from_text() -> list[Question]:
    """Eight questions that need no picture: common knowledge, or given away by the question."""
    star = (Mark("star", "orange", (96, 72), 50),)
    table = [
        (
            "Which part of an apple tree might grow into a new tree?",
            ("a seed", "a leaf", "the bark", "a blossom"),
            "苹果树的哪个部分可能长成一棵新树？",
            ("种子", "叶子", "树皮", "花"),
        ),
        (
            "How many legs does the spider in the picture have?",
            ("8", "6", "10", "4"),
            "图中的蜘蛛有几条腿？",
            ("8", "6", "10", "4"),
        ),
        (
            "What colour is the grass-green triangle?",
            ("green", "purple", "orange", "black"),
            "草绿色的三角形是什么颜色？",
            ("绿色", "紫色", "橙色", "黑色"),
        ),
        (
            "Which gas do the plants in the picture take in to make sugar?",
            ("carbon dioxide", "helium", "neon", "argon"),
            "图中的植物吸收哪种气体来制造糖？",
            ("二氧化碳", "氦气", "氖气", "氩气"),
        ),
        (
            "The square shown has sides of 3 cm. What is its area?",
            ("9 cm²", "6 cm²", "12 cm²", "3 cm²"),
            "图中正方形的边长为 3 cm，面积是多少？",
            ("9 cm²", "6 cm²", "12 cm²", "3 cm²"),
        ),
        (
            "Which planet, shown here, is the closest to the Sun?",
            ("Mercury", "Jupiter", "Saturn", "Neptune"),
            "图中哪颗行星离太阳最近？",
            ("水星", "木星", "土星", "海王星"),
        ),
        (
            "What is the frozen water in the picture called?",
            ("ice", "steam", "sand", "oil"),
            "图中结冰的水叫什么？",
            ("冰", "蒸汽", "沙子", "油"),
        ),
        (
            "Which of these, one of which is in the picture, is a mammal?",
            ("a whale", "a shark", "a trout", "a squid"),
            "下列哪一个是哺乳动物（图中有其中一个）？",
            ("鲸鱼", "鲨鱼", "鳟鱼", "鱿鱼"),
        ),
    ]
    return [
        Question(
            "physical_property_reasoning" if number % 2 else "identity_reasoning",
            "attribute_reasoning",
            question,
            options,
            zh,
            options_zh,
            tuple(replace(mark, at=(40 + 14 * number, 40 + 8 * number)) for mark in star),
        )
        for number, (question, options, zh, options_zh) in enumerate(table)
    ]


def _with_orders(questions: Sequence[Question]) -> list[Question]:
    """The questions with an id, a source, a picture file and options in random order."""
    rng = random.Random("orders")
    done = []
    for number, question in enumerate(questions):
        source, licence = SOURCES[number % len(SOURCES)]
        order = rng.sample(range(len(question.options)), len(question.options))
        done.append(
            replace(
                question,
                id=str(101 + number),
                order=tuple(order),
                source=source,
                license=licence,
                image=f"images/{101 + number}.png",
            )
        )
    return done


def _plant(questions: list[Question]) -> tuple[list[Question], dict[str, dict[str, str]]]:
    """Spoil some items and add repeats of others. No item is bad in two ways."""
    planted: dict[str, dict[str, str]] = {kind: {} for kind in KINDS}
    by_id = {question.id: question for question in questions}
    ordinary = [question.id for question in questions[:60]]
    for question in questions[60:]:
        planted["answerable_from_text"][question.id] = "needs no picture"
    # Six items in a row are one of each ability.
    for name in ordinary[6:12]:
        right, wrong = by_id[name].options[:2]
        by_id[name] = replace(by_id[name], key=1)
        planted["wrong_key"][name] = f"{right!r} is right, the key says {wrong!r}"
    for name, why in zip(ordinary[12:15], ("cut off", "no image", "empty"), strict=True):
        planted["broken_picture"][name] = why
    planted["lost_picture"][ordinary[15]] = "the file does not exist"
    for name in ordinary[16:18]:
        by_id[name] = replace(by_id[name], image="")
        planted["no_picture"][name] = "the row names no picture"
    for name in ordinary[18:21]:
        by_id[name] = replace(by_id[name], license="")
        planted["missing_licence"][name] = f"source {by_id[name].source}, no licence"
    done = [by_id[question.id] for question in questions]
    for kind, firsts in (
        ("exact_duplicate", ordinary[24:27]),
        ("near_duplicate_picture", ordinary[30:33]),
        ("near_duplicate_question", (ordinary[36], ordinary[37], ordinary[41])),
    ):
        for first in firsts:
            repeat = replace(by_id[first], id=str(101 + len(done)))
            if kind == "near_duplicate_picture":
                repeat = replace(repeat, image=f"images/{repeat.id}.jpg")
            elif kind == "near_duplicate_question":
                text, text_zh = repeat.question, repeat.question_zh
                repeat = replace(
                    repeat,
                    question=f"Look closely. {text[:-1]}, please?",
                    question_zh=f"请仔细看图。{text_zh}",
                    order=repeat.order[::-1],
                )
            planted[kind][repeat.id] = first
            done.append(repeat)
    return done, planted


def _abilities(
    questions: Sequence[Question], planted: Mapping[str, Mapping[str, str]]
) -> tuple[dict[str, frozenset[str]], dict[str, frozenset[str]]]:
    """Which model answers which item in every rotation, and to which it gave no reply.

    Text-only models: all three know five of the eight that need no picture, two know two more, one
    the last. Two of them are lucky with an ordinary item of two options (a false alarm of the
    majority rule), one with another.
    Vision models: none answers an item with a wrong key, but the last one is once wrong in just the
    way the key is; none answers where there is no picture; none answers two hard but good items.
    Of one more good item three models gave no reply and two are wrong.
    """
    from_text = sorted(planted["answerable_from_text"])
    pairs = [each.id for each in questions if len(each.options) == 2]
    good = [each.id for each in questions if not any(each.id in planted[kind] for kind in UNANSWERABLE)]
    ordinary = [name for name in good if name not in from_text]
    unanswered, hard = ordinary[0], ordinary[-14:-12]
    lucky, lucky_once = [name for name in pairs if name in good][-3:-1]
    wrong_keys = sorted(planted["wrong_key"])
    right = {"text-1": {*from_text, lucky}, "text-2": {*from_text[:7], lucky}, "text-3": {*from_text[:5], lucky_once}}
    silent: dict[str, set[str]] = {name: set() for name in (*TEXT_ONLY_MODELS, *VISION_MODELS)}
    # The other two are right here, which is more than half of the three whatever it says.
    silent["text-3"].add(from_text[5])
    for number, model in enumerate(VISION_MODELS):
        rng = random.Random(model)
        knows = {name for name in good if rng.random() < 0.9 - 0.1 * number}
        right[model] = knows - {*hard, unanswered}
    # What the others miss, the first model knows.
    known = set().union(*(right[model] for model in VISION_MODELS))
    right["vision-1"] |= {*good} - {*hard, unanswered} - known
    right["vision-5"] |= {wrong_keys[-1]}
    for model in VISION_MODELS[:3]:
        silent[model].add(unanswered)
    silent["vision-2"] |= set(ordinary[20:24])
    for model, names in silent.items():
        right[model] -= names
    return (
        {model: frozenset(names) for model, names in right.items()},
        {model: frozenset(names) for model, names in silent.items()},
    )


def _replies(
    model: str, questions: Sequence[Question], right: frozenset[str], silent: frozenset[str]
) -> Iterable[dict[str, str]]:
    """The recorded replies of a model, to every rotation of every item.

    Where it does not know the answer it keeps to a wrong option, in one rotation at least, and
    guesses in the others.
    """
    rng = random.Random(f"replies of {model}")
    forms = ("{0}", "{0}. {1}", "({0})", "The answer is {0}.")
    for question in questions:
        if question.id in silent:
            continue
        count = len(question.options)
        # On an item with a wrong key, a model that sees the picture knows the truth.
        truth = question.key != 0 and model in VISION_MODELS
        wrong_at = rng.randrange(count)
        for turn in range(count):
            texts = _texts(question, turn)
            if question.id in right:
                chosen = texts.index(question.options[question.key])
            elif truth:
                chosen = texts.index(question.options[0])
            else:
                chosen = rng.randrange(count)
                if turn == wrong_at and texts[chosen] == question.options[question.key]:
                    chosen = (chosen + 1) % count
            form = forms[rng.randrange(4)]
            yield {
                "index": str(int(question.id) + turn * STRIDE),
                "prediction": form.format(LABELS[chosen], texts[chosen]),
            }


def _texts(question: Question, turn: int = 0) -> list[str]:
    """The option texts by label, shifted down by `turn` labels."""
    texts = [question.options[index] for index in question.order]
    return [texts[(place - turn) % len(texts)] for place in range(len(texts))]


COLUMNS = (
    "index",
    "question",
    "hint",
    *LABELS,
    "answer",
    "category",
    "l2-category",
    "source",
    "license",
    "split",
    "image_path",
)


def _row(question: Question, turn: int = 0) -> dict[str, str]:
    texts = _texts(question, turn)
    return {
        "index": str(int(question.id) + turn * STRIDE),
        "question": question.question,
        "hint": question.hint,
        **dict(zip(LABELS, texts, strict=False)),
        "answer": LABELS[texts.index(question.options[question.key])],
        "category": question.category,
        "l2-category": question.ability,
        "source": question.source,
        "license": question.license,
        "split": "dev",
        "image_path": question.image,
    }


def _rotated_rows(question: Question) -> Iterable[dict[str, str]]:
    return (_row(question, turn) for turn in range(len(question.options)))


def _write_rows(path: Path, rows: Iterable[Mapping[str, str]]) -> None:
    rows = list(rows)
    columns = COLUMNS if "question" in rows[0] else tuple(rows[0])
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, columns, delimiter="\t", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def _translate(question: Question) -> Question:
    """The question in Chinese: same id, picture, order of options and key."""
    return replace(question, question=question.question_zh, options=question.options_zh, hint=question.hint_zh)


def _choose_slips(questions: Sequence[Question], planted: Mapping[str, Mapping[str, str]]) -> dict[str, str]:
    """One item for each kind of slip, of those that are good otherwise."""
    bad = {name for names in planted.values() for name in names}
    good = [question for question in questions if question.id not in bad]

    def last(text: str) -> str:
        return next(each.id for each in reversed(good) if text in each.question)

    return {
        last("according to the chart"): "number",
        last("Which of the three shapes"): "untranslated",
        last("In which corner"): "swapped_options",
        last("Globe Theatre"): "name",
        last("exit 0"): "code",
        last("What colour is the"): "equal_options",
        last("How much does bottle"): "negation",
    }


def _slip(question: Question, kind: str) -> Question:
    """A Chinese question with a slip. `negation` needs the English question to be noticed."""
    text, options = question.question, question.options
    if kind == "number":
        return replace(question, question=text.replace(" 号", "0 号"))
    if kind == "untranslated":
        return replace(question, question="Which of the three shapes is the largest?")
    if kind == "swapped_options":
        return replace(question, options=(options[1], options[0], *options[2:]))
    if kind == "name":
        return replace(question, question=text.replace("Globe Theatre", "环球剧场"))
    if kind == "code":
        return replace(question, question=text.replace("`exit 0`", "`退出 0`"))
    if kind == "equal_options":
        return replace(question, options=(options[0], options[1], options[1], *options[3:]))
    return replace(question, question=text.replace("容量是多少", "容量不是多少"))


def _write_images(folder: Path, questions: Sequence[Question], planted: Mapping[str, Mapping[str, str]]) -> None:
    """Draw every picture; then break some of them."""
    for question in questions:
        if not question.image or question.id in planted["lost_picture"]:
            continue
        path = folder / question.image
        first = planted["near_duplicate_picture"].get(question.id)
        if first is not None:
            # What a page of the web makes of a picture: smaller, and another format.
            with Image.open(folder / "images" / f"{first}.png") as original:
                smaller = original.convert("RGB").resize((SIZE[0] * 9 // 10, SIZE[1] * 9 // 10))
            smaller.save(path, quality=70)
        elif not path.exists() or path.stem == question.id:
            path.write_bytes(_png(_draw(question)))
    for name, why in planted["broken_picture"].items():
        path = folder / "images" / f"{name}.png"
        content = path.read_bytes()
        broken = {"cut off": content[: len(content) // 3], "no image": b"<html>404</html>\n"}
        path.write_bytes(broken.get(why, b""))


def _draw(question: Question) -> Image.Image:
    """The picture of a question, on a background of its own, so that no two look alike."""
    rng = random.Random(f"background of {question.image}")
    small = Image.new("RGB", (8, 6))
    for x in range(8):
        for y in range(6):
            small.putpixel((x, y), tuple(rng.randrange(150, 256) for _ in range(3)))
    image = small.resize(SIZE, Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    for mark in question.marks:
        _draw_mark(pen, mark)
    return image


def _draw_mark(pen: ImageDraw.ImageDraw, mark: Mark) -> None:
    colour = COLOURS[mark.colour][0]
    x, y, half = *mark.at, mark.size // 2
    if mark.what.startswith("text:"):
        font = ImageFont.load_default(mark.size)
        pen.text((x, y), mark.what.removeprefix("text:"), colour, font, anchor="mm")
    elif mark.what.startswith("bar:"):
        _, fruit, height = mark.what.split(":")
        pen.rectangle((x - 15, 122 - int(height), x + 15, 122), colour)
        pen.text((x, 132), fruit, "black", ImageFont.load_default(12), anchor="mm")
    elif mark.what == "circle":
        pen.ellipse((x - half, y - half, x + half, y + half), colour)
    elif mark.what == "square":
        pen.rectangle((x - half, y - half, x + half, y + half), colour)
    elif mark.what == "triangle":
        pen.polygon([(x, y - half), (x + half, y + half), (x - half, y + half)], colour)
    else:
        pen.regular_polygon((x, y, half), 3, 0, colour)
        pen.regular_polygon((x, y, half), 3, 180, colour)


def _png(image: Image.Image) -> bytes:
    file = io.BytesIO()
    image.save(file, "PNG")
    return file.getvalue()
