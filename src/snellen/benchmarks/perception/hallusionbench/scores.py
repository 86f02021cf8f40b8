"""HallusionBench's three numbers (Guan et al. 2023, arXiv:2310.14566, Sec. 4.1), 0..100."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from snellen.core.record import Record
from snellen.scoring.grouped import all_right


class FigureKey(NamedTuple):
    """The figure a question is about. `kind` and `set` name the set of figures."""

    kind: str
    set: str
    figure: str
    question: str


class HallusionScores(NamedTuple):
    answers: float
    """aAcc: fraction of right answers, in percent."""
    figures: float
    """fAcc: figures with all questions right, in percent."""
    questions: float
    """qAcc: questions that are right for every figure of their set, in percent."""
    figure_count: int
    question_count: int

    @property
    def mean(self) -> float:
        return (self.answers + self.figures + self.questions) / 3


FigureKeyOf = Callable[[Record], FigureKey]


def hallusion_scores(records: Sequence[Record], figure_key: FigureKeyOf) -> HallusionScores | None:
    """The three numbers; None if no question could be scored."""
    answers = [record.score for record in records if record.score is not None]
    figures = all_right(records, lambda record: figure_of(figure_key(record)))
    questions = all_right(records, lambda record: question_of(figure_key(record)))
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
    """Name of the figure."""
    return "/".join((key.kind, key.set, key.figure))


def question_of(key: FigureKey) -> str:
    """Name of the question, which is asked about every figure of the set."""
    return "/".join((key.kind, key.set, key.question))
