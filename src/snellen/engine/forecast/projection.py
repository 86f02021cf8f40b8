"""Tokens, cost and time of samples that are not asked yet, with intervals, from those that are.

How sums over the pending samples follow from measured ones is in `weighting`, the time in
`wall_time`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.output import Price
from snellen.engine.forecast.probe_samples import MIN_PROBE
from snellen.engine.forecast.sample_costs import Pace, SampleCost
from snellen.engine.forecast.wall_time import Capacity, project_time
from snellen.engine.forecast.weighting import Projected, SampleWeights


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
    stop: str = ""
    """A clause on when a stop rule ends the run; empty without one."""


def forecast(
    measured: Sequence[SampleCost],
    pending: Sequence[float],
    prices: Mapping[str, Price],
    capacity: Capacity,
    pace: Pace | None = None,
    timed: Sequence[SampleCost] | None = None,
) -> Forecast | None:
    """What samples of these sizes will take; None if too few samples were measured.

    `pace` is how fast samples ended that sent requests, if it was measured: a server that is slower
    than its concurrency promises shows there. `timed` are the measured samples whose seconds are
    those of the pending ones; None: all.
    """
    if len(measured) < MIN_PROBE:
        return None
    weights = SampleWeights(measured, pending)
    time_weights = weights if timed is None else SampleWeights(timed, pending)
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
        seconds=project_time(time_weights, capacity, pace),
    )


def _role_forecast(weights: SampleWeights, role: str, price: Price | None) -> RoleForecast:
    return RoleForecast(
        requests=weights.project(lambda each: each.of(role).requests),
        prompt_tokens=weights.project(lambda each: each.of(role).usage.prompt_tokens),
        completion_tokens=weights.project(lambda each: each.of(role).usage.completion_tokens),
        cost=None if price is None else weights.project(lambda each: each.of(role).cost(price)),
    )


def with_range(expected: Forecast, shortest: Forecast | None, longest: Forecast) -> Forecast:
    """The forecast of a run whose number of samples is uncertain, from those of the expected number
    and of the ends of its interval; None: nothing may be left."""
    if shortest is None:
        shortest = _nothing_of(expected)

    def span(middle: Projected, low: Projected, high: Projected) -> Projected:
        return Projected(middle.expected, min(middle.low, low.low), max(middle.high, high.high))

    def optional_span(middle: Projected | None, low: Projected | None, high: Projected | None) -> Projected | None:
        if middle is None or low is None or high is None:
            return middle
        return span(middle, low, high)

    def role(name: str, part: RoleForecast) -> RoleForecast:
        low, high = shortest.roles[name], longest.roles[name]
        return RoleForecast(
            requests=span(part.requests, low.requests, high.requests),
            prompt_tokens=span(part.prompt_tokens, low.prompt_tokens, high.prompt_tokens),
            completion_tokens=span(part.completion_tokens, low.completion_tokens, high.completion_tokens),
            cost=optional_span(part.cost, low.cost, high.cost),
        )

    return replace(
        expected,
        roles={name: role(name, part) for name, part in expected.roles.items()},
        tokens=span(expected.tokens, shortest.tokens, longest.tokens),
        cost=optional_span(expected.cost, shortest.cost, longest.cost),
        seconds=optional_span(expected.seconds, shortest.seconds, longest.seconds),
    )


def _nothing_of(expected: Forecast) -> Forecast:
    """The forecast of no sample, in the form of another."""
    nothing = Projected(0.0, 0.0, 0.0)
    role = RoleForecast(requests=nothing, prompt_tokens=nothing, completion_tokens=nothing, cost=nothing)
    return replace(
        expected, samples=0, roles=dict.fromkeys(expected.roles, role), tokens=nothing, cost=nothing, seconds=nothing
    )
