"""What samples took: requests, tokens and seconds, by the role of the model that was asked."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import NamedTuple

from snellen.core.output import Failure, Output, Price, Usage, cost
from snellen.core.request import Request

PACE_WAVES = 5
"""Ends of samples, per request in flight, after which their pace is known: one wave of them is left
out, the others tell how much the pace varies."""
_PACE_ERROR = 0.08
"""Relative standard error with which the pace is known well enough."""
_MIN_TIMED = 6
"""Fewest samples from which seconds are taken."""


@dataclass(slots=True)
class RoleCost:
    """What the requests of one sample to one role took."""

    requests: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    """Sum over the requests; 0 if the model does not say."""

    def add(self, output: Output) -> None:
        """Add the output of a request."""
        self.requests += 1
        if isinstance(output, Failure):
            return
        if output.usage is not None:
            self.usage += output.usage
        self.seconds += output.seconds or 0.0

    @property
    def tokens(self) -> int:
        return self.usage.prompt_tokens + self.usage.completion_tokens

    def cost(self, price: Price) -> float:
        """In the currency of the price."""
        return cost(self.usage, price)


class SampleCost(NamedTuple):
    """What one sample took; without roles if it sent no request."""

    size: float
    """About how long its prompt is (`probe_samples.sample_size`)."""
    roles: Mapping[str, RoleCost]

    def of(self, role: str) -> RoleCost:
        return self.roles.get(role, RoleCost())


class Pace(NamedTuple):
    """How fast samples ended that sent requests, once as many were in flight as there can be."""

    seconds_per_sample: float
    """Mean time between two ends."""
    ends: int
    """Ends that were measured."""
    batches: tuple[float, ...] = ()
    """The same mean in stretches of equally many ends, one after the other."""


@dataclass(slots=True)
class CostLedger:
    """What the samples of a probe took while they were asked, and how fast samples ended."""

    warm_up: int
    """Samples that are begun, and that end, before time is measured: until then fewer requests are
    in flight, and servers load what they need."""
    most_ends: int = 0
    """Ends of samples after which the pace is known well enough, however much it varies."""
    earlier: Sequence[SampleCost] = ()
    """What samples took that an earlier start of the run asked."""
    sizes: dict[str, float] = field(default_factory=dict)
    """The sizes of the samples of the probe, by id, in the order in which they were begun."""
    is_begun: bool = False
    """Whether all samples of the probe were begun."""
    costs: dict[str, dict[str, RoleCost]] = field(default_factory=dict)
    """By sample and role, of all samples that sent a request."""
    ended: set[str] = field(default_factory=set)
    """Samples of the probe that have ended."""
    _started_at: float = field(default_factory=time.monotonic)
    _ends: list[float] = field(default_factory=list)
    """When samples ended for which requests were sent, in seconds since the start."""
    _seconds: float = 0.0
    _squares: float = 0.0
    """Sums over the samples that ended: of their seconds, and of their squares."""
    _other_ends: int = 0
    """Samples that have ended without being part of the probe."""

    def add_output(self, request: Request, output: Output) -> None:
        """Add the output of a request that was sent."""
        roles = self.costs.setdefault(request.ref.sample, {})
        roles.setdefault(request.to, RoleCost()).add(output)

    def add_end(self, sample: str, at: float | None = None) -> None:
        """Note that a sample has ended, now or `at` (`time.monotonic`)."""
        if sample in self.costs:
            self._ends.append((time.monotonic() if at is None else at) - self._started_at)
            seconds = sum(cost.seconds for cost in self.costs[sample].values())
            self._seconds += seconds
            self._squares += seconds**2
        if sample in self.sizes:
            self.ended.add(sample)
        else:
            self._other_ends += 1

    @property
    def is_complete(self) -> bool:
        """Whether all samples of the probe have ended, and so many samples that their pace is
        known."""
        if not self.is_begun or len(self.ended) < len(self.sizes):
            return False
        if len(self.ended) + self._other_ends >= self.most_ends:
            return True
        return len(self._ends) >= PACE_WAVES * self.warm_up and self._error() <= _PACE_ERROR

    def _error(self) -> float:
        """Standard error of the mean seconds of a sample, relative to it."""
        if not self._seconds:
            return 0.0
        count = len(self._ends)
        return math.sqrt(max(0.0, self._squares / self._seconds**2 - 1 / count))

    def sample_costs(self) -> list[SampleCost]:
        """What the ended samples of the probe, and of earlier starts, took; nothing, if the store
        had their replies."""
        return [*self.earlier, *self._probe_costs(0)]

    def timed_costs(self) -> list[SampleCost] | None:
        """What the samples took whose seconds are those of the others: those of the probe but the
        first, which were begun when the server was idle. None: all of `sample_costs`, because the
        probe has too few."""
        costs = self._probe_costs(self.warm_up)
        return costs if sum(bool(each.roles) for each in costs) >= _MIN_TIMED else None

    def _probe_costs(self, skipped: int) -> list[SampleCost]:
        return [
            SampleCost(size, self.costs.get(sample, {}))
            for sample, size in list(self.sizes.items())[skipped:]
            if sample in self.ended
        ]

    def pace(self, until: float | None = None) -> Pace | None:
        """The pace once the server was busy, up to the time `until` (`time.monotonic`), when the
        last sample was begun; None if too few ended in between."""
        last = float("inf") if until is None else until - self._started_at
        ends = [end for end in self._ends if end <= last]
        measured = len(ends) - self.warm_up
        if self.warm_up < 1 or measured < max(4, self.warm_up // 2):
            return None
        marks = ends[self.warm_up - 1 :: self.warm_up]
        return Pace(
            (ends[-1] - ends[self.warm_up - 1]) / measured,
            measured,
            tuple((end - begin) / self.warm_up for begin, end in pairwise(marks)),
        )
