"""Where a run that stops early is expected to stop, told beforehand (`stats.stopping`)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import pvariance

from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.anytime.sample_order import MIN_UNITS, SampleUnit
from snellen.stats.confidence_sequences import NO_DIFFERENCE, Bet, bets_for_samples, bets_for_width
from snellen.stats.stopping_time import expected_draws

FORECAST_DIFFERENCES = (20, 10, 5)
"""Differences of two models, in points, for which the end of `A>B` is told."""


def expected_stop(units: Sequence[SampleUnit], rule: PrecisionRule, score: float) -> int | None:
    """How many units the rule is expected to take where the mean score is `score` (0..1); None
    where it is expected to take all there are. Samples count as independent."""
    width = rule.points / 100
    variance = score * (1 - score)
    return _expected_draws(
        units, width, score, variance, bets_for_width(width), total_units=len(units)
    )


def expected_comparison_stop(
    units: Sequence[SampleUnit], points: float, score: float
) -> int | None:
    """How many samples of each model `A>B` is expected to take where the two are so many points
    apart around `score`, and right independently of each other; None where there are too few."""
    high, low = min(1.0, score + points / 200), max(0.0, score - points / 200)
    difference = high - low
    # Half the difference plus one half lies in 0..1.
    discordance = high * (1 - low) + low * (1 - high)
    # Around no difference, which is what the contest predicts.
    variance = discordance / 4
    mixture = bets_for_samples(len(units))
    # The difference is that over such questions without end (`engine.contest`).
    draws = _expected_draws(
        units, difference / 2, NO_DIFFERENCE, variance, mixture, total_units=math.inf
    )
    if draws is None or draws > len(units):
        return None
    return _count_samples(units[:draws])


def comparison_forecast(units: Sequence[SampleUnit], rule: ComparisonRule, score: float) -> str:
    """A sentence: when the contest is expected to end, for some differences."""
    stops = {
        points: expected_comparison_stop(units, points, score) for points in FORECAST_DIFFERENCES
    }
    reached = [(points, end) for points, end in stops.items() if end is not None]
    unreached = [f"{points}" for points, end in stops.items() if end is None]
    total, rule_text = _count_samples(units), f"--until {rule.first}>{rule.second}"
    if not reached:
        return (
            f"{rule_text}: not expected to be decided by {total:,} samples if the two are "
            f"{FORECAST_DIFFERENCES[0]} points apart or less; all are counted"
        )
    (points, end), *others = reached
    sentence = (
        f"decided after about {end:,} of {total:,} samples if the two are {points} points apart"
    )
    sentence += "".join(f", {end:,} if {points}" for points, end in others)
    if unreached:
        sentence += f"; not even by all if {' or '.join(unreached)}"
    return f"{rule_text}: {sentence}; all are counted"


def _count_samples(units: Sequence[SampleUnit]) -> int:
    return sum(len(unit.samples) for unit in units)


def _expected_draws(
    units: Sequence[SampleUnit],
    half_width: float,
    mean: float,
    variance: float,
    mixture: Sequence[Bet],
    *,
    total_units: float,
) -> int | None:
    """Of units, where a sample has this mean and this variance. A draw is the sum over a unit, by
    weight, as a share of the largest unit; of a finite `total` its size is drawn with it
    (`stats.finite_sequences`)."""
    largest = max(sum(unit.sample_weights()) for unit in units)
    size = sum(sum(unit.sample_weights()) for unit in units) / len(units) / largest
    squares = sum(weight**2 for unit in units for weight in unit.sample_weights()) / len(units)
    size_variance = 0.0 if math.isinf(total_units) else mean**2 * _size_variance(units) / largest**2
    draws = expected_draws(
        half_width * size,
        min(0.25, variance * squares / largest**2 + size_variance),
        mixture,
        total_units,
    )
    return draws if draws is None else max(draws, MIN_UNITS)


def _size_variance(units: Sequence[SampleUnit]) -> float:
    """The variance of the units' sizes, by weight, within their strata."""
    sizes: dict[str, list[float]] = defaultdict(list)
    for unit in units:
        sizes[unit.stratum].append(sum(unit.sample_weights()))
    return sum(len(one) * pvariance(one) for one in sizes.values()) / len(units)
