"""The statistics of a data set on the terminal, and as JSON, CSV, Markdown and LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

import msgspec

from snellen.core.csv_cells import text_cells
from snellen.curate.statistics.results import DatasetStatistics
from snellen.curate.statistics.statistics_tables import findings, statistics_tables
from snellen.report.latex import latex_comments, latex_table
from snellen.report.markdown import bullets, literal, table
from snellen.report.result_tables import ResultTable, fitting_tables

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

MAX_GROUPS = 25
"""Groups of a column on the terminal; the other formats have all."""
_NAMES = ("rule", "features", "model")
"""Fields by which elements of a list go."""
CSV_COLUMNS = ("column", "group", "measure", "of", "value")


def print_statistics(statistics: DatasetStatistics, console: Console) -> None:
    """Print notices, findings, and the tables, folded to the width of the terminal."""
    from rich.text import Text

    for notice in statistics.notices:
        console.print(Text(f"! {notice}", style="yellow"))
    for finding in findings(statistics):
        console.print(Text(f"! {finding}", style="yellow"))
    for whole in statistics_tables(statistics, MAX_GROUPS):
        console.print()
        console.print(Text(whole.title, style="bold"))
        for part in fitting_tables(whole, console.width):
            console.print(_rich_table(part))


def _rich_table(part: ResultTable) -> Table:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    grid = Table(
        box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1), header_style="", show_edge=False
    )
    for column, heading in enumerate(part.header):
        number = column in part.number_columns
        grid.add_column(
            Text(heading), justify="right" if number else "left", no_wrap=number, overflow="fold"
        )
    for row in part.rows:
        grid.add_row(*map(Text, row))
    return grid


def to_csv(statistics: DatasetStatistics) -> str:
    """One line for each number, not rounded; `column` and `group` are empty for all items.

    `measure` and `of` are the path of the number in the JSON, e.g. `words` and `question.mean`.
    """
    content = msgspec.to_builtins(statistics)
    groups = content.pop("groups")
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for line in _numbers("", "", content):
        writer.writerow(text_cells(line))
    for column, every in groups.items():
        for group in every:
            label = group.pop("label")
            for line in _numbers(column, label, group):
                writer.writerow(text_cells(line))
    return file.getvalue()


def _numbers(
    column: str, label: str, content: Mapping[str, object]
) -> Iterator[tuple[object, ...]]:
    for measure, value in content.items():
        for path, number in _leaves(value):
            yield column, label, measure, ".".join(path), number


def _leaves(value: object) -> Iterator[tuple[tuple[str, ...], object]]:
    """Numbers with their path; elements of lists that have a name go by it."""
    if isinstance(value, Mapping):
        for key, inner in value.items():
            for path, number in _leaves(inner):
                yield (str(key), *path), number
    elif isinstance(value, list | tuple):
        for index, inner in enumerate(value):
            name = str(index)
            if isinstance(inner, Mapping):
                name = next(
                    (str(inner[key]) for key in ("rule", "features", "model") if key in inner), name
                )
            for path, number in _leaves(inner):
                yield (name, *path), number
    elif isinstance(value, int | float):
        yield (), value


def to_markdown(statistics: DatasetStatistics) -> str:
    lines = bullets((*statistics.notices, *findings(statistics)))
    for whole in statistics_tables(statistics):
        lines += ["", f"**{literal(whole.title)}**", ""]
        lines += table(whole.header, whole.rows, right=whole.number_columns)
    return "\n".join(lines).lstrip("\n") + "\n"


def to_latex(statistics: DatasetStatistics) -> str:
    """A `table` for each, with booktabs; notices and findings are comments."""
    lines = latex_comments((*statistics.notices, *findings(statistics)))
    for whole in statistics_tables(statistics):
        lines += ["", latex_table(whole)]
    return "\n".join(lines).lstrip("\n") + "\n"


STATISTICS_EXPORTS: Mapping[str, Callable[[DatasetStatistics], str]] = {
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}
