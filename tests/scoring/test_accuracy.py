from __future__ import annotations

import pytest

from snellen.core.record import Record
from snellen.core.summary import Summary
from snellen.scoring.accuracy import summarise


def record(number: int, score: float | None, **more) -> Record:
    outcome = more.pop("outcome", "answered")
    unscored = more.pop("unscored", None)
    options = {"A": "x", "B": "y", "C": "z", "D": "w"}
    more.setdefault("gold", ("A",))
    return Record(str(number), "choice", "q", outcome, score, unscored, options=options, **more)


def summed(*records: Record, **policy) -> Summary:
    return summarise(records, **policy)


def test_accuracy_with_interval_and_outcomes() -> None:
    summary = summed(*(record(i, float(i < 6)) for i in range(10)))
    assert summary.headline.value == 60.0
    assert summary.headline.interval is not None
    assert summary.headline.interval.method == "wilson"
    assert (summary.n, summary.total, summary.bounds) == (10, 10, None)
    assert summary.outcomes["answered"] == 10


def test_unread_replies_are_wrong_but_failed_ones_are_left_out() -> None:
    summary = summed(
        record(1, 1.0),
        record(2, 0.0, outcome="unparsed"),
        record(3, None, outcome="failed", unscored="failed"),
        record(4, None, outcome="missing", unscored="missing"),
    )
    assert summary.headline.value == 50.0
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (25.0, 75.0)
    assert summary.notices == (
        "1 of 4 samples failed and is left out",
        "1 of 4 samples has no prediction and is left out",
    )


def test_no_gold_is_counted_apart() -> None:
    summary = summed(record(1, 1.0), record(2, None, unscored="no_gold", gold=()))
    assert (summary.headline.value, summary.no_gold, summary.bounds) == (100.0, 1, None)


def test_nothing_scored_gives_no_number() -> None:
    summary = summed(record(1, None, outcome="failed", unscored="failed"))
    assert (summary.headline.value, summary.headline.interval) == (None, None)


def test_groups_hold_their_own_n() -> None:
    records = [record(i, float(i % 2), groups={"category": "ab"[i % 2]}) for i in range(6)]
    cells = summed(*records).groups["category"]
    assert {label: (cell.value, cell.n) for label, cell in cells.items()} == {"a": (0.0, 3), "b": (100.0, 3)}


def test_circular_reports_vanilla_drop_and_its_own_chance() -> None:
    records = [record(i, float(i < 4), values={"vanilla": float(i < 7)}) for i in range(10)]
    metrics = summed(*records, headline="circular").metrics
    assert metrics["circular"].value == 40.0
    assert metrics["vanilla"].value == 70.0
    assert metrics["drop"].value == pytest.approx(30.0)
    assert metrics["chance"].value == pytest.approx(100 / 4**4)
    assert metrics["chance_same_text"].value == 25.0
    assert metrics["chance_same_letter"].value == 0.0


def test_a_failed_sample_without_gold_moves_neither_score_nor_bounds() -> None:
    records = [
        record(1, 1.0),
        record(2, None, outcome="failed", unscored="failed"),
        record(3, None, outcome="failed", unscored="failed", gold=()),
    ]
    assert summed(*records, failures="count-wrong").headline.value == 50.0
    bounds = summed(*records).bounds
    assert bounds is not None
    assert (bounds.worst, bounds.best) == (50.0, 100.0)


def test_reports_unrotated_samples_and_their_chance_of_one_pass() -> None:
    summary = summed(
        record(1, 1.0, values={"vanilla": 1.0}, asked_once=True),
        record(2, 0.0, values={"vanilla": 1.0}),
        headline="circular",
    )
    assert "1 of 2 samples could not be rotated" in summary.notices[0]
    assert summary.metrics["chance"].value == pytest.approx(100 * (1 / 4 + 1 / 4**4) / 2)


def test_withholding_leaves_no_number_that_failures_could_have_moved() -> None:
    records = [
        record(1, 1.0, values={"vanilla": 1.0}),
        record(2, None, values={"vanilla": 1.0}, outcome="failed", unscored="failed"),
    ]
    summary = summed(*records, headline="circular", failures="withhold")
    assert summary.headline.value is None
    assert set(summary.metrics) == {"circular", "chance", "chance_same_text", "chance_same_letter"}
    counted = summed(*records, headline="circular", failures="count-wrong")
    assert counted.metrics["drop"].n == 1
