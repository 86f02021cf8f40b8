"""Stop rules: end a run once its score is known to ±1, or once A is known to beat B.

Samples are asked in a random order, unit by unit, with the strata in proportion. Their scores are
used in that very order, not in the order in which they end: a fast wrong answer must not count
before a slow right one. After each unit a confidence sequence (`stats.confidence_sequences`) is
updated; its interval is valid however often one looks at it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from msgspec import structs

from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import ANYTIME, Interval, Metric, Summary
from snellen.engine.anytime.sample_order import (
    MIN_UNITS,
    AnytimeMean,
    OrderedScores,
    SampleUnit,
    ScoreWeights,
    headline_weights,
    stratified_order,
)
from snellen.stats.confidence_sequences import bets_for_width


class StopMonitor(Protocol):
    """Decides the order in which samples are asked, and when a run may stop."""

    @property
    def reason(self) -> str:
        """Why no more samples are needed: a clause; empty until then."""

    @property
    def waits_for(self) -> str:
        """What the run waits for if it paused for another run; else empty."""

    def units(self) -> Sequence[SampleUnit]:
        """All units, in the order in which they are asked."""

    def order(self, pending: set[str]) -> Iterator[Sample]:
        """Yield the pending samples until the rule is met; a unit is always completed."""

    def add_record(self, record: Record) -> None:
        """Add a finished sample, of this start or an earlier one."""

    def annotate(self, summary: Summary) -> Summary:
        """Add the rule's result to the summary."""


class StopRule(Protocol):
    """A stop rule as the user states it, before the samples are known."""

    @property
    def text(self) -> str:
        """The rule as it is recorded with the run."""

    def start_monitor(self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark) -> StopMonitor:
        """Apply the rule to the samples of a run."""


class ComparisonRule(NamedTuple):
    """`A>B`: two models by name, or `A` and `B` for the first and the second of the command."""

    first: str
    second: str


def parse_stop_rule(text: str) -> PrecisionRule | ComparisonRule:
    """Parse `±1` (also `+-1`), a half-width in points, or `A>B`. Raises UsageError."""
    width = re.fullmatch(r"(?:±|\+-|\+/-)\s*(\d+(?:\.\d+)?)", text.strip())
    if width and 0 < float(width[1]) < 50:
        return PrecisionRule(float(width[1]))
    first, sign, second = (part.strip() for part in text.partition(">"))
    if sign and first and second and first != second:
        return ComparisonRule(first, second)
    raise UsageError(
        f"--until {text!r}: expected a half-width in points such as ±1 (or +-1), or two models such as 'A>B'"
    )


def units_in_order(
    rule: PrecisionRule | ComparisonRule, benchmark: Benchmark, samples: Sequence[Sample], seed: int
) -> list[SampleUnit]:
    """The units in the order in which a run with this rule asks them."""
    if isinstance(rule, ComparisonRule):
        return stratified_order(samples, seed)
    return _precision_units(samples, seed, headline_weights(benchmark, samples))


def _precision_units(samples: Sequence[Sample], seed: int, weights: ScoreWeights) -> list[SampleUnit]:
    # The target is the score of this finite set of samples. For a random order of a finite set
    # it does not matter which samples share an image; smaller units give a tighter interval.
    return stratified_order(samples, seed, by_media=False, weights=weights.by_sample)


@dataclass(frozen=True, slots=True)
class PrecisionRule:
    """`±1`: stop once the half-width of the score's anytime interval is at most `points`.

    The score is the headline if that is a mean of the samples' scores, plain or weighted; else
    their plain mean.
    """

    points: float

    @property
    def text(self) -> str:
        return f"±{self.points:g}"

    def start_monitor(self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark) -> StopMonitor:
        return _PrecisionMonitor(self, samples, seed, failures, headline_weights(benchmark, samples))


class _PrecisionMonitor:
    """The stop monitor of `PrecisionRule`."""

    waits_for = ""

    def __init__(
        self, rule: PrecisionRule, samples: Sequence[Sample], seed: int, failures: str, weights: ScoreWeights
    ) -> None:
        self._rule = rule
        self._total = len(samples)
        self._headline = weights.headline
        self._units = _precision_units(samples, seed, weights)
        self._scores = OrderedScores(self._units, failures)
        self._anytime_mean = AnytimeMean(self._units, bets_for_width(rule.points / 100), finite=True)
        self.reason = ""

    def units(self) -> Sequence[SampleUnit]:
        return self._units

    def order(self, pending: set[str]) -> Iterator[Sample]:
        for unit in self._units:
            if self.reason:
                return
            yield from (sample for sample in unit.samples if sample.id in pending)

    def add_record(self, record: Record) -> None:
        self._scores.add_record(record)
        for index in self._scores.pop_complete():
            samples_before = self._anytime_mean.samples
            self._anytime_mean.add(self._units[index], self._scores.scores(index))
            has_score = self._anytime_mean.samples > samples_before
            may_decide = has_score and self._anytime_mean.units >= MIN_UNITS and not self._anytime_mean.is_exhausted
            if may_decide and not self.reason:
                self._decide()

    def annotate(self, summary: Summary) -> Summary:
        """Add the anytime interval to a summary, and a notice that says why or that the run did not
        stop."""
        mean = self._anytime_mean.mean
        if mean is None:
            return summary
        interval = self._anytime_mean.interval().scale()
        metric = Metric(ANYTIME, 100 * mean, self._anytime_mean.samples, interval)
        if self.reason:
            notice = f"--until {self._rule.text}: {self.reason}"
            in_flight = summary.total - self._anytime_mean.samples
            if in_flight > 0:
                notice += f"; {in_flight:,} more were in flight and are in the score"
        elif self._anytime_mean.is_exhausted:
            notice = f"--until {self._rule.text} was not reached before all {self._total:,} were asked"
        else:
            notice = (
                f"--until {self._rule.text} was not reached: after "
                f"{self._anytime_mean.samples:,} samples, {anytime_text(interval)}"
            )
        notices = (*summary.notices, notice, *self._other_headline_notice(summary, mean))
        return structs.replace(summary, metrics={**summary.metrics, ANYTIME: metric}, notices=notices)

    def _other_headline_notice(self, summary: Summary, mean: float) -> Iterator[str]:
        weighted = self._headline == "weighted mean"
        # If a sample has no score, the others of its group weigh more in the headline.
        if self._headline == "plain mean" or (weighted and self._anytime_mean.all_scored):
            return
        kind = "weighted mean" if weighted else "mean"
        yield from other_headline_notice(summary, f"the {kind} of the samples' scores ({100 * mean:.1f})")

    def _decide(self) -> None:
        interval = self._anytime_mean.interval().scale()
        if (interval.high - interval.low) / 2 <= self._rule.points:
            self.reason = (
                f"enough after {self._anytime_mean.samples:,} of {self._total:,} samples, {anytime_text(interval)}"
            )


def anytime_text(interval: Interval) -> str:
    """Format an interval in points."""
    bounds = f"{interval.low:.1f} to {interval.high:.1f}".replace("-", "–")
    return f"{100 * interval.level:g} % anytime interval {bounds}"


def other_headline_notice(summary: Summary, basis: str) -> Iterator[str]:
    """A notice that the rule used `basis`, because the headline is no mean of sample scores."""
    name = summary.headline.name
    yield f"the rule looked at {basis}, not at the headline {name}, which is no such mean"
