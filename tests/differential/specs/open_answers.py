"""Benchmarks of open questions, scored by VLMEvalKit without a judge model."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Spec
from tests.differential.styles_open import QUESTIONS, Cells, Open, open_cases

VLMEVALKIT_OPEN = replace(VLMEVALKIT, script="vlmevalkit_open")


def listed(golds: tuple[str, ...]) -> str:
    """Gold answers as the data files hold them."""
    return str(list(golds))


def cells_of(answer: Callable[[Open], str], column: str = "answer", **columns: Any) -> Cells:
    """The row of a question; a column with several values rotates through them."""

    def cells(question: Open, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            column: answer(question),
            **{
                name: value[number % len(value)] if isinstance(value, tuple) else value
                for name, value in columns.items()
            },
        }

    return cells


def groups(
    benchmark: str,
    dataset: str,
    cells: Cells,
    path: str,
    *,
    metrics: Mapping[str, str],
    label: str = "split",
    scale: float = 1,
    factor: float = 0.01,
    questions: tuple[Open, ...] = QUESTIONS,
) -> Spec:
    """A set for which VLMEvalKit gives a number for every group, and every row is one."""
    arguments = {
        "how": "groups", "dataset": dataset, "label": label, "scale": scale, "factor": factor
    }  # fmt: skip
    return _spec(benchmark, cells, path, arguments, metrics, questions)


def alone(
    benchmark: str,
    dataset: str,
    cells: Cells,
    path: str,
    *,
    metrics: Mapping[str, str],
    metric: str,
    scale: float = 1,
    factor: float = 1,
    fillers: tuple[Mapping[str, Any], ...],
    questions: tuple[Open, ...] = QUESTIONS,
) -> Spec:
    """A set whose rows VLMEvalKit evaluates one by one, each beside rows that earn nothing."""
    arguments = {
        "how": "alone",
        "dataset": dataset,
        "metric": metric,
        "factor": factor,
        "scale": scale,
        "fillers": [
            {
                "id": str(90000 + n),
                "reply": "qqqq",
                "verdict": "",
                "cells": {"question": "q", **one},
            }
            for n, one in enumerate(fillers)
        ],
    }
    return _spec(benchmark, cells, path, arguments, metrics, questions)


def _spec(
    benchmark: str,
    cells: Cells,
    path: str,
    arguments: Mapping[str, Any],
    metrics: Mapping[str, str],
    questions: tuple[Open, ...],
) -> Spec:
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT_OPEN,
        path=f"vlmeval/dataset/{path}",
        cases=open_cases(cells, questions),
        arguments=arguments,
        metrics=metrics,
    )


def golds(question: Open) -> str:
    return listed(question.golds)


def ten(question: Open) -> str:
    return listed(question.ten)


def one(question: Open) -> str:
    return question.golds[0]


_VQA = "image_vqa.py, ImageVQADataset.evaluate"

SPECS = (
    groups("textvqa", "TextVQA_VAL", cells_of(ten), _VQA, metrics={"vqa_accuracy": "Overall"}),
    groups("docvqa", "DocVQA_VAL", cells_of(golds), _VQA, metrics={"anls": "Overall"}),
    groups("infovqa", "InfoVQA_VAL", cells_of(golds), _VQA, metrics={"anls": "Overall"}),
    groups("ocrvqa", "OCRVQA_TESTCORE", cells_of(golds), _VQA, metrics={"exact_match": "Overall"}),
    groups("gqa", "GQA_TestDev_Balanced", cells_of(one), _VQA, metrics={"exact_match": "Overall"}),
    groups(
        "chartqa",
        "ChartQA_TEST",
        cells_of(golds, split=("human", "augment")),
        _VQA,
        metrics={"relaxed_accuracy": "Overall", "split/human": "human", "split/augment": "augment"},
    ),
    groups(
        "mtvqa",
        "MTVQA_TEST",
        cells_of(one, category=("DE", "FR", "RU"), split="test"),
        "image_vqa.py, MTVQADataset.evaluate",
        label="category",
        metrics={"accuracy": "Average", "category/DE": "DE"},
    ),
    alone(
        "ocrbench",
        "OCRBench",
        cells_of(
            golds,
            category=(
                "Scene Text-centric VQA",
                "Handwritten Mathematical Expression Recognition",
                "Doc-oriented VQA",
            ),
        ),
        "image_vqa.py, OCRBench.evaluate",
        metric="Final Score",
        metrics={"final_score": "Final Score"},
        fillers=({"answer": "['zzzz']", "category": "Key Information Extraction"},),
    ),
    alone(
        "tallyqa",
        "TallyQA",
        cells_of(lambda question: re.sub(r"\D", "", question.golds[0])[:2] or "3"),
        "image_vqa.py, TallyQA.evaluate",
        metric="TallyQA",
        metrics={"exact": "TallyQA"},
        factor=2,
        scale=100,
        fillers=({"answer": "19"},),
    ),
)
