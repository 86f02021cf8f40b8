"""How to score a published file of results so that it gives the published number.

Such files hold columns that no rule can choose between: raw replies beside the letters that a model
extracted from them, and verdicts of a judge that may be counted or asked for again.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple


class ResultsFile(NamedTuple):
    """A layout in which authors publish results, and the advice for it."""

    columns: tuple[str, ...]
    """By these it is known; none where nothing in the file tells it from others."""
    advice: str
    judged: bool = False
    """Whether the advice is about verdicts, so that it is of no use to one who names a judge."""


RESULTS_FILES = {
    "blink": ResultsFile(
        ("prediction", "full_prediction"),
        "`prediction` holds the letters that GPT-3.5 read, which the published table counts; the "
        "raw replies are scored with --columns prediction=full_prediction",
    ),
    "tempcompass": ResultsFile(
        ("rating", "video-llm-prediction"),
        "`rating` holds the recorded verdicts, which the published table counts: "
        "--judge column:rating",
        judged=True,
    ),
    "mm-vet": ResultsFile(
        ("grade_1run",),
        "`grade_1run` holds GPT-4's grades: --judge column:grade_1run",
        judged=True,
    ),
    "logicvista": ResultsFile(
        ("raw", "extracted"),
        "`raw` holds the replies and `extracted` the letters that GPT-4 read, which the published "
        "table counts: --judge column:extracted, with --data for the questions and --where model= "
        "for one of the models",
        judged=True,
    ),
    "llava-bench": ResultsFile(
        ("reviews",),
        "the file holds no reference answers: name the table of questions with --data, and the "
        "column of a review's text with --judge column:NAME",
        judged=True,
    ),
    "mathvista": ResultsFile(
        ("prediction", "extraction", "response"),
        "`prediction` holds what the authors' script made of a model's `extraction` from the "
        "reply; the raw replies are scored with --columns prediction=response",
    ),
    "docvqa": ResultsFile(
        (),
        "ANLS as VLMEvalKit, lmms-eval and most published files count it divides by lengths before "
        "blanks are taken away, which differs from the third digit on: --rule vlmevalkit",
    ),
}
"""By the benchmark's name."""
NULLS_COUNT = frozenset({"mathvision", "mathvista", "tempcompass"})
"""Benchmarks whose authors count every row of their files, one whose reply is null as wrong."""


def advice_on(benchmark: str, columns: Collection[str], has_judge: bool) -> str | None:
    """The advice for a file of these columns, if it is of such a layout and needs advice."""
    results_file = RESULTS_FILES.get(benchmark)
    if results_file is None or not results_file.columns or (results_file.judged and has_judge):
        return None
    return results_file.advice if set(results_file.columns) <= set(columns) else None
