"""How long samples that are not asked yet take, with an interval, from samples that were measured
and from the pace at which samples ended.

Two numbers speak for the time: the seconds that requests take, divided by how many are in flight,
and the observed pace. The first is more certain, because it knows how long each prompt is; the
second also knows of what keeps requests from being sent: rate limits, a busy machine, judges that
are slower than the model. The second is taken where the two clearly differ.

Once no sample is left to begin, fewer and fewer requests are in flight, until the longest has
ended. How long that takes follows from what remains of a request that one looks at in between:
its distribution is that of the excess life of a renewal process (D. R. Cox, "Renewal Theory", 1962,
chapter 5).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from statistics import fmean, pstdev, stdev

from snellen.engine.forecast.sample_costs import Pace, SampleCost
from snellen.engine.forecast.weighting import LEVEL, Projected, SampleWeights
from snellen.stats.student_t import two_sided_quantile

_SPREAD = 0.2
"""Smallest half-width of the interval relative to its middle: servers and networks are not as fast
in every minute."""
_NEAR = 0.15
"""Up to which relative difference the seconds of requests are taken rather than the pace."""
_MIN_BATCHES = 3
"""Fewest batches of ends from which the variance of the pace is taken."""
_CHANCE = 2.6
"""How much more a variance of four numbers may be than expected, by chance (95 %)."""
_SMALLEST_ERROR = 0.03
"""Of a pace whose batches took all the same, relative to it."""
_WIDE = 3.0
"""Standard errors in half of an interval: more than 2, because they are estimated from few numbers,
of which single ones are large."""
_STEPS = 256
"""Steps of the integral over the end of a run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How many requests are in flight at once."""

    accounts: Mapping[str, str]
    """Roles with the account whose limit they share."""
    concurrency: Mapping[str, int]
    """Most requests in flight, by account."""


def project_time(weights: SampleWeights, capacity: Capacity, pace: Pace | None = None) -> Projected | None:
    """Seconds until all pending samples have ended; None if neither the seconds of requests nor
    the pace is known."""
    if not weights.total:
        return Projected(0.0, 0.0, 0.0)
    account = max(capacity.concurrency, key=lambda each: _work(weights, capacity, each).expected, default=None)
    promised = Projected(0.0, 0.0, 0.0) if account is None else _work(weights, capacity, account)
    observed = 0.0
    if pace is not None:
        observed = pace.seconds_per_sample * weights.project(_was_sent).expected
    if not promised.expected and not observed:
        return None
    seconds = [sum(cost.seconds for cost in each.roles.values()) for each in weights.samples]
    noise = _PaceNoise.of(pace, seconds)
    gap = abs(math.log(observed / promised.expected)) if observed and promised.expected else 0.0
    takes_pace = not promised.expected or gap > max(_NEAR, 2 * noise.error)
    if takes_pace:
        middle, own = observed, noise.half_width
    elif not observed:
        middle, own = promised.expected, 1 - promised.low / promised.expected
    else:
        # Each has its own error: the mean of both by their variances.
        half = 1 - promised.low / promised.expected
        both = (half / 2) ** 2, noise.error**2 + _SMALLEST_ERROR**2
        share = both[1] / sum(both)
        middle = share * promised.expected + (1 - share) * observed
        wide = _WIDE * math.sqrt(both[1])
        # They come from nearly the same samples, so that the mean is hardly more certain.
        own = math.hypot(share * half + (1 - share) * wide, noise.excess)
    spread = min(1.0, math.hypot(own, _SPREAD))
    low, high = (1 - spread) * middle, (1 + spread) * middle
    flows = min(weights.total, capacity.concurrency[account]) if account is not None else 1
    end = _end_of_run(seconds, weights.weights, flows)
    return Projected(
        max(0.0, middle + end),
        max(0.0, low + min(0.0, end)),
        # The last sample may begin when all others have ended.
        high + max(end, max(seconds, default=0.0)),
    )


def _work(weights: SampleWeights, capacity: Capacity, account: str) -> Projected:
    """Seconds that an account takes at its full concurrency."""
    total = weights.project(partial(_account_seconds, capacity, account))
    flows = capacity.concurrency[account]
    return Projected(total.expected / flows, total.low / flows, total.high / flows)


def _account_seconds(capacity: Capacity, account: str, sample: SampleCost) -> float:
    return sum(cost.seconds for role, cost in sample.roles.items() if capacity.accounts.get(role) == account)


def _was_sent(sample: SampleCost) -> float:
    return float(bool(sample.roles))


@dataclass(frozen=True, slots=True, kw_only=True)
class _PaceNoise:
    """How uncertain a pace is, relative to it."""

    error: float = 0.0
    """Standard error."""
    half_width: float = 0.0
    """Half-width of the 95 % interval of the pace in a stretch as long as the measured one."""
    excess: float = 0.0
    """The same, of what the lengths of single requests do not explain: a server or machine that is
    busier at times."""

    @classmethod
    def of(cls, pace: Pace | None, seconds: Sequence[float]) -> _PaceNoise:
        if pace is None or not pace.seconds_per_sample:
            return cls()
        mean = fmean(seconds) if seconds else 0.0
        of_samples = pstdev(seconds) / mean if mean else 0.0
        count = len(pace.batches)
        if count < _MIN_BATCHES:
            error = of_samples / math.sqrt(pace.ends)
            return cls(error=error, half_width=2 * math.sqrt(2) * error)
        of_batches = stdev(pace.batches) / fmean(pace.batches)
        unexplained = max(0.0, of_batches**2 - _CHANCE * of_samples**2 * count / pace.ends)
        # Twice the variance of a mean: that of the measured stretch and of another one.
        scale = two_sided_quantile(LEVEL, count - 1) * math.sqrt(2 / count)
        return cls(
            error=of_batches / math.sqrt(count), half_width=scale * of_batches, excess=scale * math.sqrt(unexplained)
        )


def _end_of_run(seconds: Sequence[float], weights: Sequence[float], flows: int) -> float:
    """What the end of a run adds to the work divided by the number of flows: the expected longest
    rest of `flows` requests in flight, less the mean length of a request, because those in flight
    now are counted in full."""
    total = math.fsum(weight * each for weight, each in zip(weights, seconds, strict=True))
    count = math.fsum(weights)
    longest = max(seconds, default=0.0)
    if not total or not count:
        return 0.0
    step = longest / _STEPS
    longest_first = sorted(zip(seconds, weights, strict=True), reverse=True)
    # Of the samples that take longer than a rest: how many there are, and all their seconds.
    many = work = expected = 0.0
    position = 0
    for index in reversed(range(_STEPS)):
        rest = (index + 0.5) * step
        while position < len(longest_first) and longest_first[position][0] > rest:
            each, weight = longest_first[position]
            many, work, position = many + weight, work + weight * each, position + 1
        share = min(1.0, max(0.0, (work - rest * many) / total))
        expected += step * (1 - (1 - share) ** flows)
    return expected - total / count
