"""What the rest of a run is expected to take, and what a study takes (`snellen plan --detect`), in sentences and
a table.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from snellen.engine.forecast.projection import Forecast
from snellen.engine.forecast.weighting import Projected
from snellen.engine.loop.request_broker import MAIN
from snellen.report import format as fmt
from snellen.report.document import Column, Table, table_of

if TYPE_CHECKING:
    from snellen.analysis.comparison.planned_study import Need, StudyPlan

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


def study_table(study: StudyPlan) -> Table:
    """A row for each aim and number of repeats; requests and dollars are for both models."""
    first, second = study.models
    is_sufficient = {True: "yes", False: "no", None: fmt.NONE}
    return table_of(
        f"{second} against {first} on {study.benchmark}, with a power of {100 * study.power:g} % "
        f"at a level of {100 * (1 - study.level):.3g} %",
        study.needs,
        [
            (Column("aim"), lambda need: _aim(need, study)),
            (Column("repeats", "count"), lambda need: need.repeats),
            (Column("samples", "count"), lambda need: need.samples),
            (Column("requests", "count"), lambda need: None if need.requests is None else round(need.requests)),
            (Column("$"), lambda need: fmt.NONE if need.dollars is None else f"{need.dollars:,.2f}"),
            (Column("enough here"), lambda need: is_sufficient[need.is_sufficient]),
        ],
    )


def _aim(need: Need, study: StudyPlan) -> str:
    first, second = study.models
    points = "point" if need.points == 1 else "points"
    match need.aim:
        case "difference":
            return f"find a difference of {need.points:g} {points}"
        case "no worse":
            return f"{second} no worse than {first} by {need.points:g} {points}"
        case _:
            return f"neither better by {need.points:g} {points}"


def study_lines(study: StudyPlan) -> Iterator[str]:
    """Sentences below the table: what the complete benchmark can detect, and the assumptions."""
    if study.samples is not None:
        has = f"{study.benchmark} has {fmt.plural(study.samples, 'sample')}"
        least = fmt.score_text(study.detectable)
        reach = "they find no difference" if study.detectable is None else f"all of them find {least} points at best"
        if study.margin is not None:
            reach += (
                f", and show of two equally good models that one is no worse by {fmt.score_text(study.margin)} points"
            )
        yield f"{has}: {reach}"
    yield from study.notices
    if any(need.aim != "difference" for need in study.needs):
        yield "no worse, neither better: where the two are equally good in truth"
