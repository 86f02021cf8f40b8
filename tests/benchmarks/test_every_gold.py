"""In every registered benchmark the right reply scores 1 and a wrong one 0, whatever the texts of
options are: letters, digits, "None", the labels of other options, equal texts; and however yes and
no are spelled. The gold stands as in the benchmark's own layout: label, text, or both."""

from __future__ import annotations

import json
import re
from dataclasses import replace as replace_fields
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from snellen.api._as_recorded import _is_made_of_verdicts, _record
from snellen.benchmarks.declaration.registry import list_benchmarks, open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError
from snellen.core.output import Generated
from snellen.core.sample import Row, Sample
from snellen.data.columns import gold_column
from snellen.data.tables.options import split_inline_options
from snellen.engine.offline.gold_check import answer_samples, gold_reply
from snellen.extract.yes_no_words import WORDS

LAYOUTS = Path(__file__).parent / "layouts"
FILES = sorted(
    path for path in LAYOUTS.iterdir() if path.suffix in (".tsv", ".jsonl", ".json") and ".roles" not in path.name
)
TEXTS = (
    *"aBbcdElovxyz",
    "0",
    "1",
    "2",
    "3",
    "4",
    "10",
    "None",
    "N/A",
    "nan",
    "yes",
    "No",
    "true",
    "A.",
    "(B)",
    "c)",
    "A and B",
    "AC",
    "1.0",
    "none of these",
    "red",
    "a blue cup",
)
PLAIN = tuple(f"plain word {number}" for number in range(26))
"""Texts of the first row: its gold says what the golds of the column are."""
LISTS = ("candidates", "choices", "options")
MULTIPLE = {"moat", "cmmmu", "mathvision", "mathvista"}
"""Options of which several may be right, or with values to be equal: open questions here."""
LABELS_ALONE = {"cg-bench", "mathverse", "wemath", "q-bench-video", "tempcompass"}
"""Published with labels alone, which their loaders take for granted."""
NAMED = {
    **dict.fromkeys(
        ("lvbench", "tomato", "v2p-bench", "videoevalpro-choice", "videomathqa", "videomathqa-pairs"), "answer"
    ),
    "mmworld": "correct_answer_label",
    "livexiv": "gt",
    "lsdbench": "correct_answer",
    "medqa": "answer_idx",
    "super-gpqa": "answer_letter",
    "perceptiontest": "answer_id",
}
"""Families whose files say which column has the label, or the place, of the right option."""
PLACES = {"perceptiontest", "tomato"}
OF_ANSWERS = {
    "coco-caption.tsv",
    "creation-mmbench.tsv",
    "eyechart-pages.tsv",
    "odinw-13.jsonl",
    "olmocr-bench.jsonl",
    "omnidocbench-v15.json",
    "omnidocbench.jsonl",
    "pope.tsv",
    "q-bench-video@part=all.tsv",
    "q-bench-video@part=open.tsv",
}
"""F1, mAP, CIDEr, grades of judges and of pages: no headline can be made of what is right alone."""
_DRESSED = re.compile(r"\(?[A-Z][.)]\s*")


class Layout(NamedTuple):
    benchmark: Benchmark
    rows: list[Row]
    samples: dict[str, Sample]


@cache
def layout(path: Path) -> Layout:
    name, at, told = path.name.partition("@")
    options = dict(pair.split("=", 1) for pair in told.rsplit(".", 1)[0].split(",")) if at else {}
    benchmark = open_benchmark(name.split(".")[0], Variant(data=str(path), options=options, circular=None))
    rows = list(benchmark.open())
    samples = {sample.id: sample for sample in benchmark.samples(rows)}
    return Layout(benchmark, rows, samples)


def with_options(row: Row, texts: list[str]) -> dict[str, str] | None:
    """The cells with other options; None if they have none that are known here."""
    cells = dict(row.cells)
    letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"[: len(texts)]
    for name in LISTS:
        if name in cells:
            return {**cells, name: json.dumps(texts)}
    if "A" in cells and "B" in cells:
        kept = {name: cell for name, cell in cells.items() if not re.fullmatch("[A-Z]", name)}
        return {**kept, **dict(zip(letters, texts, strict=True))}
    split = split_inline_options(cells.get("question", ""))
    if split.options:
        lines = (f"{label}. {text}" for label, text in zip(letters, texts, strict=True))
        return {**cells, "question": "\n".join((split.question or "Which?", *lines))}
    return None


def gold_text(name: str, row: Row, label: str, text: str) -> str:
    """The gold as the layout writes it."""
    if name in NAMED:
        return str(ord(label) - ord("A")) if name in PLACES else label
    written = row.cells[gold_column(row.cells) or ""].strip()
    if re.fullmatch("[A-Z]", written):
        return label
    dressed = _DRESSED.match(written)
    if dressed is None:
        return text
    return f"({label}) {text}" if written.startswith("(") else f"{label}. {text}"


def choice_rows(path: Path) -> list[Row]:
    """Rows that are asked as choices and whose options can be replaced."""
    made = layout(path)
    choices = [sample for sample in made.samples.values() if sample.kind == "choice"]
    if made.benchmark.name in MULTIPLE or not any(sample.options for sample in choices):
        return []
    pairs = zip(made.rows, list(made.samples.values()), strict=False)
    return [
        row
        for row, sample in pairs
        if sample.kind == "choice" and sample.gold and with_options(row, ["x", "y"]) is not None
    ][:2]


def scores(benchmark: Benchmark, samples: list[Sample], reply: str | None) -> list[float | None]:
    say = gold_reply if reply is None else lambda *_: Generated(reply)
    return [record.score for record in answer_samples(benchmark, samples, say)]


CHOICES = [path for path in FILES if choice_rows(path)]
YES_NO = [
    path for path in FILES if any(sample.kind == "yes_no" and sample.gold for sample in layout(path).samples.values())
]


def names(files: list[Path]) -> set[str]:
    return {path.name.split("@")[0].split(".")[0] for path in files}


def test_every_benchmark_is_here() -> None:
    assert names(FILES) == {known.name for known in list_benchmarks()}
    assert len(names(CHOICES)) >= 48
    assert len(names(YES_NO)) >= 5


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_the_gold_is_right_and_other_words_are_wrong(path: Path) -> None:
    benchmark, samples = layout(path).benchmark, list(layout(path).samples.values())
    answered = [sample for sample in samples if sample.gold]
    right, wrong = (scores(benchmark, answered, reply) for reply in (None, "qzx 987.5"))
    for one, other in zip(right, wrong, strict=True):
        assert (one is None and other is None) or (one is not None and one > (other or 0.0))


@pytest.mark.parametrize("path", CHOICES, ids=lambda path: path.stem)
@settings(max_examples=15, deadline=None, derandomize=True, database=None)
@given(data=st.data())
def test_the_right_option_scores_1_and_another_0(path: Path, data: st.DataObject) -> None:
    benchmark, rows = layout(path).benchmark, choice_rows(path)
    anchor, drawn = rows[0], rows[-1]
    size = len(layout(path).samples[next(iter(layout(path).samples))].options) or 4
    texts = data.draw(st.lists(st.sampled_from(TEXTS), min_size=size, max_size=size))
    place = data.draw(st.integers(0, size - 1))
    label, text = "ABCDEFGHIJ"[place], texts[place]
    name = benchmark.name
    golds = [gold_text(name, anchor, "B", PLAIN[1]), gold_text(name, drawn, label, text)]
    if name not in LABELS_ALONE | NAMED.keys() and data.draw(st.booleans()):
        golds = [PLAIN[1], text]
    made = []
    for number, (row, options, gold) in enumerate(
        zip((anchor, drawn), (list(PLAIN[:size]), texts), golds, strict=True)
    ):
        cells = with_options(row, options)
        assert cells is not None
        cells |= {NAMED.get(name) or gold_column(row.cells) or "": gold, "index": str(number), "id": str(number)}
        made.append(replace(row, index=number, cells=cells))
    # Where the first row's gold is a label, a second gold "B" is one, too.
    if golds == [PLAIN[1], text] and texts.count(text) > 1:
        with pytest.raises(DataError, match="is the text of the options"):
            list(benchmark.samples(made))
        return
    samples = list(benchmark.samples(made))
    assert [sample.gold for sample in samples] == [("B",), (label,)], (texts, golds)
    right = scores(benchmark, samples, None)
    assert right in ([1.0, 1.0], [None, None])
    wrong = scores(benchmark, samples[1:], "ABCDEFGHIJ"[place - 1 if place else 1])
    assert wrong == ([0.0] if right[0] else [None])


SPELLINGS = (
    *(tuple(pair[side].split("|")[0] for side in (0, 1)) for pair in WORDS.values()),
    ("yes", "no"),
    ("Yes.", "No."),
    ("YES", "NO"),
    ("Y", "N"),
    ("true", "False"),
    ("1", "0"),
    ("是", "否"),
    ("是的", "不是"),
    ("对", "错"),
    ("正确", "错误"),
    ("有", "没有"),
    ("correct", "wrong"),
)
BY_OPENING = {"mme"}
"""Read by a published rule that knows yes and no of English alone."""


@pytest.mark.parametrize("path", YES_NO, ids=lambda path: path.stem)
def test_yes_and_no_meet_in_every_spelling(path: Path) -> None:
    benchmark, rows = layout(path).benchmark, layout(path).rows
    samples = list(layout(path).samples.values())
    which = next(index for index, sample in enumerate(samples) if sample.kind == "yes_no")
    for spelling in SPELLINGS:
        for gold, other, word, wrong in ((*spelling, "Yes", "No"), (*reversed(spelling), "No", "Yes")):
            row = rows[which]
            cells = {**row.cells, gold_column(row.cells) or "": gold}
            made = [*rows[:which], replace(row, cells=cells), *rows[which + 1 :]]
            sample = list(benchmark.samples(made))[which]
            assert (sample.kind, sample.gold) == ("yes_no", (word,)), spelling
            replies = [word] if benchmark.name in BY_OPENING else [word, gold, f"**{gold}**"]
            wrongs = [wrong] if benchmark.name in BY_OPENING else [wrong, other]
            for reply in replies:
                assert scores(benchmark, [sample], reply)[0] in (1.0, None), (gold, reply)
            for reply in wrongs:
                assert scores(benchmark, [sample], reply)[0] in (0.0, None), (gold, reply)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_recorded_verdicts_make_the_headline_or_are_refused(path: Path) -> None:
    found = layout(path)
    samples = list(found.samples.values())
    benchmark = replace_fields(found.benchmark, open=lambda: found.rows, samples=lambda rows: iter(samples))
    assert _is_made_of_verdicts(benchmark) == (path.name not in OF_ANSWERS)
    if path.name in OF_ANSWERS or benchmark.headline_sums is not None:
        return
    records = [_record(one, Generated("x"), n % 2) for n, one in enumerate(samples)]
    share = sum(n % 2 for n in range(len(samples))) / len(samples)
    headline = benchmark.summarise(records).headline
    assert headline.value == pytest.approx(share * headline.top)
