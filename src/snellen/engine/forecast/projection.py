"""Tokens, cost and time of samples that are not asked yet, with intervals, from those that are.

Each pending sample is expected to take what lies, on a line, between the two measured samples whose
prompts are next in size. So measured samples have weights, by which the very long prompts of a
probe count as often as there are such prompts. The interval is a prediction interval by Student's t
(95 %) for the sum over the pending samples: with the variance around the trend over size, from
neighbours (T. Gasser and others, Biometrika 73, 1986), and the effective number of measured samples
(L. Kish, "Survey Sampling", 1965).
"""

from __future__ import annotations

import math
import operator
from bisect import bisect_left
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from msgspec import Struct

from snellen.core.price import Price
from snellen.engine.forecast.probe_samples import MIN_PROBE
from snellen.engine.forecast.sample_costs import SampleCost
from snellen.stats.student_t import two_sided_quantile

LEVEL = 0.95
_SPREAD = 0.01
"""Smallest half-width of an interval of tokens, requests or cost, relative to its middle: samples
that took all the same are no proof that the others will."""
_TIME_SPREAD = 0.2
"""The same of a time: servers and networks are not as fast in every minute."""
_NEAR = 1.15
"""Up to which ratio what the concurrency promises is taken rather than the observed pace, which is
less certain."""


class Projected(Struct, frozen=True):
    """An expected number, and the ends of its interval."""

    expected: float
    low: float
    high: float


class RoleForecast(Struct, frozen=True, kw_only=True):
    """What pending samples will ask of one role."""

    requests: Projected
    prompt_tokens: Projected
    completion_tokens: Projected
    cost: Projected | None
    """None if no price is known."""


class Forecast(Struct, frozen=True, kw_only=True):
    """What pending samples will take."""

    samples: int
    """Pending samples."""
    measured: int
    """Samples that the numbers come from."""
    roles: dict[str, RoleForecast]
    tokens: Projected
    """Of prompts and replies, over all roles."""
    cost: Projected | None
    """Over all roles with a known price; None if none has, or they are in several currencies."""
    currency: str = ""
    """The currency of `cost`."""
    seconds: Projected | None
    """None if no model says how long a reply took."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Capacity:
    """How many requests are in flight at once."""

    accounts: Mapping[str, str]
    """Roles with the account whose limit they share."""
    concurrency: Mapping[str, int]
    """Most requests in flight, by account."""


def forecast(
    measured: Sequence[SampleCost],
    pending: Sequence[float],
    prices: Mapping[str, Price],
    capacity: Capacity,
    seconds_per_sample: float | None = None,
) -> Forecast | None:
    """What samples of these sizes will take; None if too few samples were measured.

    `seconds_per_sample` is the observed time between two ends of samples that sent requests, if it
    was measured: a server that is slower than its concurrency promises shows there.
    """
    if len(measured) < MIN_PROBE:
        return None
    weights = _Weights(measured, pending)
    roles = sorted({role for sample in measured for role in sample.roles})
    priced = [role for role in roles if role in prices]
    currencies = {prices[role].currency for role in priced}
    return Forecast(
        samples=len(pending),
        measured=len(measured),
        roles={role: _role_forecast(weights, role, prices.get(role)) for role in roles},
        tokens=weights.project(lambda each: sum(cost.tokens for cost in each.roles.values())),
        cost=weights.project(lambda each: sum(each.of(role).cost(prices[role]) for role in priced))
        if len(currencies) == 1
        else None,
        currency=currencies.pop() if len(currencies) == 1 else "",
        seconds=_seconds(weights, capacity, seconds_per_sample),
    )


def _role_forecast(weights: _Weights, role: str, price: Price | None) -> RoleForecast:
    return RoleForecast(
        requests=weights.project(lambda each: each.of(role).requests),
        prompt_tokens=weights.project(lambda each: each.of(role).prompt_tokens),
        completion_tokens=weights.project(lambda each: each.of(role).completion_tokens),
        cost=None if price is None else weights.project(lambda each: each.of(role).cost(price)),
    )


def _seconds(
    weights: _Weights, capacity: Capacity, seconds_per_sample: float | None
) -> Projected | None:
    """Wall time: of the account that takes longest at its full concurrency, or by the observed
    pace if that is clearly another: a server may be slower than its concurrency promises, and
    copies of a local model faster than one. None if neither is known."""
    totals = {
        account: weights.project(partial(_account_seconds, capacity, account))
        for account in capacity.concurrency
    }
    shares = [
        Projected(*(end / capacity.concurrency[account] for end in _ends(total)))
        for account, total in totals.items()
    ]
    promised = max(shares, key=lambda share: share.expected, default=Projected(0.0, 0.0, 0.0))
    observed = 0.0
    if seconds_per_sample is not None:
        observed = seconds_per_sample * weights.project(_was_sent).expected
    known = [seconds for seconds in (promised.expected, observed) if seconds]
    if not known:
        return None
    spread = _TIME_SPREAD
    if promised.expected:
        spread = max(spread, 1 - promised.low / promised.expected)
    longest = max(
        (sum(cost.seconds for cost in each.roles.values()) for each in weights.samples), default=0.0
    )
    return Projected(
        observed if observed and max(known) > _NEAR * min(known) else promised.expected or observed,
        (1 - spread) * min(known),
        # The last sample may begin when all others have ended.
        (1 + spread) * max(known) + longest,
    )


def _account_seconds(capacity: Capacity, account: str, sample: SampleCost) -> float:
    return sum(
        cost.seconds
        for role, cost in sample.roles.items()
        if capacity.accounts.get(role) == account
    )


def _was_sent(sample: SampleCost) -> float:
    return float(bool(sample.roles))


def _ends(projected: Projected) -> tuple[float, float, float]:
    return projected.expected, projected.low, projected.high


class _Weights:
    """Measured samples in order of their size, each with the number of pending samples that it
    stands for."""

    def __init__(self, measured: Sequence[SampleCost], pending: Sequence[float]) -> None:
        self.samples = sorted(measured, key=lambda each: each.size)
        self.total = len(pending)
        sizes = [each.size for each in self.samples]
        distinct = sorted(set(sizes))
        counts = dict.fromkeys(distinct, 0.0)
        for size in pending:
            for near, share in _neighbours(distinct, size):
                counts[near] += share
        self.weights = [counts[size] / sizes.count(size) for size in sizes]
        squares = sum(weight**2 for weight in self.weights)
        self.effective = sum(self.weights) ** 2 / squares if squares else float(len(sizes))

    def project(self, value: Callable[[SampleCost], float]) -> Projected:
        """The sum of a value over the pending samples; it is never negative."""
        if not self.total:
            return Projected(0.0, 0.0, 0.0)
        values = [value(each) for each in self.samples]
        expected = float(sum(map(operator.mul, self.weights, values)))
        variance = self._variance(values)
        error = math.sqrt(variance * (1 / self.effective + 1 / self.total)) * self.total
        half = two_sided_quantile(LEVEL, max(1.0, self.effective - 1)) * error
        half = max(half, _SPREAD * expected)
        return Projected(expected, max(0.0, expected - half), expected + half)

    def _variance(self, values: Sequence[float]) -> float:
        """Variance around the trend over size: of what each sample differs from the line between
        its two neighbours, by weight, so that one very long prompt does not decide it."""
        total = squares = 0.0
        for index in range(1, len(values) - 1):
            left, size, right = (each.size for each in self.samples[index - 1 : index + 2])
            share = (size - left) / (right - left) if right > left else 0.5
            line = (1 - share) * values[index - 1] + share * values[index + 1]
            weight = self.weights[index]
            total += weight
            scale = 1 + (1 - share) ** 2 + share**2
            squares += weight * (values[index] - line) ** 2 / scale
        return squares / total if total else 0.0


def _neighbours(ordered: Sequence[float], value: float) -> Iterator[tuple[float, float]]:
    """The numbers around `value`, each with its share: larger for the nearer one."""
    at = bisect_left(ordered, value)
    if at == len(ordered) or ordered[at] == value or at == 0:
        yield ordered[min(at, len(ordered) - 1)], 1.0
        return
    left, right = ordered[at - 1 : at + 1]
    share = (value - left) / (right - left)
    yield left, 1 - share
    yield right, share
