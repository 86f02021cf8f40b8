from __future__ import annotations

import pytest

from snellen.scoring.ranks import average_ranks, competition_ranks, kendall_tau


def test_equal_values_share_the_smaller_rank() -> None:
    values = {"a": 3.0, "b": 5.0, "c": 3.0, "d": 1.0, "e": None}
    assert competition_ranks(values) == {"b": 1, "a": 2, "c": 2, "d": 4}


def test_average_ranks_need_a_value_in_every_task() -> None:
    table = {"one": {"a": 1.0, "b": 2.0, "c": 0.0}, "two": {"a": 2.0, "b": 1.0, "c": None}}
    assert average_ranks(table) == {"a": 1.5, "b": 1.5}
    assert average_ranks({}) == {}


@pytest.mark.parametrize(
    ("second", "tau"),
    [((1, 2, 3), 1.0), ((3, 2, 1), -1.0), ((1, 1, 2), 2 / 3), ((1, 1, 1), 0.0)],
)
def test_tau_counts_ties_as_nothing(second: tuple[float, ...], tau: float) -> None:
    first = {"a": 1.0, "b": 2.0, "c": 3.0}
    assert kendall_tau(first, dict(zip("abc", second, strict=True))) == pytest.approx(tau)


def test_tau_agrees_with_scipy_without_ties() -> None:
    from scipy import stats

    first = {str(at): float((at * 7919) % 101) for at in range(20)}
    second = {str(at): float((at * 104729) % 97) for at in range(20)}
    expected = stats.kendalltau(list(first.values()), list(second.values())).statistic
    assert kendall_tau(first, second) == pytest.approx(expected)


def test_tau_of_one_is_none() -> None:
    assert kendall_tau({"a": 1.0}, {"a": 2.0}) is None
