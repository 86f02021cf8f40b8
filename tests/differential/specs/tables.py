"""TableVQA-Bench by its authors and by VLMEvalKit, which needs all four of its parts."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from tests.differential.sets import Case, Spec
from tests.differential.specs.open_answers import NO_HEADLINE, alone, authors, cells_of, golds, repository
from tests.differential.styles_open import BASES, Base, Open, open_cases, open_question

TABLEVQABENCH = repository("naver-ai/tablevqabench", "87d38e7907e268ea18c7d9c318e95e3a43009cea", "MIT")
_FIGURES = (
    open_question("What were the originations?", "$3,852 million|3,852 million", "3,852|$3.852 B"),
    open_question("What was the percentage?", "34.2%|34.2", "0.342|34.2 %"),
    open_question("Which period?", "October 31|October 31.", "Oct 31|31 October"),
    open_question("What was the loss?", "$(1,250.50)|-1250.5", "1250.5|1,250.5 thousand"),
    open_question("How many shares?", "15 shares|15", "15 million shares|150"),
)
_STATEMENTS = (
    open_question("The team won six games.", "True|true", "False|It is true, not false."),
    open_question("Only one scored.", "False|false", "True|not true"),
)
_CELLS = (
    open_question("In which year?", "2004|2004.0", "2005|1,004"),
    open_question("Which township?", "Freeman|freeman [1]", "Freemann|Center (Pope)"),
    Open("Which fruits?", ("Apple|Banana", "Banana||Apple"), ("Apple", "Apple|Banana|Banana")),
    open_question("How many points?", "0|0.0", "-0|1"),
    open_question("On which day?", "2001-06-07|2001-6-7", "2001-06-08|xx-06-07"),
    open_question("Which month?", "xx-06-xx|xx-6-xx", "June|2001-06-xx"),
    open_question("What is the total?", "1,000|1000", "1000.0|1e3"),
    open_question("What is it called?", '\u201cBlue\u201d \u2013 Caf\u00e9|"Blue" - Cafe', "Blue|Cafe"),
)
_PARTS = {
    **{one.question: ("fintabnetqa",) for one in _FIGURES},
    **{one.question: ("vtabfact",) for one in _STATEMENTS},
    **{one.question: ("vwtq", "vwtq_syn") for one in _CELLS},
}
QUESTIONS = tuple(one for trio in zip(_CELLS, _FIGURES + _STATEMENTS + _FIGURES[:1], strict=True) for one in trio)
TABLE_BASES: dict[str, Base] = {
    **BASES,
    "bars doubled": lambda a, b: a.replace("|", "||"),
    "items turned": lambda a, b: "|".join(reversed(a.split("|"))),
    "items repeated": lambda a, b: f"{a}|{a}",
    "citation": lambda a, b: f"{a} [12]",
    "details": lambda a, b: f"{a} (est.)",
    "dagger": lambda a, b: f"{a}*†",
    "Answer and blank": lambda a, b: f"Answer: {a}||{b}",
    "escaped bar": lambda a, b: f"{a}\\p{b}",
    "thousand": lambda a, b: f"{a} thousand",
    "billion": lambda a, b: f"{a}billion",
    "shares": lambda a, b: f"{a} shares",
    "True": lambda a, b: "True",
    "False dot": lambda a, b: "False.",
    "untrue": lambda a, b: "That is untrue.",
    "not a number": lambda a, b: "nan.",
}


def _cells(question: Open, number: int) -> Mapping[str, Any]:
    parts = _PARTS[question.question]
    gold = question.golds[0]
    return {
        "question": question.question,
        "answer": {"True": "1", "False": "0"}[gold] if parts == ("vtabfact",) else gold,
        "split": parts[number % len(parts)],
    }


def _filler(split: str) -> Mapping[str, str]:
    return {"split": split, "answer": "0" if split == "vtabfact" else "zzzz"}


_WILD_FILLERS = tuple(
    {
        "id": f"{name}-9000-1",
        "reply": "qqqq",
        "verdict": "",
        "cells": {"question": "q", "part": name.partition("-")[0], "answer": gold},
    }
    for name, gold in (
        ("DocVQA-1", "['zzzzzz']"),
        ("ChartQA-1", "['zzzz']"),
        ("TableVQA-vwtq", "zzzz"),
        ("TableVQA-vwtq_syn", "zzzz"),
        ("TableVQA-vtabfact", "0"),
        ("TableVQA-fintabnetqa", "zzzz"),
    )
)


def _wild_cases() -> Iterator[Case]:
    """Every third reply about a page, a chart and a table."""
    pages = open_cases(cells_of(golds))
    tables = open_cases(_cells, QUESTIONS, bases=TABLE_BASES)
    for case in pages():
        part = "DocVQA" if int(case.id) % 2 else "ChartQA"
        if int(case.id) % 3 or case.id.endswith("0"):
            yield Case(f"{part}-{case.id}-0-1", {**case.cells, "part": part}, case.style, case.reply)
    for case in tables():
        cells = {key: value for key, value in case.cells.items() if key != "split"}
        if int(case.id) % 3 == 0:
            name = f"TableVQA-{case.cells['split']}-{case.id}-1"
            yield Case(name, {**cells, "part": "TableVQA"}, case.style, case.reply)


SPECS: tuple[Spec, ...] = (
    alone(
        "tablevqabench",
        "TableVQABench",
        _cells,
        "image_vqa.py, TableVQABench.evaluate",
        metric="{split}/average_scores",
        leads=NO_HEADLINE,
        metrics={
            "split/vwtq": "vwtq/average_scores",
            "split/vtabfact": "vtabfact/average_scores",
            "split/fintabnetqa": "fintabnetqa/average_scores/0",
        },
        factor=0.02,
        fillers=tuple(map(_filler, ("vwtq", "vwtq_syn", "vtabfact", "fintabnetqa"))),
        questions=QUESTIONS,
        bases=TABLE_BASES,
    ),
    authors(
        "tablevqabench",
        "tablevqabench",
        TABLEVQABENCH,
        "src/evaluate_tablevqa_dataset.py, evaluate_datasets",
        _cells,
        metrics={"accuracy": "mean"},
        questions=QUESTIONS,
        bases=TABLE_BASES,
    ),
    replace(
        alone(
            "wilddoc",
            "WildDoc",
            _cells,
            "image_vqa.py, WildDocBenchmark.evaluate",
            metric="",
            metrics={"part/DocVQA": "Score/0", "part/ChartQA": "Score/2"},
            fillers=_WILD_FILLERS,
        ),
        cases=_wild_cases,
        arguments={
            "how": "alone",
            "dataset": "WildDoc",
            "leads": ["Overall", ["Score/6"], 1],
            "parts": {
                "DocVQA": ["Score/0", 0.02],
                "ChartQA": ["Score/2", 0.02],
                # The mean of four parts, of which only the row's own earns.
                "TableVQA": ["Score/4", 0.08],
            },
            "fillers": _WILD_FILLERS,
        },
    ),
)
