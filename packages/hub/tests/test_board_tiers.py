"""Models that cannot be told apart: by paired tests, by intervals."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from board_rows import add_board, number, publish, sqlite_hub, summary

from snellen_hub.boards.pages import read_tables
from snellen_hub.boards.suite_members import MemberColumn, NewSuite, create_suite
from snellen_hub.boards.tables import BoardCell
from snellen_hub.boards.tiers import column_tiers, interval_p_value
from snellen_hub.hub import Hub
from snellen_hub.jobs.contributions import RowScores

N = 400


@pytest.fixture
def hub(tmp_path: Path) -> Iterator[Hub]:
    opened = sqlite_hub(tmp_path)
    yield opened
    opened.close()


def cell(value: float, half_width: float) -> BoardCell:
    return BoardCell(value, value - half_width, value + half_width)


@pytest.mark.parametrize(
    ("difference", "half_width", "p"),
    [
        (0.0, 3.0, 1.0),
        # Two intervals of half width 1.96: the difference has a standard error of sqrt(2).
        (1.959964 * math.sqrt(2), 1.959964, 0.05),
        (2.575829 * math.sqrt(2), 1.959964, 0.01),
        (5.0, 0.0, 0.0),
    ],
)
def test_p_of_two_intervals(difference: float, half_width: float, p: float) -> None:
    first, second = cell(50.0 + difference, half_width), cell(50.0, half_width)
    assert interval_p_value(first, second) == pytest.approx(p, abs=1e-6)
    assert interval_p_value(second, first) == pytest.approx(p, abs=1e-6)


def test_tier_contains_models_inseparable_from_its_best() -> None:
    cells = [cell(80.0, 2.0), cell(79.0, 2.0), cell(70.0, 2.0), cell(60.0, 30.0), cell(50.0, 2.0)]
    found = column_tiers(cells, {})
    # The uncertain fourth cannot be told apart from the first, although the third can.
    assert dict(found.tiers) == {0: 1, 1: 1, 3: 1, 2: 2, 4: 3}
    assert "10 pairs by their intervals" in found.notice


def test_more_models_need_larger_differences() -> None:
    pair = [cell(55.0, 3.0), cell(50.0, 3.0)]
    assert set(column_tiers(pair, {}).tiers.values()) == {1, 2}
    many = [*pair, *(cell(50.0 - index / 10, 3.0) for index in range(20))]
    assert column_tiers(many, {}).tiers[1] == 1


def scores(right: int, shift: int = 0) -> tuple[float, ...]:
    return tuple(float((index + shift) % N < right) for index in range(N))


def store(hub: Hub, values: tuple[float, ...], **more: tuple[float, ...]) -> str:
    ids = tuple(map(str, range(N)))
    return hub.storage.put(msgspec.json.encode(RowScores(ids, values, **more)))


def tiers(hub: Hub, values: dict[str, tuple[float, ...]], *, is_hidden: bool) -> dict[str, int]:
    with hub.database.writing() as session:
        board = add_board(session, f"b{int(is_hidden)}", is_hidden=is_hidden)
        for model, own in values.items():
            share = 100 * sum(own) / N
            head = number("accuracy", share, N, half_width=4.6)
            publish(session, board, model, summary(head), kind="submitted", records=store(hub, own))
        page = read_tables(session, hub, board)
    table = page.tables[0]
    assert "paired tests" in " ".join(table.notices)
    return {row.model: row.tier or 0 for row in table.rows}


def test_paired_scores_separate_models_with_overlapping_intervals(hub: Hub) -> None:
    """12 samples of 400 more are right, and none fewer: p of McNemar's test is 0.0005, while the
    intervals overlap almost wholly."""
    values = {"better": scores(252), "worse": scores(240)}
    assert tiers(hub, values, is_hidden=False) == {"better": 1, "worse": 2}
    assert tiers(hub, values, is_hidden=True) == {"better": 1, "worse": 2}


def test_disagreeing_models_stay_in_one_tier(hub: Hub) -> None:
    values = {"one": scores(252), "other": scores(240, shift=150)}
    assert tiers(hub, values, is_hidden=False) == {"one": 1, "other": 1}


def test_reported_numbers_are_compared_by_their_interval(hub: Hub) -> None:
    with hub.database.writing() as session:
        board = add_board(session, "mixed")
        for model, value, half_width in (("a", 80.0, 1.0), ("b", 60.0, 1.0), ("c", 70.0, None)):
            publish(session, board, model, summary(number("accuracy", value, N, half_width=half_width)))
        publish(session, board, "d", summary(number("accuracy", 90.0, N, half_width=1.0)), other_protocol="five shots")
        table = read_tables(session, hub, board).tables[0]
    found = {row.model: (row.rank, row.tier) for row in table.rows}
    assert found == {"d": (None, None), "a": (1, 1), "c": (2, None), "b": (3, 2)}
    assert "another protocol: five shots" in table.rows[0].cells["score"].mark
    assert any("2 of 4 models belong to no tier" in note for note in table.notices)


def test_influences_compare_a_headline_that_is_not_a_mean(hub: Hub) -> None:
    """A headline of 0..2800 whose samples move it as accuracy would, times 28."""
    with hub.database.writing() as session:
        board = add_board(session, "sums")
        for model, right in (("better", 252), ("worse", 240)):
            own = scores(right)
            mean = sum(own) / N
            moves = tuple(2800 * (score - mean) / N for score in own)
            head = number("total", 2800 * mean, N, half_width=130.0, unit="points", top=2800.0)
            publish(session, board, model, summary(head), kind="submitted", records=store(hub, own, influences=moves))
        table = read_tables(session, hub, board).tables[0]
    assert [row.tier for row in table.rows] == [1, 2]


def test_a_lost_file_leaves_the_interval(hub: Hub) -> None:
    with hub.database.writing() as session:
        board = add_board(session, "lost")
        for model, value in (("a", 63.0), ("b", 60.0)):
            head = number("accuracy", value, N, half_width=4.6)
            publish(session, board, model, summary(head), kind="submitted", records="0" * 64)
        table = read_tables(session, hub, board).tables[0]
    assert [row.tier for row in table.rows] == [1, 1]
    assert "1 pairs by their intervals" in table.notices[0]


def test_averages_of_a_suite_are_paired_benchmark_by_benchmark(hub: Hub) -> None:
    with hub.database.writing() as session:
        for name in ("one", "two"):
            board = add_board(session, name)
            for model, right in (("better", 252), ("worse", 240)):
                own = scores(right)
                head = number("accuracy", 100 * sum(own) / N, N, half_width=4.6)
                publish(session, board, model, summary(head), kind="submitted", records=store(hub, own))
        members = (MemberColumn("one"), MemberColumn("two", weight=3.0))
        suite = create_suite(session, NewSuite(name="both", members=members))
        table = read_tables(session, hub, suite).tables[0]
    assert [(row.model, row.tier) for row in table.rows] == [("better", 1), ("worse", 2)]
    assert "paired tests" in table.notices[0]


def test_samples_of_an_earlier_version_of_snellen_are_read() -> None:
    old = json.dumps([["0", "1"], [1.0, 0.0]]).encode()
    assert msgspec.json.decode(old, type=RowScores) == RowScores(("0", "1"), (1.0, 0.0))
