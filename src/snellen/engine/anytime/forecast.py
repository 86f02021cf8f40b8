"""Forecasts of where a run with a stop rule will stop (`stats.confidence_sequences`)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from statistics import fmean, pvariance
from typing import NamedTuple

from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.anytime.sample_order import MIN_UNITS, SampleUnit
from snellen.stats.confidence_sequences import NO_DIFFERENCE, Bet, bets_for_samples, bets_for_width, expected_draws
from snellen.stats.intervals import wilson

FORECAST_DIFFERENCES = (20, 10, 5)
"""Differences of two models, in points, for which the end of `A>B` is forecast."""

_STOP_SPREAD = 0.1
"""How far the ends of simulated runs lie from the expected one, relative to it
(`tests/stats/test_stopping.py`)."""


class StopRange(NamedTuple):
    """How many units are asked until a rule is met: expected, and the ends of an interval."""

    expected: int
    low: int
    high: int


def precision_stop_range(units: Sequence[SampleUnit], rule: PrecisionRule, scores: Sequence[float]) -> StopRange:
    """Units until the rule is met, by the scores (0..1) of some samples; all units, if it is not
    expected to be met before.

    The interval is that of the variance, over Wilson's interval of the mean score (95 %), and
    wider by how far runs end from what is expected; partial scores vary less than right and wrong
    ones with the same mean.
    """
    mean = fmean(scores)
    interval = wilson(math.fsum(scores), len(scores))
    binary = mean * (1 - mean)
    ratio = min(1.0, pvariance(scores) / binary) if binary else 1.0
    ends = (interval.low, interval.high, min(max(0.5, interval.low), interval.high))
    variances = [ratio * end * (1 - end) for end in ends]

    def units_at(variance: float, margin: float = 0.0) -> int:
        stop = expected_stop(units, rule, mean, variance)
        return len(units) if stop is None else min(len(units), round((1 + margin) * stop))

    return StopRange(
        units_at(ratio * binary), units_at(min(variances), -_STOP_SPREAD), units_at(max(variances), _STOP_SPREAD)
    )


def precision_forecast(units: Sequence[SampleUnit], rule: PrecisionRule, stops: StopRange, score: float) -> str:
    """A sentence: after how many samples the rule is expected to be met."""
    total = _count_samples(units)
    expected, low, high = (_count_samples(units[:stop]) for stop in stops)
    condition = f"at a score of {100 * score:.0f}"
    if stops.expected == len(units):
        what = f"not expected to be reached with {total:,} samples {condition}"
        what += f", at the earliest after {low:,}" if low < total else ""
    else:
        span = "" if low == high else f" ({low:,} to {high:,})"
        what = f"about {expected:,}{span} of {total:,} samples {condition}"
    return f"--until {rule.text}: {what}"


def expected_stop(
    units: Sequence[SampleUnit], rule: PrecisionRule, score: float, variance: float | None = None
) -> int | None:
    """Expected number of units until the rule is met, if the mean score is `score` (0..1), with
    this `variance`; None: that of scores that are 0 or 1.

    None if it is not expected to be met before the last unit. Samples are taken as independent.
    """
    width = rule.points / 100
    variance = score * (1 - score) if variance is None else variance
    return _expected_draws(units, width, score, variance, bets_for_width(width), total_units=len(units))


def expected_comparison_stop(units: Sequence[SampleUnit], points: float, score: float) -> int | None:
    """Expected number of samples of each model until `A>B` is decided; None if there are too few.

    The two scores differ by `points`, symmetrically around `score` (0..1), and the models are
    right independently of each other.
    """
    high, low = min(1.0, score + points / 200), max(0.0, score - points / 200)
    difference = high - low
    # Probability that exactly one of the two is right: the second moment of the difference.
    discordance = high * (1 - low) + low * (1 - high)
    # The sequence takes (difference + 1) / 2, hence a quarter; and it bets around no difference,
    # so the moment is taken around that and not around the mean.
    variance = discordance / 4
    mixture = bets_for_samples(len(units))
    # The population is infinite (`ComparisonStop`), so the stop may lie beyond the last unit.
    draws = _expected_draws(units, difference / 2, NO_DIFFERENCE, variance, mixture, total_units=math.inf)
    if draws is None or draws > len(units):
        return None
    return _count_samples(units[:draws])


def comparison_forecast(units: Sequence[SampleUnit], rule: ComparisonRule, score: float) -> str:
    """A sentence: when the comparison is expected to be decided, for some differences."""
    stops = {points: expected_comparison_stop(units, points, score) for points in FORECAST_DIFFERENCES}
    reached = [(points, stop) for points, stop in stops.items() if stop is not None]
    unreached = [f"{points}" for points, stop in stops.items() if stop is None]
    total, rule_text = _count_samples(units), f"--until {rule.first}>{rule.second}"
    if not reached:
        return (
            f"{rule_text}: not expected to be decided by {total:,} samples if the two are "
            f"{FORECAST_DIFFERENCES[0]} points apart or less; all are counted"
        )
    (points, stop), *others = reached
    sentence = f"decided after about {stop:,} of {total:,} samples if the two are {points} points apart"
    sentence += "".join(f", {stop:,} if {points}" for points, stop in others)
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
    """Expected number of units until the interval's half-width is `half_width`; None if never.

    `mean` and `variance` are those of a sample's score. A draw is a unit's weighted sum as a
    fraction of the largest unit. For a finite number of `total_units` the sizes of units vary from
    draw to draw, which adds to the variance (`stats.finite_sequences`).
    """
    largest = max(sum(unit.sample_weights()) for unit in units)
    size = sum(sum(unit.sample_weights()) for unit in units) / len(units) / largest
    squares = sum(weight**2 for unit in units for weight in unit.sample_weights()) / len(units)
    size_variance = 0.0 if math.isinf(total_units) else mean**2 * _size_variance(units) / largest**2
    draws = expected_draws(
        half_width * size, min(0.25, variance * squares / largest**2 + size_variance), mixture, total_units
    )
    return draws if draws is None else max(draws, MIN_UNITS)


def _size_variance(units: Sequence[SampleUnit]) -> float:
    """Variance of the units' weights within their strata."""
    sizes: dict[str, list[float]] = defaultdict(list)
    for unit in units:
        sizes[unit.stratum].append(sum(unit.sample_weights()))
    return sum(len(stratum_sizes) * pvariance(stratum_sizes) for stratum_sizes in sizes.values()) / len(units)
