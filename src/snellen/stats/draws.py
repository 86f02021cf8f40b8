"""Statistics of several draws of each question: pass@k, majority votes, agreement, and the variance
between questions and between the draws of one question.

pass@k: M. Chen et al., "Evaluating Large Language Models Trained on Code" (2021), Sec. 2.1. Votes:
X. Wang et al., "Self-Consistency Improves Chain of Thought Reasoning in Language Models" (2023).
Components of variance: S. R. Searle, G. Casella and C. E. McCulloch, "Variance Components" (1992),
Sec. 3.6 (one-way random effects, method of moments, unbalanced data).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist, fmean
from typing import NamedTuple, TypeVar

from snellen.stats.intervals import DEFAULT_LEVEL

A = TypeVar("A", bound=Hashable)

Scores = Sequence[Sequence[float]]
"""For each question the scores of its draws, in 0..1."""


def best_of(scores: Sequence[float], k: int) -> float:
    """Expected best score of k draws of a question, over all subsets of size k.

    For scores of 0 and 1 this is pass@k, 1 - C(n - c, k) / C(n, k) with c of n right. Raises
    ValueError for k outside 1..n.
    """
    _check_size(k, len(scores))
    subsets = math.comb(len(scores), k)
    # The i-th smallest is the best of the subsets whose other members are among those before it.
    return sum(score * (math.comb(before, k - 1) / subsets) for before, score in enumerate(sorted(scores)))


def majority_of(answers: Sequence[A | None], worth: Mapping[A, float], k: int) -> float:
    """Expected score of the most common answer among k draws of a question, over all subsets.

    `worth` is the score of each answer. Answers that are equally common share. None, a reply
    without an answer, has no vote; the score is 0 if there are no votes. Raises ValueError for k
    outside 1..n.
    """
    _check_size(k, len(answers))
    counts = Counter(answer for answer in answers if answer is not None)
    if not counts:
        return 0.0
    ranked = counts.most_common()
    wins = _wins(tuple(count for _, count in ranked), len(answers) - counts.total(), k)
    return math.fsum(worth[name] * wins[count] for name, count in ranked)


@lru_cache(maxsize=4096)
def _wins(counts: tuple[int, ...], silent: int, k: int) -> Mapping[int, float]:
    """The probability that an answer wins the vote of k draws, by how often it occurs in all draws.

    `counts` are the occurrences of all answers, `silent` the draws without an answer. Ties are
    broken at random.
    """
    subsets = math.comb(sum(counts) + silent, k)
    wins = {}
    for count in set(counts):
        others = list(counts)
        others.remove(count)
        ways = 0.0
        for votes in range(1, min(count, k) + 1):
            for ties, sizes in enumerate(_count_ways(others, silent, votes, k - votes)):
                ways += math.comb(count, votes) * sizes[k - votes] / (ties + 1)
        wins[count] = ways / subsets
    return wins


def _count_ways(others: Sequence[int], silent: int, votes: int, size: int) -> list[list[int]]:
    """Count the ways to choose draws of other answers of which none gets more than `votes` votes.

    Returns a table [answers with exactly `votes`][draws chosen, 0..size], filled in answer by
    answer (dynamic programming).
    """
    table = [[math.comb(silent, chosen) for chosen in range(size + 1)]]
    for count in others:
        ties = min(len(table), size // votes) + 1
        extended = [[0] * (size + 1) for _ in range(ties)]
        for tied, sizes in enumerate(table):
            for chosen, ways in enumerate(sizes):
                if not ways:
                    continue
                for more in range(min(count, votes, size - chosen) + 1):
                    extended[tied + (more == votes)][chosen + more] += ways * math.comb(count, more)
        table = extended
    return table


def agreement_of(answers: Sequence[Hashable | None]) -> float | None:
    """The fraction of pairs of draws with the same answer: an unbiased estimate of the probability
    that two draws agree. A reply without an answer (None) agrees with nothing. Returns None for
    fewer than two draws."""
    pairs = math.comb(len(answers), 2)
    if not pairs:
        return None
    counts = Counter(answer for answer in answers if answer is not None)
    return sum(math.comb(count, 2) for count in counts.values()) / pairs


class VarianceComponents(NamedTuple):
    """Variances of one draw's score: between questions, and between the draws of a question."""

    questions: float
    draws: float


def variance_components(scores: Scores) -> VarianceComponents | None:
    """Variances between and within questions: one-way random effects by the method of moments.

    A negative variance is cut off at 0, so that it is biased upwards a little near 0. None for
    fewer than two questions, and if no question has two draws.
    """
    groups = [draws for draws in scores if draws]
    total = sum(map(len, groups))
    if len(groups) < 2 or total == len(groups):
        return None
    means = [fmean(draws) for draws in groups]
    grand = math.fsum(map(math.fsum, groups)) / total
    between = math.fsum(len(draws) * (mean - grand) ** 2 for draws, mean in zip(groups, means, strict=True)) / (
        len(groups) - 1
    )
    within = math.fsum((score - mean) ** 2 for draws, mean in zip(groups, means, strict=True) for score in draws) / (
        total - len(groups)
    )
    # The effective number of draws per question, for questions with different numbers of draws.
    size = (total - sum(len(draws) ** 2 for draws in groups) / total) / (len(groups) - 1)
    return VarianceComponents(max(0.0, (between - within) / size), within)


def draw_variance(scores: Scores) -> float | None:
    """Variance of the mean over questions of the mean over draws, for these very questions.

    A question with a single draw is assumed to vary as the others do. None if no question has two.
    """
    groups = [draws for draws in scores if draws]
    variances = [(_variance(draws), len(draws)) for draws in groups if len(draws) > 1]
    if not variances:
        return None
    of_single = fmean(variance for variance, _ in variances) * (len(groups) - len(variances))
    of_others = math.fsum(variance / size for variance, size in variances)
    return (of_others + of_single) / len(groups) ** 2


def draws_half_width(scores: Scores, level: float = DEFAULT_LEVEL) -> float | None:
    """Half the width of the interval of the mean over these very questions, if only draws vary.

    The normal quantile z times the standard error would be too small if draws seldom differ: an
    estimate of 0 only shows that few draws would come out otherwise. Therefore the interval extends
    as far as the score interval of a Poisson count of draws, z sqrt(n + z^2 / 4) + z^2 / 2, each
    draw weighted by its part of the mean. None if no question has two draws.
    """
    variance = draw_variance(scores)
    if variance is None:
        return None
    groups = [draws for draws in scores if draws]
    step = 1 / (len(groups) * min(map(len, groups)))
    z = NormalDist().inv_cdf(0.5 + level / 2)
    return z * math.sqrt(variance + (z * step / 2) ** 2) + z * z / 2 * step


def expected_error(total: float, draws: float, current_draws: float, target_draws: float) -> float:
    """The standard error of the mean if each question were asked `target_draws` times instead of
    `current_draws` times. `total` is the variance of the mean over questions like these, `draws`
    the part of it that comes from the draws."""
    return math.sqrt(max(0.0, total - draws) + draws * current_draws / target_draws)


def _variance(scores: Sequence[float]) -> float:
    """Unbiased variance. (`statistics.variance` uses fractions and takes 30 times as long.)"""
    mean = sum(scores) / len(scores)
    return sum((score - mean) ** 2 for score in scores) / (len(scores) - 1)


def _check_size(k: int, n: int) -> None:
    if not 1 <= k <= n:
        raise ValueError(f"k must lie in 1..{n}, the number of draws; got {k}")
