from __future__ import annotations

from snellen.scoring.ranks import average_ranks, competition_ranks


def test_equal_values_share_the_smaller_rank() -> None:
    values = {"a": 3.0, "b": 5.0, "c": 3.0, "d": 1.0, "e": None}
    assert competition_ranks(values) == {"b": 1, "a": 2, "c": 2, "d": 4}


def test_average_ranks_need_a_value_in_every_task() -> None:
    table = {"one": {"a": 1.0, "b": 2.0, "c": 0.0}, "two": {"a": 2.0, "b": 1.0, "c": None}}
    assert average_ranks(table) == {"a": 1.5, "b": 1.5}
    assert average_ranks({}) == {}
