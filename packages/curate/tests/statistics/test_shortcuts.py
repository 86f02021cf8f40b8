"""Shortcut and position tests: by hand, against scipy, false alarms and power."""

from __future__ import annotations

import random
from collections.abc import Iterable

import numpy as np
import pytest
from scipy import stats

from snellen.stats.intervals import score_interval, share_interval, wilson
from snellen.stats.paired import holm
from snellen_curate.statistics.positions import PositionBalance, balance_of_counts
from snellen_curate.statistics.shortcuts import (
    ChoiceQuestion,
    adjust_tests,
    measure_picks,
    measure_shortcuts,
    pick_tables,
)

WORDS = [
    "red",
    "green",
    "dark",
    "blue",
    "yellow",
    "orange",
    "violet",
    "large",
    "small",
    "round",
    "square",
    "three",
    "seven",
]


def made_questions(seed: int, n: int, *, longest: float = 0.0) -> list[ChoiceQuestion]:
    """Options of random words; the right one is the longest in a share of questions, else any."""
    draw = random.Random(seed)
    questions = []
    for _ in range(n):
        options = [" ".join(draw.sample(WORDS, draw.randint(1, 4))) for _ in range(4)]
        right = draw.randrange(4)
        if draw.random() < longest:
            right = max(range(4), key=lambda index: len(options[index]))
        questions.append(ChoiceQuestion(f"What is {draw.choice(WORDS)}?", options, right))
    return questions


def test_shortcut_test_by_hand() -> None:
    """Three questions: right is the longest; one of two longest, and right; all equally long."""
    questions = [
        ChoiceQuestion("", ["aaa", "b"], 0),
        ChoiceQuestion("", ["aa", "bb", "c"], 1),
        ChoiceQuestion("", ["a", "b", "c", "d"], 0),
    ]
    (test,) = measure_shortcuts(questions, ["longest"])
    assert (test.n, test.right, test.share) == (2, 2, 1.0)
    assert test.expected == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert test.p == test.p_adjusted == pytest.approx(2 * (1 / 2) * (2 / 3))
    assert test.score == pytest.approx((1 + 1 / 2 + 1 / 4) / 3)
    assert test.chance == pytest.approx((1 / 2 + 1 / 3 + 1 / 4) / 3)
    assert test.interval == wilson(2, 2)


def test_questions_with_one_option_are_ignored() -> None:
    assert measure_shortcuts([ChoiceQuestion("", ["a"], 0)]) == []
    assert measure_shortcuts([]) == []
    with pytest.raises(KeyError):
        measure_shortcuts([], ["no such rule"])


def test_equal_probabilities_are_a_binomial_test() -> None:
    questions = [ChoiceQuestion("", ["aa", "b", "c", "d"], int(index > 40)) for index in range(100)]
    (test,) = measure_shortcuts(questions, ["longest"])
    law = stats.binom(100, 0.25)
    assert test.p == pytest.approx(2 * min(law.sf(40), law.cdf(41)))


def test_clusters_widen_the_interval_and_leave_p() -> None:
    alone = [ChoiceQuestion("", ["aa", "b"], index % 2) for index in range(40)]
    paired = [question._replace(cluster=index // 4 * 2 + index % 2) for index, question in enumerate(alone)]
    (one,), (other,) = (measure_shortcuts(each, ["longest"]) for each in (alone, paired))
    assert one.p == other.p
    assert one.interval is not None
    assert other.interval is not None
    assert other.interval.high - other.interval.low > one.interval.high - one.interval.low


def test_holm_over_rules() -> None:
    tables = pick_tables(made_questions(0, 60))
    single = [measure_picks(rule, table) for rule, table in tables.items()]
    adjusted = adjust_tests(single)
    kept = [test for test in single if test.n]
    assert 0 < len(kept) < len(tables)
    assert [test.p_adjusted for test in adjusted] == holm([test.p for test in kept])


def test_a_planted_length_shortcut_is_found() -> None:
    """Power: in one of five questions the longest option was made the right one."""
    found = 0
    for seed in range(40):
        tests = {test.rule: test for test in measure_shortcuts(made_questions(seed, 300, longest=0.2))}
        found += tests["longest"].is_alarm() and tests["longest"].excess > 0
    assert found >= 36


def test_false_alarms_stay_below_the_level() -> None:
    """Over 200 clean sets, all rules together raise a false alarm in at most 5 of 100: with 200
    sets, 19 or more would be seen with a probability of 0.01 if it were just 5 of 100."""
    alarms = sum(any(test.is_alarm() for test in measure_shortcuts(made_questions(seed, 120))) for seed in range(200))
    assert alarms < stats.binom.isf(0.01, 200, 0.05)


@pytest.mark.parametrize("seed", range(6))
def test_interval_of_arrays_is_that_of_lists(seed: int) -> None:
    random_numbers = np.random.default_rng(seed)
    n = 50 * (seed + 1)
    right = random_numbers.random(n) < 0.1 + 0.15 * seed
    clusters = random_numbers.integers(0, 20 if seed % 2 else 10_000, n).astype(np.uint64)
    ours = share_interval(right, clusters)
    theirs = score_interval([float(hit) for hit in right], [f"c{one}" for one in clusters])
    assert ours is not None
    assert theirs is not None
    assert (ours.low, ours.high) == pytest.approx((theirs.low, theirs.high), rel=1e-9)
    assert ours.method == theirs.method
    one = np.zeros(n, dtype=np.uint64)
    theirs = score_interval([float(hit) for hit in right], ["c"] * n)
    assert share_interval(right, one) == theirs
    assert share_interval(right[:0]) is None


def test_positions_by_hand() -> None:
    balance = balance_of_counts({4: (10, 2, 0, 0), 2: (0, 3)})
    assert balance.counts == {2: (0, 3), 4: (10, 2, 0, 0)}
    assert balance.n == 15
    assert balance.by_place == (10, 5, 0, 0)
    assert balance.chance_by_place == (4.5, 4.5, 3.0, 3.0)
    assert balance.freedom == 4


def test_positions_against_scipy() -> None:
    balance = balance_of_counts({4: (300, 240, 260, 250)})
    expected = stats.chisquare((300, 240, 260, 250))
    assert (balance.statistic, balance.p) == pytest.approx((expected.statistic, expected.pvalue))
    small = balance_of_counts({2: (9, 1)})
    assert small.p == pytest.approx(stats.binomtest(9, 10).pvalue)
    assert balance_of_counts({}).p == 1.0
    assert balance_of_counts({1: (7,)}).p == 1.0


def balance_of(right: Iterable[tuple[int, int]]) -> PositionBalance:
    """Of places, each with its number of options."""
    counts: dict[int, list[int]] = {}
    for place, options in right:
        counts.setdefault(options, [0] * options)[place] += 1
    return balance_of_counts(counts)


def test_false_alarms_of_positions() -> None:
    alarms = 0
    for seed in range(200):
        draw = random.Random(seed)
        sizes = [draw.choice((2, 4, 5)) for _ in range(60)]
        alarms += balance_of((draw.randrange(size), size) for size in sizes).is_alarm()
    assert alarms < stats.binom.isf(0.01, 200, 0.05)


def test_an_unbalanced_key_is_found() -> None:
    found = 0
    for seed in range(40):
        draw = random.Random(seed)
        right = [0 if draw.random() < 0.2 else draw.randrange(4) for _ in range(200)]
        found += balance_of((index, 4) for index in right).is_alarm()
    assert found >= 30
