"""Runs that stop as soon as they have told enough: `±1`, or `A>B`.

Samples are asked in a random order, stratum by stratum in proportion, unit by unit, and looked at
in that very order, whichever ends first: a quick wrong answer must not count for more. After each
unit a confidence sequence (`stats.confidence_sequences`) says what is known; it holds however often
one looks.
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
from snellen.core.summary import Interval, Metric, Summary
from snellen.engine.anytime.headline_weights import Weights, headline_weights
from snellen.engine.anytime.sample_order import FEWEST, InOrder, Strata, units_in_order
from snellen.stats.confidence_sequences import bets_for_width

ANYTIME = "anytime"
"""The metric with the interval that holds at every moment."""


class Stopper(Protocol):
    """Says in which order samples are asked, and when it is enough."""

    @property
    def reason(self) -> str:
        """Why no more samples are needed: a clause; empty until then."""

    @property
    def waiting(self) -> str:
        """What the run waits for where it ended for another's sake; else empty."""

    def order(self, owed: set[str]) -> Iterator[Sample]:
        """The samples that are owed, until it is enough; units are never broken off."""

    def finished(self, record: Record) -> None: ...

    def told(self, summary: Summary) -> Summary:
        """The summary with what the rule found."""


class Until(Protocol):
    """A rule, before it has seen the samples. `text` is recorded."""

    @property
    def text(self) -> str: ...

    def stopper(
        self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark
    ) -> Stopper: ...


class Duel(NamedTuple):
    """`A>B`: two models of the run by name, or A and B for the first and the second."""

    first: str
    second: str


def parse_until(text: str) -> Precision | Duel:
    """`±1` (also `+-1`): a half-width in points; or `A>B`. Raises UsageError."""
    width = re.fullmatch(r"(?:±|\+-|\+/-)\s*(\d+(?:\.\d+)?)", text.strip())
    if width and 0 < float(width[1]) < 50:
        return Precision(float(width[1]))
    first, sign, second = (part.strip() for part in text.partition(">"))
    if sign and first and second and first != second:
        return Duel(first, second)
    raise UsageError(
        f"--until {text!r}: expected a half-width in points such as ±1 (or +-1), or two models "
        "such as 'A>B'"
    )


@dataclass(frozen=True, slots=True)
class Precision:
    """`±1`: until the interval of the score reaches no further than so many points: of the headline
    where it is a mean of the samples' scores, plain or weighted; else of their plain mean."""

    points: float

    @property
    def text(self) -> str:
        return f"±{self.points:g}"

    def stopper(
        self, samples: Sequence[Sample], seed: int, failures: str, benchmark: Benchmark
    ) -> Stopper:
        return _Narrowing(self, samples, seed, failures, headline_weights(benchmark, samples))


class _Narrowing:
    """The stopper of `Precision`."""

    waiting = ""

    def __init__(
        self,
        rule: Precision,
        samples: Sequence[Sample],
        seed: int,
        failures: str,
        weights: Weights,
    ) -> None:
        self._rule = rule
        self._total = len(samples)
        # The score of the whole run is that of a finite set: which samples share a picture does not
        # matter to a random order of them, and smaller units tell more.
        self._headline = weights.headline
        self._units = units_in_order(samples, seed, by_media=False, weights=weights.of_samples)
        self._seen = InOrder(self._units, failures)
        self._strata = Strata(self._units, bets_for_width(rule.points / 100), finite=True)
        self.reason = ""

    def order(self, owed: set[str]) -> Iterator[Sample]:
        for unit in self._units:
            if self.reason:
                return
            yield from (sample for sample in unit.samples if sample.id in owed)

    def finished(self, record: Record) -> None:
        self._seen.note(record)
        for place in self._seen.ready():
            before = self._strata.samples
            self._strata.add(self._units[place], self._seen.scores(place))
            known = self._strata.samples > before
            told = known and self._strata.units >= FEWEST and not self._strata.exhausted
            if told and not self.reason:
                self._decide()

    def told(self, summary: Summary) -> Summary:
        mean = self._strata.mean
        if mean is None:
            return summary
        interval = _points(self._strata.interval())
        found = Metric(ANYTIME, 100 * mean, self._strata.samples, interval)
        if self.reason:
            note = f"--until {self._rule.text}: {self.reason}"
        elif self._strata.exhausted:
            note = (
                f"--until {self._rule.text} was not reached before all {self._total:,} were asked"
            )
        else:
            note = (
                f"--until {self._rule.text} was not reached: after "
                f"{self._strata.samples:,} samples, {anytime_words(interval)}"
            )
        notes = (*summary.notices, note, *self._no_mean(summary, mean))
        return structs.replace(summary, metrics={**summary.metrics, ANYTIME: found}, notices=notes)

    def _no_mean(self, summary: Summary, mean: float) -> Iterator[str]:
        weighted = self._headline == "weighted mean"
        # Where a sample has no score, the others of its group weigh more in the headline.
        if self._headline == "plain mean" or (weighted and self._strata.all_scored):
            return
        kind = "weighted mean" if weighted else "mean"
        yield from no_mean(summary, f"the {kind} of the samples' scores ({100 * mean:.1f})")

    def _decide(self) -> None:
        interval = _points(self._strata.interval())
        if (interval.high - interval.low) / 2 <= self._rule.points:
            self.reason = (
                f"enough after {self._strata.samples:,} of {self._total:,} samples, "
                f"{anytime_words(interval)}"
            )


def _points(interval: Interval) -> Interval:
    return structs.replace(interval, low=100 * interval.low, high=100 * interval.high)


def anytime_words(interval: Interval) -> str:
    """Of an interval in points."""
    ends = f"{interval.low:.1f} to {interval.high:.1f}".replace("-", "–")
    return f"{100 * interval.level:g} % anytime interval {ends}"


def no_mean(summary: Summary, looked: str) -> Iterator[str]:
    """Says at what the rule `looked` where the headline is another number."""
    name = summary.headline.name
    yield f"the rule looked at {looked}, not at the headline {name}, which is no such mean"
