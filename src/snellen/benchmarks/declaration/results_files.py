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
    verdicts: str = ""
    """Column of recorded verdicts (`A+B` for two) that are counted unless a judge is named."""
    official: str = ""
    """Column that the rule `official` reads in place of `prediction`."""
    complete: bool = False
    """Whether the verdicts make the score, without the gold answers of any data."""
    runs: bool = False
    """Whether a verdict may be a list of grades, one of each run of the judge."""
    judged: bool = False
    """Whether the advice is about verdicts, so that it is of no use to one who names a judge."""
    tool: str = "the authors' script"
    """Who wrote the columns."""


_BY_VLMEVALKIT = "the verdicts of VLMEvalKit's judge, which its table counts"
RESULTS_FILES: dict[str, tuple[ResultsFile, ...]] = {
    "blink": (
        ResultsFile(
            ("prediction", "full_prediction"),
            "`prediction` holds the letters that GPT-3.5 read, which the published table counts; "
            "the raw replies are scored with --columns prediction=full_prediction",
        ),
    ),
    "tempcompass": (
        ResultsFile(
            ("rating", "video-llm-prediction"),
            "`rating` holds the recorded verdicts, which the published table counts: --judge column:rating",
            verdicts="rating",
            judged=True,
        ),
    ),
    "mm-vet": (
        ResultsFile(
            ("grade_1run",),
            "`grade_1run` holds GPT-4's grades: --judge column:grade_1run",
            verdicts="grade_1run",
            judged=True,
            runs=True,
        ),
        ResultsFile(
            ("model", "content", "score"),
            "`score` holds the grades of the authors' grader: --judge column:score",
            verdicts="score",
            judged=True,
        ),
        ResultsFile(
            ("prediction", "log", "score"),
            f"`score` holds {_BY_VLMEVALKIT}: --judge column:score",
            verdicts="score",
            tool="VLMEvalKit",
            judged=True,
        ),
    ),
    "logicvista": (
        ResultsFile(
            ("raw", "extracted"),
            "`raw` holds the replies and `extracted` the letters that GPT-4 read, which the "
            "published table counts: --judge column:extracted, with --data for the questions and "
            "--where model= for one of the models",
            verdicts="extracted",
            judged=True,
        ),
    ),
    "llava-bench": (
        ResultsFile(
            ("reviews",),
            "the file holds no reference answers: name the table of questions with --data, and "
            "the column of a review's text with --judge column:NAME",
            judged=True,
        ),
        ResultsFile(
            ("answer1_id", "answer2_id", "content"),
            "`content` holds the reviews, whose two scores the published number counts: --judge column:content",
            verdicts="content",
            complete=True,
            judged=True,
        ),
        ResultsFile(
            ("gpt4_score", "score"),
            f"`gpt4_score` and `score` hold {_BY_VLMEVALKIT}: --judge column:gpt4_score+score",
            verdicts="gpt4_score+score",
            tool="VLMEvalKit",
            complete=True,
            judged=True,
        ),
    ),
    "mathvista": (
        ResultsFile(
            ("prediction", "extraction", "response"),
            "`prediction` holds what the authors' script made of a model's `extraction` from the "
            "reply; the raw replies are scored with --columns prediction=response",
            official="extraction",
        ),
    ),
    "scienceqa": (
        ResultsFile(
            ("prediction", "full_prediction"),
            "`prediction` holds the options that the authors' script read from the outputs, or "
            "drew where it read none, which the published number counts; the raw replies are "
            "scored with --columns prediction=full_prediction",
        ),
    ),
    "docvqa": (
        ResultsFile(
            (),
            "ANLS as VLMEvalKit, lmms-eval and most published files count it divides by lengths "
            "before blanks are taken away, which differs from the third digit on: "
            "--rule vlmevalkit",
        ),
    ),
}
"""By the benchmark's name; of several layouts the first that fits a file."""
NULLS_COUNT = frozenset({"mathvision", "mathvista", "tempcompass"})
"""Benchmarks whose authors count every row of their files, one whose reply is null as wrong."""


def results_file_of(benchmark: str, columns: Collection[str]) -> ResultsFile | None:
    """The layout of a file of these columns, if it is a known one."""
    present = set(columns)
    return next(
        (
            layout
            for layout in RESULTS_FILES.get(benchmark, ())
            if layout.columns and present.issuperset(layout.columns)
        ),
        None,
    )


def advice_on(benchmark: str, columns: Collection[str], has_judge: bool) -> str | None:
    """The advice for a file of these columns, if it is of such a layout and needs advice."""
    layout = results_file_of(benchmark, columns)
    return None if layout is None or (layout.judged and has_judge) else layout.advice
