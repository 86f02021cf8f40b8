"""A suite's table: models by members, with the average of those that have all of them."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.data_marks import unlike_data
from snellen.benchmarks.suites import Member, Suite, made_for
from snellen.core.benchmark import Table as DataTable
from snellen.core.errors import DataError, UnknownName
from snellen.core.run import Report
from snellen.core.sheets import text_cells
from snellen.report.markdown import bullets, literal, table
from snellen.scoring.suites import Standing, as_percent, rows_of

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_IMPORTED = ("model", "member", "value")
_MOST_COLUMNS = 12
"""Members that stand side by side in a terminal; more stand below each other."""


class SuiteTable(NamedTuple):
    title: str
    members: tuple[str, ...]
    rows: tuple[Standing, ...]
    notices: tuple[str, ...]
    averaged: bool


class Imported(NamedTuple):
    """A number from elsewhere, on the scale of its member."""

    model: str
    member: str
    value: float


def imported(table: DataTable) -> list[Imported]:
    """Rows of a table with the columns model, member and value. Raises DataError."""
    found = []
    for row in table:
        cells = [row.cells.get(column, "").strip() for column in _IMPORTED]
        try:
            number = float(cells[2]) if all(cells[:2]) else math.nan
        except ValueError:
            number = math.nan
        if not math.isfinite(number):
            raise DataError(
                f"{table.path}, row {row.number + 1}: got {dict(row.cells)}; expected the columns "
                "model, member and value, the last a number"
            )
        found.append(Imported(cells[0], cells[1], number))
    return found


def suite_table(
    suite: Suite, reports: Sequence[Report], results: Iterable[Imported] = ()
) -> SuiteTable:
    """Runs count where benchmark and options are those of a member, all samples were asked and
    the run is complete; imported numbers fill what no run has. Raises UnknownName for an imported
    member that the suite has not."""
    notices: list[str] = []
    table: dict[str, dict[str, float | None]] = {}
    for member in suite.members:
        for model, value in _measured(member, reports, notices).items():
            table.setdefault(model, {})[member.name] = value
    known = {member.name.lower(): member for member in suite.members}
    for one in results:
        if one.member.lower() not in known:
            raise UnknownName("member", one.member, (member.name for member in suite.members))
        member = known[one.member.lower()]
        values = table.setdefault(one.model, {})
        if values.get(member.name) is None:
            values[member.name] = as_percent(one.value, member.top)
        else:
            notices.append(f"{one.model}: {member.name} is of a run here; the imported value "
                           f"{one.value:g} is left out")  # fmt: skip
    notices += unlike_data([report.run for report in reports])
    names = tuple(member.name for member in suite.members)
    rows = rows_of(names, table, average=suite.average)
    if suite.average:
        notices += [
            f"{row.model} has no average: {', '.join(row.missing)} missing"
            for row in rows if row.missing
        ]  # fmt: skip
    return SuiteTable(suite.title, names, tuple(rows), tuple(notices), suite.average)


def _measured(
    member: Member, reports: Sequence[Report], notices: list[str]
) -> dict[str, float | None]:
    """The member's percentage by model: the mean over its benchmarks, where all were run."""
    by_spec: list[dict[str, float]] = []
    for spec in member.benchmarks if reports else ():
        name, asked = made_for(spec)
        found: dict[str, float] = {}
        for report in reports:
            config = report.run.config
            if config.benchmark != name or not asked.items() <= config.parameters.items():
                continue
            problem = _problem(report)
            if problem:
                notices.append(f"{report.run.model}: {report.run.name} {problem}")
                continue
            if report.run.data.note:
                notices.append(f"{report.run.model}, {member.name}: {report.run.data.note}")
            metric = _metric(report, member)
            if metric is not None:
                found[report.run.model] = metric
        by_spec.append(found)
    models = set().union(*by_spec) if by_spec else set()
    return {
        model: sum(found[model] for found in by_spec) / len(by_spec)
        for model in sorted(models)
        if all(model in found for found in by_spec)
    }


def _problem(report: Report) -> str:
    if report.run.config.limit is not None:
        return f"asked only {report.run.config.limit} samples and does not count"
    if report.run.status != "complete":
        return f"is {report.run.status} and does not count"
    return ""


def _metric(report: Report, member: Member) -> float | None:
    summary = report.summary
    metric = summary.headline if member.metric is None else summary.metrics.get(member.metric)
    if metric is None or metric.value is None:
        return None
    return as_percent(metric.value, metric.top)


def print_suite(shown: SuiteTable, console: Console) -> None:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    table = Table(title=Text(shown.title), box=box.SIMPLE_HEAD, title_justify="left")
    if len(shown.members) > _MOST_COLUMNS:
        _add_members_as_rows(table, shown)
    else:
        for heading, right in _headings(shown):
            table.add_column(heading, justify="right" if right else "left", overflow="fold")
        for row in shown.rows:
            table.add_row(*map(Text, _cells(shown, row)))
    for notice in shown.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    console.print(table)


def _add_members_as_rows(table: Table, shown: SuiteTable) -> None:
    table.add_column("member", overflow="fold")
    for row in shown.rows:
        table.add_column(row.model, justify="right", overflow="fold")
    headings = [heading for heading, _ in _headings(shown) if heading != "model"]
    cells = [[cell for cell in _cells(shown, row) if cell is not row.model] for row in shown.rows]
    for heading, *values in zip(headings, *cells, strict=True):
        table.add_row(heading, *values)


def _headings(shown: SuiteTable) -> list[tuple[str, bool]]:
    first = [("rank", True), ("model", False), ("average", True)]
    if not shown.averaged:
        first = [("model", False)]
    return [*first, *((member, True) for member in shown.members)]


def _cells(shown: SuiteTable, row: Standing) -> list[str]:
    first = [str(row.rank or "–"), row.model, _number(row.average)]
    values = [_number(row.values[member]) for member in shown.members]
    return [*(first if shown.averaged else [row.model]), *values]


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:.1f}"


def to_json(shown: SuiteTable) -> str:
    """One object, percentages unrounded."""
    told = {**shown._asdict(), "rows": [row._asdict() for row in shown.rows]}
    return json.dumps(told, ensure_ascii=False) + "\n"


def to_csv(shown: SuiteTable) -> str:
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow([heading for heading, _ in _headings(shown)])
    writer.writerows(text_cells(_cells(shown, row)) for row in shown.rows)
    return file.getvalue()


def to_markdown(shown: SuiteTable) -> str:
    headings = _headings(shown)
    numbers = [at for at, (_, right) in enumerate(headings) if right]
    rows = (_cells(shown, row) for row in shown.rows)
    lines = [f"**{literal(shown.title)}**", ""]
    lines += table([heading for heading, _ in headings], rows, right=numbers)
    if shown.notices:
        lines += ["", *bullets(shown.notices)]
    return "\n".join(lines) + "\n"


SUITE_EXPORTS: Mapping[str, Callable[[SuiteTable], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
}
