"""Multiple-choice benchmarks, scored by VLMEvalKit without a judge model."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from tests.differential import styles_choice
from tests.differential.oracle_list import VLMEVALKIT
from tests.differential.sets import Case, Spec

Cells = Callable[[styles_choice.Choice, int], Mapping[str, Any]]
"""The row of a data file for a question and the number of the row."""


def table_row(**columns: Any) -> Cells:
    """Cells in VLMEvalKit's layout: question, options by letter, answer, and further columns."""

    def cells(question: styles_choice.Choice, number: int) -> Mapping[str, Any]:
        return {
            "question": question.question,
            **question.options,
            "answer": question.gold,
            **{
                name: value[number % len(value)] if isinstance(value, tuple) else value
                for name, value in columns.items()
            },
        }

    return cells


def choice_cases(
    cells: Cells, questions: tuple[styles_choice.Choice, ...] = styles_choice.QUESTIONS
) -> Callable[[], Iterator[Case]]:
    """Every style of reply to three of the questions, which rotate."""

    def cases() -> Iterator[Case]:
        number = 0
        for turn in range(3):
            count = len(list(styles_choice.styles()))
            for position in range(count):
                question = questions[(position + turn * 2) % len(questions)]
                style, reply = list(styles_choice.replies(question, turn))[position]
                yield Case(str(number), cells(question, number), style, reply)
                number += 1

    return cases


def _generic(benchmark: str, dataset: str, **columns: Any) -> Spec:
    return Spec(
        name=f"{benchmark.replace(':', '@')}.vlmevalkit",
        benchmark=benchmark,
        rule="vlmevalkit",
        oracle=VLMEVALKIT,
        path="vlmeval/dataset/image_mcq.py, ImageMCQDataset.evaluate",
        cases=choice_cases(table_row(**columns)),
        arguments={"dataset": dataset, "scale": 100},
        metrics={"accuracy": "Overall"},
    )


SPECS = (
    _generic("mmstar", "MMStar", category=("colour", "shape"), l2_category="scenes"),
    _generic("ai2d", "AI2D_TEST", category=("foodChainsWebs", "typesOf")),
)
