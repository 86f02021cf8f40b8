"""HallusionBench's accuracies over answers, figures and questions, counted by hand."""

from __future__ import annotations

import pytest

from snellen.benchmarks.perception.hallusionbench import FigureKey, hallusion_scores
from snellen.core.record import Record

ANSWERS = {
    # set, figure, question: right
    ("a", "0", "0"): 1.0,
    ("a", "0", "1"): 1.0,
    ("a", "1", "0"): 1.0,
    ("a", "1", "1"): 0.0,
    ("b", "0", "0"): 0.0,
}
RECORDS = [Record("/".join(key), "yes_no", "?", "answered", right) for key, right in ANSWERS.items()]


def place(record: Record) -> FigureKey:
    return FigureKey("VS", *record.id.split("/"))


def test_the_three_accuracies() -> None:
    found = hallusion_scores(RECORDS, place)
    assert found is not None
    assert found.answers == pytest.approx(100 * 3 / 5)
    # Of three figures the first alone has both answers right.
    assert (found.figures, found.figure_count) == (pytest.approx(100 / 3), 3)
    # Of three questions the first of set a alone is right about both figures.
    assert (found.questions, found.question_count) == (pytest.approx(100 / 3), 3)
    assert found.mean == pytest.approx((60 + 200 / 3) / 3)


def test_no_scores_without_a_scored_answer() -> None:
    assert hallusion_scores([], place) is None
    assert hallusion_scores([Record("a/0/0", "yes_no", "?", "failed")], place) is None
