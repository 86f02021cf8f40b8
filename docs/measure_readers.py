"""Precision and recall of readers on labelled replies of real models.

    python docs/measure_readers.py GOLDEN_FOLDER   counts Snellen's rules anew, into
                                                   reading_quality.json
    python docs/measure_readers.py GOLDEN_FOLDER --extractor MODEL
    python docs/measure_readers.py GOLDEN_FOLDER --judge MODEL
                                                   prints how well a language model reads what the
                                                   rules leave, and stores nothing but its replies

The golden folder holds published predictions with the options that others read from them; it is
not part of the repository, because its sets have licences of their own. Counts alone are stored.
`snellen score --columns label_answer=COLUMN` does the same with replies of one's own.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import json
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

import msgspec

import snellen.analysis
from snellen import score
from snellen.analysis.parsing.parsing_quality import (
    BLINK,
    COUNTS,
    MMMU,
    TEMPCOMPASS,
    VECTORS,
    ParsingQuality,
    ReplyParser,
    ReplyWithOption,
    measure_parser,
)
from snellen.api.scored import Scored
from snellen.core.model import Model
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.choice import parse_choice
from snellen.extract.published.vlmevalkit import parse_choice_vlmevalkit, parse_yes_no_vlmevalkit
from snellen.extract.yes_no import NO, YES, YesNoRule, parse_yes_no
from snellen.report.findings.parsers import labelled_replies
from snellen.report.writers.terminal import print_document

LETTERS = "ABCD"
_ALL_LETTERS = "ABCDEFGHI"
_QUESTION = "Which option does the reply choose?"


def counted(golden: Path) -> list[ParsingQuality]:
    """Every reader on every set it can read."""
    choice: Mapping[str, ReplyParser] = {"snellen": parse_choice, "vlmevalkit": parse_choice_vlmevalkit}
    sets = {BLINK: _blink, MMMU: _mmmu, VECTORS: _vectors}
    found = [
        measure_parser(reader, "choice", labelled_by, read, replies(golden))
        for labelled_by, replies in sets.items()
        for reader, read in choice.items()
    ]
    yes_no: Mapping[str, ReplyParser] = {
        **{rule: _yes_no(rule) for rule in ("word", "official", "paper")},
        "vlmevalkit": lambda text, options: parse_yes_no_vlmevalkit(text),
    }
    return found + [
        measure_parser(reader, "yes_no", TEMPCOMPASS, read, _tempcompass(golden)) for reader, read in yes_no.items()
    ]


def extracted(
    golden: Path, extractor: str | Model, store: Path, most: int | None = None
) -> Iterator[tuple[str, Scored]]:
    """An extractor on the first `most` labelled choices of each set: the set, and how well it reads
    what the rules leave. Raises UsageError subclasses."""
    for labelled_by, replies in labelled_choices(golden).items():
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "labelled.csv"
            write_choices(path, islice(replies, most))
            labels = {"answer": "meant"}
            yield labelled_by, score(str(path), extractor=extractor, labels=labels, store=store)


def labelled_choices(golden: Path) -> dict[str, Iterator[ReplyWithOption]]:
    """Replies of real models to questions with options, by who labelled them."""
    return {BLINK: _blink(golden), MMMU: _mmmu(golden)}


def write_choices(path: Path, replies: Iterable[ReplyWithOption]) -> None:
    """Labelled replies as a file of one's own. Where the texts of the options are not known, the
    labels stand in their place."""
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = csv.writer(stream)
        rows.writerow(("index", "question", *_ALL_LETTERS, "prediction", "meant"))
        for number, one in enumerate(replies):
            options = one.options or {letter: f"({letter})" for letter in LETTERS}
            cells = (options.get(letter, "") for letter in _ALL_LETTERS)
            rows.writerow((number, _QUESTION, *cells, one.text, one.label or "Z"))


def graded(golden: Path, judge: str | Model, store: Path) -> Iterator[tuple[str, Scored]]:
    """A judge on the sets whose replies it helps to read: TempCompass by whether they are right,
    LogicVista by the letters that GPT-4 read."""
    for file in sorted((golden / "tempcompass").glob("*.jsonl.gz")):
        task = file.name.removesuffix(".jsonl.gz").rpartition("_")[2]
        task = {"no": "yes_no", "matching": "caption_matching"}.get(task, task)
        if task != "captioning":
            yield (
                f"{TEMPCOMPASS}: {file.name}",
                score(f"tempcompass:task={task}", file, judges=[judge], labels={"right": "rating"}, store=store),
            )
    home = golden / "logicvista"
    models = dict.fromkeys(row["model"] for row in read_rows(home / "model_answers.jsonl.gz"))
    for model in models:
        yield (
            f"GPT-4 (LogicVista): {model}",
            score(
                "logicvista",
                home / "model_answers.jsonl.gz",
                judges=[judge],
                data=home / "questions.jsonl.gz",
                columns={"prediction": "raw"},
                where={"model": model},
                labels={"answer": "extracted"},
                store=store,
            ),
        )


def _yes_no(rule: YesNoRule) -> ReplyParser:
    return lambda text, options: parse_yes_no(text, rule=rule)


def _blink(golden: Path) -> Iterator[ReplyWithOption]:
    for file in sorted((golden / "blink_val").glob("*.jsonl.gz")):
        for row in read_rows(file):
            label = (row["prediction"] or "")[1:2]
            label = label if label in LETTERS else None
            yield ReplyWithOption(row["full_prediction"] or "", {}, label, file.name.split(".jsonl")[0])


def _mmmu(golden: Path) -> Iterator[ReplyWithOption]:
    for file in sorted((golden / "mmmu_val").glob("*.jsonl")):
        for row in read_rows(file):
            if row["question_type"] == "multiple-choice":
                label = None if row["official_random_fallback"] else row["official_parsed"]
                yield ReplyWithOption(row["response"], row["index2ans"], label, file.stem)


def _vectors(golden: Path) -> Iterator[ReplyWithOption]:
    file = golden / "extraction_test_vectors" / "lighteval_extractive_match.jsonl"
    for row in read_rows(file):
        if row["match_types"] == ["NativeLetters"] and row["expected"]:
            yield ReplyWithOption(row["pred"], {}, _letter(parse_choice(row["gold"], {})) or row["gold"][:1])


def _tempcompass(golden: Path) -> Iterator[ReplyWithOption]:
    for file in sorted((golden / "tempcompass").glob("*_yes_no.jsonl.gz")):
        for row in read_rows(file):
            gold = row["gt-answer"].capitalize()
            other = NO if gold == YES else YES
            label = gold if row["rating"] else other
            system = file.name.removesuffix("_yes_no.jsonl.gz")
            yield ReplyWithOption(row["video-llm-prediction"] or "", {}, label, system)


def _letter(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


def read_rows(path: Path) -> Iterator[dict[str, Any]]:
    raw = path.read_bytes()
    text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode()
    yield from map(json.loads, text.splitlines())


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("golden", type=Path)
    parser.add_argument("--extractor")
    parser.add_argument("--judge")
    parser.add_argument("--limit", type=int, help="replies of each set, for an extractor")
    parser.add_argument("--store", type=Path, default=Path("readers.sqlite"))
    told = parser.parse_args(argv)
    if told.extractor or told.judge:
        if told.extractor:
            _print(extracted(told.golden, told.extractor, told.store, told.limit))
        if told.judge:
            _print(graded(told.golden, told.judge, told.store))
        return 0
    found = counted(told.golden)
    path = Path(snellen.analysis.__path__[0]) / COUNTS
    path.write_bytes(msgspec.json.format(msgspec.json.encode(found), indent=1) + b"\n")
    return 0


def _print(sets: Iterable[tuple[str, Scored]]) -> None:
    for name, scored in sets:
        if scored.readings is not None:
            print(name)
            print_document(labelled_replies(scored.readings))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
