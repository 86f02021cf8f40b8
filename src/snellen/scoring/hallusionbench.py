"""HallusionBench's three numbers (Guan et al. 2023, arXiv:2310.14566, Sec. 4.1), 0..100."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from snellen.core.record import Record
from snellen.scoring.grouped import all_right


class FigureKey(NamedTuple):
    """Which figure a question is about. `kind` and `set` name the set of figures."""

    kind: str
    set: str
    figure: str
    question: str


class HallusionScores(NamedTuple):
    answers: float
    """aAcc: share of right answers."""
    figures: float
    """fAcc: share of figures all of whose questions are right."""
    questions: float
    """qAcc: share of questions right about every figure of their set."""
    figure_count: int
    question_count: int

    @property
    def mean(self) -> float:
        return (self.answers + self.figures + self.questions) / 3


FigureKeyOf = Callable[[Record], FigureKey]


def hallusion_scores(records: Sequence[Record], figure_key: FigureKeyOf) -> HallusionScores | None:
    """None where no question could be scored."""
    answers = [record.score for record in records if record.score is not None]
    figures = all_right(records, lambda one: figure_of(figure_key(one)))
    questions = all_right(records, lambda one: question_of(figure_key(one)))
    if not (answers and figures and questions):
        return None
    return HallusionScores(
        100 * sum(answers) / len(answers),
        100 * sum(figures.values()) / len(figures),
        100 * sum(questions.values()) / len(questions),
        len(figures),
        len(questions),
    )


def figure_of(key: FigureKey) -> str:
    """A name for the figure."""
    return "/".join((key.kind, key.set, key.figure))


def question_of(key: FigureKey) -> str:
    """A name for the question that is asked about every figure of the set."""
    return "/".join((key.kind, key.set, key.question))
