"""What the rest of a run is expected to take, in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from snellen.engine.forecast.projection import Forecast
from snellen.engine.forecast.weighting import Projected
from snellen.engine.loop.request_broker import MAIN
from snellen.report import format as fmt

LONG = 30.0
"""Seconds from which an expected time is worth a sentence."""


def is_notable(forecast: Forecast) -> bool:
    """Whether a user wants to know: what is left costs money, or takes a while."""
    is_paid = forecast.cost is not None and forecast.cost.expected > 0
    return is_paid or (forecast.seconds is not None and forecast.seconds.high > LONG)


def forecast_sentence(name: str, forecast: Forecast) -> str:
    """One sentence on time, tokens and cost, with intervals; `name` is that of the run."""
    others = "; ".join(_role_texts(forecast))
    stop = f"; {forecast.stop}" if forecast.stop else ""
    return (
        f"{name}: by the first {forecast.measured:,}, the {forecast.samples:,} samples that are left take "
        f"about {', '.join(_totals(forecast))}{f' ({others})' if others else ''}{stop}"
    )


def interval_sentence(forecast: Forecast) -> str:
    """The expected numbers of a plan with their intervals, as a clause; empty if none is known."""
    totals = ", ".join(_totals(forecast))
    return f"{totals}; 95 % intervals from {forecast.measured} stored samples" if totals else ""


def _totals(forecast: Forecast) -> Iterator[str]:
    if forecast.seconds is not None:
        yield _with_interval(forecast.seconds, fmt.duration)
    if forecast.tokens.expected:
        yield f"{_with_interval(forecast.tokens, short_count)} tokens"
    if forecast.cost is not None:
        yield f"{_with_interval(forecast.cost, _amount)} {forecast.currency}"


def _role_texts(forecast: Forecast) -> Iterator[str]:
    for role, part in forecast.roles.items():
        if role == MAIN:
            continue
        amount = part.cost
        paid = f", {_amount(amount.expected)} {forecast.currency}" if amount is not None else ""
        requests = fmt.plural(round(part.requests.expected), "request")
        yield f"{fmt.display_name(role)}: {requests}{paid}"


def _amount(cost: float) -> str:
    return f"{cost:.2f}" if cost >= 1 else f"{cost:.2g}"


def _with_interval(projected: Projected, write: Callable[[float], str]) -> str:
    ends = write(projected.low), write(projected.high)
    expected = write(projected.expected)
    return expected if ends == (expected, expected) else f"{expected} ({' to '.join(ends)})"


def short_count(count: float) -> str:
    """A number of tokens with three digits at most."""
    for unit, size in (("G", 1e9), ("M", 1e6), ("k", 1e3)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:.0f}"
