"""Scores as if replies had been limited to fewer tokens."""

from __future__ import annotations

import pytest

from snellen.analysis.findings.reply_budgets import DrawTokens, PassTokens, budget_curve, token_counts, usual_budgets
from snellen.core.output import Generated, Usage
from snellen.core.record import Pass, Record, merge_draws


def draw(score: float, *replies: int, prompt: int = 100, cluster: str = "") -> DrawTokens:
    return DrawTokens(tuple(PassTokens(prompt, reply) for reply in replies), score, cluster)


THREE = [draw(1.0, 10), draw(1.0, 100), draw(0.0, 1000)]


@pytest.mark.parametrize(
    ("budget", "cut", "score", "tokens"),
    [
        (9, 3, 0.0, 300 + 27),
        (10, 2, 100 / 3, 300 + 30),
        (99, 2, 100 / 3, 300 + 10 + 2 * 99),
        (100, 1, 200 / 3, 300 + 210),
        (1000, 0, 200 / 3, 300 + 1110),
    ],
)
def test_longer_replies_count_as_wrong_and_as_the_budget(budget: int, cut: int, score: float, tokens: int) -> None:
    (point,) = budget_curve(THREE, [budget], stops_early=False)
    assert (point.budget, point.cut, point.samples) == (budget, cut, 3)
    assert point.score == pytest.approx(score)
    assert point.tokens == pytest.approx(tokens / 3)
    assert point.right_per_million == pytest.approx(1e6 * score / 100 * 3 / tokens)
    assert point.score_interval is not None
    assert point.score_interval.low <= score <= point.score_interval.high


def test_passes_after_one_that_is_cut_are_not_asked_under_early_stop() -> None:
    rotations = [draw(1.0, 10, 200, 10), draw(1.0, 10, 10, 10)]
    (early,) = budget_curve(rotations, [50], stops_early=True)
    (full,) = budget_curve(rotations, [50], stops_early=False)
    assert early.score == full.score == 50
    assert full.tokens == pytest.approx((300 + 70 + 300 + 30) / 2)
    assert early.tokens == pytest.approx((200 + 60 + 300 + 30) / 2)


def test_rates_have_intervals_over_clusters() -> None:
    alone = [draw(float(i % 3 > 0), 10 + i) for i in range(60)]
    paired = [each._replace(cluster=str(i // 2)) for i, each in enumerate(alone)]
    widths = []
    for draws in (alone, paired):
        (point,) = budget_curve(draws, [1000], stops_early=False)
        assert point.right_interval is not None
        low, high = point.right_interval.low, point.right_interval.high
        assert low < point.right_per_million < high
        widths.append(high - low)
    assert widths[0] != widths[1]
    (none,) = budget_curve(alone, [1], stops_early=False)
    assert (none.score, none.right_per_million, none.right_interval) == (0.0, 0.0, None)


@pytest.mark.parametrize(
    ("replies", "limit", "budgets"),
    [
        ([10, 100, 1000], 4096, [8, 16, 32, 64, 128, 256, 512, 1024]),
        ([10, 100, 1000], 1000, [8, 16, 32, 64, 128, 256, 512, 1000]),
        ([3, 3, 3], 512, [2, 4]),
        ([0, 0], 16, [1]),
    ],
)
def test_usual_budgets_are_powers_of_two(replies: list[int], limit: int, budgets: list[int]) -> None:
    assert usual_budgets([draw(1.0, reply) for reply in replies], limit) == budgets


def record(number: int, *tokens: int | None, score: float = 1.0, stop: str = "stop") -> Record:
    passes = tuple(
        Pass((), Generated("A", stop, usage=None if each is None else Usage(50, each)))  # type: ignore[arg-type]
        for each in tokens
    )
    return Record(id=str(number), kind="choice", question="?", outcome="answered", score=score, passes=passes)


def test_draws_and_missing_counts() -> None:
    repeated = merge_draws([record(1, 10, score=1.0), record(1, 20, score=0.0)])
    counts = token_counts([repeated, record(2, None), record(3, 30, stop="length"), record(4, 5, 6)])
    assert [(each.score, each.passes) for each in counts.draws] == [
        (1.0, (PassTokens(50, 10),)),
        (0.0, (PassTokens(50, 20),)),
        (1.0, (PassTokens(50, 30),)),
        (1.0, (PassTokens(50, 5), PassTokens(50, 6))),
    ]
    assert (counts.uncounted, counts.cut, counts.repeated_passes) == (1, 1, 1)
    first, second = counts.draws[:2]
    assert first.cluster == second.cluster
