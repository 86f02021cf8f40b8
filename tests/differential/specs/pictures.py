"""Benchmarks of pictures with a rule or a summary of their own, scored by VLMEvalKit."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from tests.differential import questions_choice as pools
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec
from tests.differential.specs.choices import Pool, choice_cases, table_row, vlmevalkit_set
from tests.differential.specs.choices_authors import LMMS_EVAL, VISULOGIC, authors_set
from tests.differential.specs.choices_video import four
from tests.differential.specs.open_answers import VLMEVALKIT_OPEN

_FILE = "vlmeval/dataset/image_mcq.py, {}"
_REASONING = ("Quantitative", "Spatial", "Positional", "Attribute", "Stylistic")
_CATEGORIES = (*(f"{name} Reasoning" for name in _REASONING), "Other")
_BENCHMARKS = (
    "SEEDBench",
    "MMStar",
    "A-OKVQA",
    "VizWiz",
    "MMVet",
    "VQAv2",
    "OKVQA",
    "MMMU",
    "MathVista",
    "ScienceQA",
    "RealWorldQA",
    "GQA",
    "MathVision",
    "TextVQA",
    "OCRVQA",
    "AI2D",
    "ChartQA",
    "DocVQA",
    "InfoVQA",
    "TableVQABench",
)
"""What VMCBench is made of."""
_SECTIONS = {"general": "General", "reasoning": "Reasoning", "ocr": "OCR", "doc_and_chart": "Doc & Chart"}
_DRAWN = "drawn: "
"""Begins the styles in some rows of which nothing is found, and an option is drawn at random."""


def filler(number: int, **cells: Any) -> Mapping[str, Any]:
    """A row that earns nothing."""
    return {"id": str(90000 + number), "reply": "qqqq", "verdict": "", "cells": cells}


def _visulogic_cases() -> Iterator[Case]:
    """The options stand in the pictures; four labels."""
    for case in choice_cases(table_row(category=_CATEGORIES))():
        cells = {name: text for name, text in case.cells.items() if len(name) > 1}
        yield Case(case.id, cells, case.style, case.reply)


def _vmcbench_cases(pool: Pool = pools.DETAILS) -> Iterator[Case]:
    """Replies in which nothing is found, so that an option is drawn, come again with a choice
    behind them."""
    number = 10000
    for case in choice_cases(table_row(category=_BENCHMARKS), pool)():
        silent = case.style.partition(", ")[0] in _SILENT
        yield replace(case, style=f"{_DRAWN}{case.style}") if silent else case
        if silent:
            number += 1
            reply = f"{case.reply}\nI choose ({'AB'[number % 2]})"
            yield Case(str(number), case.cells, f"{case.style}, choice behind", reply)


_SILENT = frozenset(
    {
        "letter",
        "letter dot",
        "letter parenthesis",
        "letter in brackets",
        "small letter",
        "small letter in parentheses",
        "letter colon text",
        "letter comma text",
        "text",
        "text in small letters",
        "text dot",
        "bold letter",
        "bold letter dot",
        "boxed",
        "boxed in dollars",
        "boxed text macro",
        "answer tag",
        "Answer colon no blank",
        "Answer small",
        "bold Final Answer",
        "Ans colon",
        "the answer is bold",
        "the answer is text",
        "other is wrong",
        "both texts",
        "json",
        "Chinese",
        "Chinese choose",
        "Chinese answer colon",
        "A alone in prose",
        "refusal",
        "cannot determine",
        "no image",
        "none of them",
        "all of the above",
        "letter out of range",
        "number",
        "empty dots",
        "long prose without letter",
    }
)
"""Bases of replies, in some of which nothing is found."""

SPECS = (
    Spec(
        name="visulogic.vlmevalkit",
        benchmark="visulogic",
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path="vlmeval/dataset/utils/visulogic.py, VisuLogic_acc",
        cases=_visulogic_cases,
        arguments={
            "how": "alone",
            "dataset": "VisuLogic",
            "metric": "acc/0",
            # All of its categories have to be there.
            "factor": (len(_CATEGORIES) + 1) / 100,
            "fillers": [
                filler(number, question="q", answer="A", category=name) for number, name in enumerate(_CATEGORIES)
            ],
        },
        metrics={"accuracy": "acc/0", "category/Spatial Reasoning": "acc/2", "category/Other": "acc/6"},
    ),
    Spec(
        name="vmcbench.vlmevalkit",
        benchmark="vmcbench",
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/utils/vmcbench.py, get_mc_score and report_vmc_acc",
        cases=_vmcbench_cases,
        arguments={"dataset": "VMCBench_DEV", "lots": "utils.vmcbench"},
        metrics={"accuracy": "Overall", "category/GQA": "GQA", **_SECTIONS},
        apart=_DRAWN,
        close=0.005,
    ),
    authors_set(
        "visulogic",
        "visulogic",
        VISULOGIC,
        "evaluation/eval_model.py, extract_answer_v1 without a judge and calculate_scores",
        _visulogic_cases,
        {"accuracy": "mean"},
    ),
    authors_set(
        "vmcbench",
        "vmcbench",
        LMMS_EVAL,
        "lmms_eval/tasks/vmcbench/utils.py, vmcbench_process_results",
        partial(_vmcbench_cases, four(pools.DETAILS + pools.KNOWLEDGE)),
        {"accuracy": "average"},
        apart=_DRAWN,
    ),
    vlmevalkit_set(
        "msearth",
        "MSEarthMCQ",
        pools.SCIENCE,
        {"accuracy": "Overall", "category/geology": "geology"},
        _FILE.format("ImageMCQDataset.evaluate"),
        category=("geology", "hydrology"),
    ),
    vlmevalkit_set(
        "scam",
        "SCAM",
        pools.PAIRS,
        {"accuracy": "Overall", "category/NoSCAM": "NoSCAM"},
        _FILE.format("ImageMCQDataset.evaluate"),
        category=("SCAM", "NoSCAM", "SynthSCAM"),
    ),
)
