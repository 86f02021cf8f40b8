"""Columns of items are, however many are added at once, what each item says alone."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from snellen.data_sets.items import Item, item_kind
from snellen_curate.open_data import open_items
from snellen_curate.statistics import shortcut_rules
from snellen_curate.statistics.item_columns import ITEM, KINDS, ItemColumns
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES, read_boxes, read_numbers
from snellen_curate.statistics.words import is_unspaced, split_terms, split_words

TEXTS = [
    "red",
    "a Red Kite (Milvus)",
    "3",
    "3.5 cm",
    "1,000",
    "12:30",
    "All of the above",
    "none of these",
    "以上都是",
    "红色GPU。",
    "naïve café",
    "ที่นี่",
    "[0, 0, 9, 9]",
    "[1,1,5,5]",
    "1, 2, 64, 9",
    "$3.50",
    "",
    "  spaced  ",
    "two\nlines Here\nnone of the above",
    "tab\there",
    "İstanbul",
    "ΑΣ ΟΔΟΣ",
    "x-ray 2-a",
    "word_1 _",
    "the yellow sunflowers",
    "3.14abc",
    "A",
    "B",
    "\u2028 line",
    "10%",
    "20%",
    'Monet, van Gogh; "Dali"',
    "°C",
    "−4",
    "+3.",
    "\x1c y",
]
QUESTIONS = ["Who painted the yellow sunflowers in 64 x 48?", "这是什么颜色？", "", *TEXTS]


def draw_text(draw: random.Random) -> str:
    return " ".join(draw.choices(TEXTS, k=draw.choice([1, 1, 1, 2, 4])))


def draw_options(draw: random.Random) -> list[str]:
    count, style = draw.choice([0, 1, 2, 3, 4, 4, 5]), draw.random()
    if style < 0.2:
        return [str(draw.randint(0, 30)) for _ in range(count)]
    if style < 0.4:
        corners = [(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(count)]
        return [f"[{x}, {y}, {x + draw.randint(1, 9)}, {y + draw.randint(1, 55)}]" for x, y in corners]
    return [draw_text(draw) for _ in range(count)]


def draw_row(draw: random.Random, number: int) -> dict[str, object]:
    """A row of any shape: without a question, an id or an answer, with a wrong one, several, a picture that is
    missing, options in a list."""
    options = draw_options(draw)
    row: dict[str, object] = {"question": draw.choice(QUESTIONS)} if draw.random() < 0.95 else {}
    row |= {"options": options} if draw.random() < 0.1 else dict(zip("ABCDE", options, strict=False))
    answers = [*"ABCDE"[: len(options)] * 3, *options, "Z", "A,B", "AB", "yes", "No.", "", draw_text(draw)]
    row["answer"] = draw.choice(answers) if draw.random() < 0.9 else [draw_text(draw), "A"]
    several = ["p0.png", "p1.png"]
    for name, chance, value in (
        ("index", 0.95, number if draw.random() < 0.97 else 0),
        ("hint", 0.1, draw_text(draw)),
        ("type", 0.1, draw.choice(["multi", "open", "yes_no", "odd", "mcq"])),
        ("category", 0.7 if number > 40 else 0.0, draw.choice("abc")),
        ("source", 0.2, draw.choice(["COCO", f"s{number}"])),
        ("license", 0.1, draw.choice(["CC0", " "])),
        ("unit", 0.1, f"u{number // 3}"),
        ("image_path", 0.3, draw.choice(["p0.png", "p1.png", "broken.png", "gone.png", several])),
    ):
        if draw.random() < chance:
            row[name] = value
    return row


@pytest.fixture(params=range(4))
def items(request: pytest.FixtureRequest, tmp_path: Path) -> list[Item]:
    for number in range(2):
        Image.new("RGB", (10 + number, 20)).save(tmp_path / f"p{number}.png")
    (tmp_path / "broken.png").write_bytes(b"no image")
    draw = random.Random(request.param)
    rows = [draw_row(draw, number) for number in range(150)]
    path = tmp_path / "drawn.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    return list(open_items(path))


def columns_of(items: Sequence[Item], size: int) -> ItemColumns:
    columns = ItemColumns(sample_size=20)
    for start in range(0, len(items), size):
        columns.add(items[start : start + size])
    return columns


@pytest.mark.parametrize("size", [7, 150])
def test_items_added_together_are_those_added_one_by_one(items: list[Item], size: int) -> None:
    alone, together = columns_of(items, 1), columns_of(items, size)
    assert alone.rows().tobytes() == together.rows().tobytes()
    for name, value in vars(alone).items():
        if name != "_rows":
            assert vars(together)[name] == value, name
    assert list(alone.groups) == list(together.groups)
    assert alone.sample == together.sample


def greatest(values: Sequence[float]) -> set[int]:
    top = [place for place, value in enumerate(values) if value == max(values)]
    return set(top) if len(top) < len(values) else set()


def picks_of(question: str, options: Sequence[str]) -> dict[str, set[int]]:
    """What the rules about lengths, details, numbers, words and the sizes of boxes pick of one question, by hand."""
    lengths = [len(option.strip()) for option in options]
    details = [len(shortcut_rules._DETAIL.findall(option)) for option in options]
    numbers, boxes = read_numbers(options), read_boxes(options)
    areas = [(right - left) * (bottom - top) for left, top, right, bottom in boxes]
    words = [set(split_terms(option)) for option in options]
    asked = {term for term in split_terms(question) if len(term) > 3 or not (term.isascii() and term.isalpha())}
    holders = Counter(word for own in words for word in own)
    parts = [sum(holders[word] - 1 for word in own) / (len(options) - 1) / max(1, len(own)) for own in words]

    def negative(values: Sequence[float]) -> list[float]:
        return [-value for value in values]

    phrases: dict[str, Callable[[str], object]] = {
        "all of the above": shortcut_rules._ALL.search,
        "none of the above": shortcut_rules._NONE.search,
    }
    return {
        "longest": greatest(lengths),
        "shortest": greatest(negative(lengths)),
        "most detailed": greatest(details),
        "middle number": greatest([min(numbers) < number < max(numbers) for number in numbers]),
        "most alike": greatest([round(part, 12) for part in parts]),
        "odd one out": greatest([round(-part, 12) for part in parts]),
        "words of the question": greatest([len(asked & own) for own in words]),
        "largest box": greatest(areas),
        "smallest box": greatest(negative(areas)),
    } | {rule: greatest([search(option) is not None for option in options]) for rule, search in phrases.items()}


def test_rows_by_hand(items: list[Item]) -> None:
    columns = columns_of(items, len(items))
    rows, at = columns.rows(), 0
    for item, row in zip(items, rows, strict=True):
        sample, options = item.sample, list(item.sample.options.values())
        kind = "choice" if item.problem and options else item_kind(item)
        assert row["kind"] == KINDS.index(kind)
        assert row["question_words"] == len(split_words(sample.question))
        assert row["hint_words"] == len(split_words(sample.hint))
        gold = sample.gold[0] if sample.gold else ""
        assert row["answer_words"] == (len(split_words(sample.options.get(gold, gold))) if sample.gold else -1)
        assert (row["options"], row["first_option"]) == (len(options), at)
        assert list(columns.option_words[at : at + len(options)]) == [len(split_words(option)) for option in options]
        at += len(options)
        lengths = [max(1, len(option.strip())) for option in options]
        ratio = max(lengths) / min(lengths) if options else np.nan
        assert row["length_ratio"] == np.float32(ratio) or not options
        assert (row["images"], row["videos"]) == (len(sample.media), 0)
        labels = {"yes_no": ["Yes", "No"], "choice": list(sample.options)}.get(kind, [])
        accepted = [labels.index(answer) for answer in sample.gold if answer in labels]
        assert (row["guessed"], row["accepted"]) == (len(labels), len(accepted))
        assert row["right"] == (accepted[0] if len(accepted) == 1 else -1)
        ruled = kind == "choice" and len(accepted) == 1 and len(labels) > 1
        for rule, picks in picks_of(sample.question, options).items() if ruled else ():
            number = list(SHORTCUT_RULES).index(rule)
            assert (row["picked"][number], row["picks_right"][number]) == (len(picks), row["right"] in picks), rule
        assert ruled or not row["picked"].any()
    assert rows.dtype == ITEM


def test_counts_by_hand(items: list[Item]) -> None:
    columns = columns_of(items, len(items))
    texts = [(item.sample.question, *item.sample.options.values()) for item in items]
    words = {word for each in texts for text in each for word in split_terms(text)}
    words |= {word for item in items for word in split_terms(item.sample.hint)}
    assert columns.words == set(map(hash, words))
    assert columns.questions == {hash(item.sample.question) for item in items}
    assert columns.unspaced == sum(any(map(is_unspaced, each)) for each in texts)
    assert columns.equal_options == sum(len(set(each[1:])) < len(each) - 1 for each in texts)
    assert columns.missing["source"] == sum(not item.label("source") for item in items)
    assert columns.missing["valid row"] == sum(bool(item.problem) for item in items) > 0
    for name, labelled in columns.groups.items():
        assert {label: list(numbers) for label, numbers in labelled.items() if numbers} == {
            label: [number for number, item in enumerate(items) if item.label(name) == label]
            for label in {item.label(name) for item in items}
        }
