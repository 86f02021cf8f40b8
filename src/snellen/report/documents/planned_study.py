"""The output of `snellen plan --detect`."""

from __future__ import annotations

from collections.abc import Iterator

from snellen.analysis.comparison.planned_study import Need, StudyPlan
from snellen.report import format as fmt
from snellen.report.table import Column, Table, table_of


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
