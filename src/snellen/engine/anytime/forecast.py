"""Where a run that stops early is expected to stop, told beforehand (`stats.stopping`)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import pvariance

from snellen.engine.anytime.early_stop import Duel, Precision
from snellen.engine.anytime.sample_order import FEWEST, Unit
from snellen.stats.confidence_sequences import EVEN, Bet, bets_for_samples, bets_for_width
from snellen.stats.stopping_time import draws_until

APART = (20, 10, 5)
"""Differences of two models, in points, for which the end of `A>B` is told."""


def stop_of(units: Sequence[Unit], rule: Precision, score: float) -> int | None:
    """How many units the rule is expected to take where the mean score is `score` (0..1); None
    where it is expected to take all there are. Samples count as independent."""
    width = rule.points / 100
    variance = score * (1 - score)
    return _draws(units, width, score, variance, bets_for_width(width), whole=len(units))


def contest_end(units: Sequence[Unit], points: float, score: float) -> int | None:
    """How many samples of each model `A>B` is expected to take where the two are so many points
    apart around `score`, and right independently of each other; None where there are too few."""
    high, low = min(1.0, score + points / 200), max(0.0, score - points / 200)
    apart = high - low
    # Half the difference plus one half lies in 0..1.
    differ = high * (1 - low) + low * (1 - high)
    # Around no difference, which is what the contest predicts.
    square = differ / 4
    mixture = bets_for_samples(len(units))
    # The difference is that over such questions without end (`engine.contest`).
    draws = _draws(units, apart / 2, EVEN, square, mixture, whole=math.inf)
    if draws is None or draws > len(units):
        return None
    return _count(units[:draws])


def contest_told(units: Sequence[Unit], rule: Duel, score: float) -> str:
    """A sentence: when the contest is expected to end, for some differences."""
    ends = {points: contest_end(units, points, score) for points in APART}
    reached = [(points, end) for points, end in ends.items() if end is not None]
    never = [f"{points}" for points, end in ends.items() if end is None]
    whole, rule_told = _count(units), f"--until {rule.first}>{rule.second}"
    if not reached:
        return (
            f"{rule_told}: not expected to be decided by {whole:,} samples if the two are "
            f"{APART[0]} points apart or less; all are counted"
        )
    (points, end), *others = reached
    told = f"decided after about {end:,} of {whole:,} samples if the two are {points} points apart"
    told += "".join(f", {end:,} if {points}" for points, end in others)
    if never:
        told += f"; not even by all if {' or '.join(never)}"
    return f"{rule_told}: {told}; all are counted"


def _count(units: Sequence[Unit]) -> int:
    return sum(len(unit.samples) for unit in units)


def _draws(
    units: Sequence[Unit],
    half_width: float,
    mean: float,
    variance: float,
    mixture: Sequence[Bet],
    *,
    whole: float,
) -> int | None:
    """Of units, where a sample has this mean and this variance. A draw is the sum over a unit, by
    weight, as a share of the largest unit; of a finite `whole` its size is drawn with it
    (`stats.finite_sequences`)."""
    largest = max(sum(unit.weighed()) for unit in units)
    size = sum(sum(unit.weighed()) for unit in units) / len(units) / largest
    squares = sum(weight**2 for unit in units for weight in unit.weighed()) / len(units)
    spread = 0.0 if math.isinf(whole) else mean**2 * _spread_of_sizes(units) / largest**2
    found = draws_until(
        half_width * size,
        min(0.25, variance * squares / largest**2 + spread),
        mixture,
        whole,
    )
    return found if found is None else max(found, FEWEST)


def _spread_of_sizes(units: Sequence[Unit]) -> float:
    """The variance of the units' sizes, by weight, within their strata."""
    sizes: dict[str, list[float]] = defaultdict(list)
    for unit in units:
        sizes[unit.stratum].append(sum(unit.weighed()))
    return sum(len(one) * pvariance(one) for one in sizes.values()) / len(units)
