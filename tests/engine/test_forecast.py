"""The end of `A>B`, told beforehand, against simulations of the rule."""

from __future__ import annotations

import random
import statistics

import pytest

from snellen.core.sample import Sample
from snellen.engine.anytime.early_stop import ComparisonRule, PrecisionRule
from snellen.engine.anytime.forecast import (
    comparison_forecast,
    expected_comparison_stop,
    expected_stop,
    precision_forecast,
    precision_stop_range,
)
from snellen.engine.anytime.sample_order import AnytimeMean, stratified_order
from snellen.stats.confidence_sequences import bets_for_samples, bets_for_width

SAMPLES = [Sample(id=str(at), kind="open", question="?") for at in range(5000)]
UNITS = stratified_order(SAMPLES, 0)


def simulated(score: float, apart: float, seed: int) -> int:
    """Samples after which two models, right independently of each other, are told apart."""
    lots = random.Random(seed)
    strata = AnytimeMean(UNITS, bets_for_samples(len(UNITS)))
    for samples, unit in enumerate(UNITS, start=1):
        first, second = (lots.random() < score + sign * apart / 2 for sign in (1, -1))
        strata.add(unit, [(first - second + 1) / 2])
        interval = strata.interval()
        if samples >= 10 and not interval.low <= 0.5 <= interval.high:
            return samples
    return len(UNITS)


@pytest.mark.parametrize(("score", "points"), [(0.5, 20), (0.5, 10), (0.7, 10)])
def test_the_end_of_a_contest_is_near_the_median_of_contests(score: float, points: int) -> None:
    told = expected_comparison_stop(UNITS, points, score)
    seen = statistics.median(simulated(score, points / 100, seed) for seed in range(11))
    assert told == pytest.approx(seen, rel=0.25)


def test_the_end_of_a_run_lies_in_the_range_that_its_first_scores_give() -> None:
    units, rule = stratified_order(SAMPLES[:800], 0), PrecisionRule(6)
    held, ends = 0, []
    for seed in range(20):
        lots = random.Random(seed)
        right = [float(lots.random() < 0.8) for _ in units]
        mean = AnytimeMean(units, bets_for_width(rule.points / 100), finite=True)
        for unit, score in zip(units, right, strict=True):
            mean.add(unit, [score])
            interval = mean.interval()
            if mean.units >= 10 and interval.high - interval.low <= 2 * rule.points / 100:
                break
        stops = precision_stop_range(units, rule, right[:24])
        assert stops.low <= stops.expected <= stops.high
        held += stops.low <= mean.units <= stops.high
        ends.append(mean.units)
        text = precision_forecast(units, rule, stops, statistics.fmean(right[:24]))
        assert text.startswith(f"--until ±6: about {stops.expected} ({stops.low} to {stops.high}) ")
    assert held >= 17, ends
    few = precision_stop_range(stratified_order(SAMPLES[:40], 0), PrecisionRule(0.1), [1.0, 0.0])
    assert few == (40, 40, 40)
    halves = precision_stop_range(units, rule, [0.4, 0.6] * 12)
    assert halves.expected < precision_stop_range(units, rule, [0.0, 1.0] * 12).expected / 2


def test_forecast_reports_undecidable_comparison() -> None:
    few = stratified_order(SAMPLES[:100], 0)
    assert expected_comparison_stop(few, 5, 0.5) is None
    assert "not expected to be decided by 100 samples" in comparison_forecast(few, ComparisonRule("a", "b"), 0.5)
    told = comparison_forecast(stratified_order(SAMPLES[:800], 0), ComparisonRule("a", "b"), 0.5)
    assert "if the two are 20 points apart" in told
    assert "not even by all if 5; all are counted" in told


def test_samples_that_belong_together_are_asked_together() -> None:
    pairs = [Sample(id=str(at), kind="open", question="?", unit=str(at // 2)) for at in range(5000)]
    whole = expected_stop(UNITS, PrecisionRule(5), 0.6)
    halves = expected_stop(stratified_order(pairs, 0), PrecisionRule(5), 0.6)
    assert whole is not None
    assert halves is not None
    assert 2 * halves == pytest.approx(whole, rel=0.1)
    assert expected_stop(stratified_order(SAMPLES[:40], 0), PrecisionRule(0.1), 0.6) is None
