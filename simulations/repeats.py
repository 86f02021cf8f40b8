"""Questions that are asked several times: pass@k, majority, both intervals, components."""

from __future__ import annotations

from collections.abc import Callable
from math import comb

import numpy as np
from numpy import float64
from numpy.typing import NDArray

from simulations.study import Case, Share, Study
from snellen.stats.draws import (
    best_of,
    draw_variance,
    draws_half_width,
    expected_error,
    majority_of,
    variance_components,
)
from snellen.stats.intervals import score_interval, standard_error

Chances = Callable[[np.random.Generator, int], NDArray[float64]]
"""(random, questions) -> each question's chance of being answered rightly."""


def _sure(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return (random.random(questions) < 0.6).astype(float)


def _seldom_else(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return np.where(random.random(questions) < 0.6, 0.98, 0.02)


def _extreme(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return random.beta(0.5, 0.5, questions)


def _any(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return random.random(questions)


def _coin(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return np.full(questions, 0.5)


def _high(random: np.random.Generator, questions: int) -> NDArray[float64]:
    return random.beta(9.0, 0.6, questions)


_MEANS: dict[Chances, float] = {_sure: 0.6, _seldom_else: 0.596, _extreme: 0.5, _any: 0.5, _coin: 0.5, _high: 0.9375}


def _drawn(random: np.random.Generator, chances: NDArray[float64], draws: int) -> list[list[float]]:
    right = random.random((len(chances), draws)) < chances[:, None]
    found: list[list[float]] = right.astype(float).tolist()
    return found


def pass_error(chance: float, draws: int, k: int) -> Share:
    """pass@k of one question less its true value, the mean over repeats."""

    def mean(random: np.random.Generator, repeats: int) -> float:
        truth = 1 - (1 - chance) ** k
        rows = _drawn(random, np.full(repeats, chance), draws)
        return float(np.mean([best_of(row, k) for row in rows])) - truth

    return mean


def majority_error(chances: tuple[float, ...], draws: int, k: int) -> Share:
    """Majority@k of one question less its true value, the mean over repeats: the first of several
    answers, which are given with these chances, is right; the last is no answer."""

    def mean(random: np.random.Generator, repeats: int) -> float:
        truth = _true_majority(chances, k)
        names = [*range(len(chances) - 1), None]
        worth = {name: float(name == 0) for name in range(len(chances) - 1)}
        lots = random.choice(len(chances), (repeats, draws), p=chances)
        found = [majority_of([names[lot] for lot in row], worth, k) for row in lots]
        return float(np.mean(found)) - truth

    return mean


def _true_majority(chances: tuple[float, ...], k: int) -> float:
    """By going through all counts of the answers."""

    def parts(left: int, kinds: int) -> list[tuple[int, ...]]:
        if kinds == 1:
            return [(left,)]
        return [(first, *rest) for first in range(left + 1) for rest in parts(left - first, kinds - 1)]

    truth = 0.0
    for counts in parts(k, len(chances)):
        votes, left, weight = counts[:-1], k, 1.0
        for count, chance in zip(counts, chances, strict=True):
            weight *= comb(left, count) * chance**count
            left -= count
        if max(votes) and votes[0] == max(votes):
            truth += weight / votes.count(votes[0])
    return truth


def these_held(chances: Chances, questions: int, draws: int) -> Share:
    """The interval for these questions holds their own mean chance, while they stay the same."""

    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            own = chances(random, questions)
            scores = _drawn(random, own, draws)
            half = draws_half_width(scores)
            assert half is not None
            held += abs(float(np.mean(scores)) - float(own.mean())) <= half
        return held / repeats

    return share


def alike_held(chances: Chances, questions: int, draws: int) -> Share:
    """The interval for questions like these holds the mean chance of all such questions."""
    names = [f"question {number}" for number in range(questions) for _ in range(draws)]

    def share(random: np.random.Generator, repeats: int) -> float:
        held = 0
        for _ in range(repeats):
            scores = np.ravel(_drawn(random, chances(random, questions), draws)).tolist()
            found = score_interval(scores, names)
            assert found is not None
            held += found.low <= _MEANS[chances] <= found.high
        return held / repeats

    return share


def component_ratio(chances: Chances, questions: int, draws: int, part: str) -> Share:
    """An estimated component of variance over the true one, the mean over repeats."""

    def mean(random: np.random.Generator, repeats: int) -> float:
        many = chances(random, 200_000)
        truth = {"questions": many.var(), "draws": (many * (1 - many)).mean()}[part]
        found = [variance_components(_drawn(random, chances(random, questions), draws)) for _ in range(repeats)]
        return float(np.mean([getattr(one, part) for one in found])) / float(truth)

    return mean


def error_ratio(chances: Chances, questions: int, held: int, wanted: int) -> Share:
    """The standard error told for another number of draws over the one that such runs have, the
    root of the mean square over repeats."""

    def mean(random: np.random.Generator, repeats: int) -> float:
        many = chances(random, 200_000)
        variance = many.var() + (many * (1 - many)).mean() / wanted
        squares = []
        for _ in range(repeats):
            scores = _drawn(random, chances(random, questions), held)
            error = standard_error([sum(one) / held for one in scores])
            drawn = draw_variance(scores)
            assert error is not None
            assert drawn is not None
            squares.append(expected_error(error**2, drawn, held, wanted) ** 2)
        return float(np.sqrt(np.mean(squares) / (variance / questions)))

    return mean


_NAMES: dict[Chances, str] = {
    _sure: "each question always right or always wrong",
    _seldom_else: "each question nearly so (2 %)",
    _extreme: "chances beta(1/2, 1/2)",
    _any: "chances of any size",
    _coin: "every question a coin",
    _high: "chances near 1",
}
_CHEN = "M. Chen et al., Evaluating Large Language Models Trained on Code (2021), Sec. 2.1"

STUDIES = (
    Study(
        key="repeats-pass",
        title="pass@k over several draws",
        event="the estimate less the truth, on average",
        procedure="The share of all subsets of k draws that hold a right one; draws of a question "
        "are independent of each other.",
        source=_CHEN,
        cases=tuple(
            Case(f"chance {chance:g}, k = {k} of {draws}", pass_error(chance, draws, k), -4e-3, 4e-3)
            for chance, draws, k in ((0.1, 4, 2), (0.3, 8, 4), (0.05, 16, 8), (0.5, 8, 8))
        ),
        repeats=40_000,
        quick=4_000,
    ),
    Study(
        key="repeats-majority",
        title="Majority over several draws",
        event="the estimate less the truth, on average",
        procedure="The expected score of the commonest answer over all subsets of k draws, ties "
        "broken at random; draws of a question are independent of each other.",
        source="X. Wang et al., Self-Consistency (2023), Sec. 2",
        cases=tuple(
            Case(f"{label}, k = {k} of {draws}", majority_error(chances, draws, k), -8e-3, 8e-3)
            for label, chances, draws, k in (
                ("two answers", (0.6, 0.4, 0.0), 5, 3),
                ("three and none", (0.4, 0.3, 0.2, 0.1), 8, 4),
                ("five, the right one second", (0.25, 0.35, 0.2, 0.1, 0.1), 8, 8),
            )
        ),
        repeats=20_000,
        quick=2_000,
    ),
    Study(
        key="repeats-these",
        title="Interval for these questions",
        event="the 95 % interval holds the mean over these very questions",
        procedure="The variance of the draws within each question; z^2 / 2 draws are added, as in "
        "the score interval of a Poisson count. Draws are independent of each other.",
        source="variance of a stratified mean: W. G. Cochran, Sampling Techniques (1977), Ch. 5",
        cases=tuple(
            Case(f"{_NAMES[chances]}, {questions} of {draws}", these_held(chances, questions, draws), 0.94, 1.0)
            for questions, draws in ((10, 2), (100, 4), (300, 8))
            for chances in _NAMES
        ),
        quick=30,
    ),
    Study(
        key="repeats-alike",
        title="Interval for questions like these",
        event="the 95 % interval holds the mean over all such questions",
        procedure="The interval of a mean of clusters, where the draws of a question are one; "
        "questions are independent of each other.",
        source="as for a plain mean",
        cases=tuple(
            Case(f"{_NAMES[chances]}, {questions} of {draws}", alike_held(chances, questions, draws), 0.94, 1.0)
            for questions, draws in ((20, 2), (100, 4))
            for chances in _NAMES
        ),
        repeats=8000,
        quick=60,
    ),
    Study(
        key="repeats-components",
        title="Components of variance",
        event="the estimate over the truth, on average",
        procedure="One-way random effects by the method of moments, cut off at 0.",
        source="S. R. Searle et al., Variance Components (1992), Sec. 3.6",
        cases=tuple(
            Case(
                f"{part}, {_NAMES[chances]}, {questions} of {draws}",
                component_ratio(chances, questions, draws, part),
                0.97,
                1.03,
            )
            for part in ("questions", "draws")
            for chances in (_extreme, _any)
            for questions, draws in ((50, 2), (100, 8))
        ),
        quick=50,
    ),
    Study(
        key="repeats-errors",
        title="Standard error with more draws",
        event="the standard error told over that of such runs",
        procedure="The variance over questions, of which the part of the draws is scaled.",
        source="W. G. Cochran, Sampling Techniques (1977), Sec. 10.2",
        cases=tuple(
            Case(f"{_NAMES[chances]}, {wanted} from {held} draws", error_ratio(chances, 100, held, wanted), 0.97, 1.03)
            for chances in (_extreme, _any)
            for held, wanted in ((2, 1), (4, 1), (2, 16), (4, 4))
        ),
        quick=50,
    ),
)
