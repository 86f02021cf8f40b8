"""Reports of runs for other programs and for papers: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.analysis.comparison.data_differences import different_data_notices
from snellen.core.csv_cells import text_cells
from snellen.core.run import Report
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.markdown import bullets, literal, table
from snellen.report.terminal.repeats import TITLE, draw_lines, draw_metrics

CSV_COLUMNS = (
    "run", "model", "benchmark", "version", "metric", "column", "group",
    "value", "unit", "n", "low", "high", "level", "method", "data", "data_digest",
)  # fmt: skip

_CIRCULAR = ("vanilla", "drop")

_LATEX = str.maketrans(
    {
        "\\": r"\textbackslash{}",
        "&": r"\&",
        "%": r"\%",
        "$": r"\$",
        "#": r"\#",
        "_": r"\_",
        "{": r"\{",
        "}": r"\}",
        "~": r"\textasciitilde{}",
        "^": r"\textasciicircum{}",
        "–": "--",
        "±": r"$\pm$",
    }
)


class ExportTable(NamedTuple):
    """A titled table of formatted cells; the first `texts` columns hold texts, the others
    numbers."""

    title: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    texts: int


def to_json(runs: Sequence[Report]) -> str:
    """The reports as a JSON array, indented."""
    return msgspec.json.format(msgspec.json.encode(list(runs)), indent=2).decode() + "\n"


def to_csv(runs: Sequence[Report]) -> str:
    """One line for each run and metric or group, with full precision; a missing number is an empty
    cell.

    The columns are `CSV_COLUMNS`; `data` is the kind of the data's `Origin`. Texts that a
    spreadsheet would read as formulas get an apostrophe in front.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for report in runs:
        run, summary = report.run, report.summary
        key = (run.name, run.model, run.benchmark, run.config.version)
        data = (run.data.origin.kind if run.data.origin is not None else "", run.data.digest)
        metrics = {summary.headline.name: summary.headline, **summary.metrics}
        for name, metric in metrics.items():
            writer.writerow(text_cells((*key, name, "", "", *_numbers(metric), *data)))
        for metric in draw_metrics(report):
            writer.writerow(text_cells((*key, metric.name, "", "", *_numbers(metric), *data)))
        for column, groups in summary.groups.items():
            for group, metric in groups.items():
                row = (*key, metric.name, column, group, *_numbers(metric), *data)
                writer.writerow(text_cells(row))
    return file.getvalue()


def _numbers(metric: Metric) -> tuple[object, ...]:
    interval = metric.interval
    ends = (interval.low, interval.high, interval.level, interval.method) if interval else ("",) * 4
    return (metric.value, metric.unit, metric.n, *ends)


def to_markdown(runs: Sequence[Report]) -> str:
    """The notices, the runs and their groups as Markdown tables."""
    notices = bullets(_notices(runs))
    blocks = ["\n".join(notices)] if notices else []
    for sheet in export_tables(runs):
        numbers = range(sheet.texts, len(sheet.header))
        blocks += [f"**{literal(sheet.title)}**",
                   "\n".join(table(sheet.header, sheet.rows, right=numbers))]  # fmt: skip
    if any(report.summary.headline.interval for report in runs):
        blocks.append(f"Intervals: of {fmt.ESTIMAND}.")
    return "\n\n".join(blocks) + "\n"


def _notices(runs: Sequence[Report]) -> list[str]:
    own = [
        f"{report.run.model} on {report.run.benchmark}: {notice}"
        for report in runs
        for notice in fmt.notices(report)
    ]
    return [*own, *different_data_notices([report.run for report in runs])]


def to_latex(runs: Sequence[Report]) -> str:
    """The runs and their groups as LaTeX `table` environments, which need the package booktabs."""
    comments = ["% " + " ".join(notice.split()) for notice in _notices(runs)]
    return "\n".join([*comments, *(_latex_table(sheet) for sheet in export_tables(runs))]) + "\n"


def _latex_table(table: ExportTable) -> str:
    columns = "l" * table.texts + "r" * (len(table.header) - table.texts)
    lines = [r" & ".join(_escape_latex(cell) for cell in row) + r" \\" for row in table.rows]
    return "\n".join(
        [
            r"\begin{table}",
            r"  \centering",
            rf"  \caption{{{_escape_latex(table.title)}}}",
            rf"  \begin{{tabular}}{{{columns}}}",
            r"    \toprule",
            "    " + " & ".join(_escape_latex(cell) for cell in table.header) + r" \\",
            r"    \midrule",
            *("    " + line for line in lines),
            r"    \bottomrule",
            r"  \end{tabular}",
            r"\end{table}",
        ]
    )


def _escape_latex(text: str) -> str:
    return " ".join(text.split()).translate(_LATEX)


def export_tables(runs: Sequence[Report]) -> Iterator[ExportTable]:
    """The runs as tables with a row for each run: one table for each benchmark and group column,
    then one for repeated questions."""
    yield _overall(runs)
    columns = dict.fromkeys(
        (report.run.benchmark, column) for report in runs for column in report.summary.groups
    )
    for benchmark, column in columns:
        among = [
            report
            for report in runs
            if report.run.benchmark == benchmark and column in report.summary.groups
        ]
        yield _by_group(benchmark, column, among)
    for name, report in zip(_names(runs), runs, strict=True):
        lines = draw_lines(report)
        if lines:
            title = f"{TITLE} of {name} on {report.run.benchmark}"
            yield ExportTable(title, ("what", "value"), tuple(map(tuple, lines)), 2)


def _overall(runs: Sequence[Report]) -> ExportTable:
    """The runs of one benchmark with score, interval, further metrics and outcomes."""
    present = {key for report in runs for key in report.summary.metrics}
    secondary = dict.fromkeys(name for report in runs for name in report.summary.beside)
    more = [key for key in (*_CIRCULAR, *secondary, *fmt.BASELINES) if key in present]
    levels = dict.fromkeys(fmt.level_text(report.summary.headline.interval) for report in runs)
    header = ("model", "benchmark", "metric", "score", f"{' / '.join(levels)} interval", "n")
    rows = []
    for name, report in zip(_names(runs), runs, strict=True):
        headline, metrics = report.summary.headline, report.summary.metrics
        rows.append(
            (
                name,
                report.run.benchmark,
                fmt.metric_label(headline.name),
                fmt.score_text(headline.value),
                fmt.interval_text(headline.interval),
                fmt.count_text(headline.n),
                *(fmt.score_text(metrics[key].value) if key in metrics else "" for key in more),
                fmt.outcomes_text(report),
            )
        )
    troubled = any(row[-1] for row in rows)
    titles = tuple(key if key in _CIRCULAR else fmt.metric_label(key) for key in more)
    if troubled:
        return ExportTable("Results", (*header, *titles, "not answered"), tuple(rows), 3)
    return ExportTable("Results", (*header, *titles), tuple(row[:-1] for row in rows), 3)


def _names(runs: Sequence[Report]) -> list[str]:
    """Names for runs of several benchmarks; each name is unique among the runs of its benchmark."""
    boards: dict[str, list[Report]] = {}
    for report in runs:
        boards.setdefault(report.run.benchmark, []).append(report)
    names = {
        id(report): name
        for board in boards.values()
        for name, report in zip(fmt.run_labels(board), board, strict=True)
    }
    return [names[id(report)] for report in runs]


def _by_group(benchmark: str, column: str, runs: Sequence[Report]) -> ExportTable:
    groups = dict.fromkeys(group for report in runs for group in report.summary.groups[column])
    rows = []
    for group in groups:
        metrics = [report.summary.groups[column].get(group) for report in runs]
        cells = [fmt.score_with_interval(metric) if metric else "" for metric in metrics]
        counts = dict.fromkeys(fmt.count_text(metric.n) for metric in metrics if metric)
        rows.append((group, *cells, " / ".join(counts)))
    models = fmt.run_labels(runs)
    return ExportTable(
        f"{benchmark} by {fmt.display_name(column)}", (column, *models, "n"), tuple(rows), 1
    )


EXPORTS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}
"""The plain-text formats of `snellen report --format`."""
