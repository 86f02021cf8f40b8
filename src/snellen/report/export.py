"""Reports of runs for other programs and for papers: JSON, CSV, Markdown, LaTeX."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence

import msgspec

from snellen.analysis.comparison.data_differences import different_data_notices
from snellen.analysis.comparison.deviations import (
    DEVIATION_TITLES,
    deviation_cells,
    deviation_objects,
)
from snellen.core.csv_cells import text_cells
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.report import format as fmt
from snellen.report.judge_notes import judges_note
from snellen.report.latex import latex_comments, latex_table
from snellen.report.markdown import bullets, literal, table
from snellen.report.result_tables import (
    BASELINE,
    ResultTable,
    baselines,
    board_table,
    boards,
    further_metrics,
    group_tables,
    outcomes_column,
    results_matrix,
)
from snellen.report.terminal.repeats import TITLE, draw_lines, draw_metrics

CSV_COLUMNS = (
    "kind", "run", "model", "benchmark", "version", "metric", "column", "group",
    "value", "unit", "n", "low", "high", "level", "method", "data", "data_digest",
    "differs", *(f"differs_{key}" for key in DEVIATION_TITLES),
)  # fmt: skip


def to_json(runs: Sequence[Report]) -> str:
    """The reports as a JSON array, indented; `deviations` says how each run differs from the plain
    setting of its benchmark."""
    objects = [
        {**msgspec.to_builtins(report), "deviations": deviation_objects(report.run)}
        for report in runs
    ]
    return msgspec.json.format(msgspec.json.encode(objects), indent=2).decode() + "\n"


def to_csv(runs: Sequence[Report]) -> str:
    """One line for each number, with full precision; a missing number is an empty cell.

    The columns are `CSV_COLUMNS`; `kind` is `metric` for numbers of a run, `group` for those of its
    groups, and `baseline` for those of guessing, once for each benchmark and headline, without a
    run; its deviations are those that change the questions. `data` is the kind of the data's
    `Origin`; `differs` says how the run differs from the plain setting of the benchmark, and a
    column for each way repeats it. Texts that a spreadsheet would read as formulas get an
    apostrophe in front.
    """
    file = io.StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    for board in boards(runs):
        for report in board:
            writer.writerows(map(text_cells, _csv_rows(report)))
        for guess in baselines(board):
            key = (BASELINE, "", "", guess.run.benchmark, guess.run.config.version)
            numbers = (guess.key, "", "", *_numbers(guess.metric))
            writer.writerow(text_cells((*key, *numbers, *_end_cells(guess.run, _OF_QUESTIONS))))
    return file.getvalue()


def _csv_rows(report: Report) -> Iterator[tuple[object, ...]]:
    run, summary = report.run, report.summary
    key = (run.name, run.model, run.benchmark, run.config.version)
    end = _end_cells(run, DEVIATION_TITLES)
    metrics = {summary.headline.name: summary.headline, **summary.metrics}
    own = [metric for name, metric in metrics.items() if name not in fmt.BASELINES]
    for metric in (*own, *draw_metrics(report)):
        yield ("metric", *key, metric.name, "", "", *_numbers(metric), *end)
    for column, groups in summary.groups.items():
        for group, metric in groups.items():
            yield ("group", *key, metric.name, column, group, *_numbers(metric), *end)


_OF_QUESTIONS = frozenset({"options", "circular", "limit", "until", "extent", "data"})
"""Deviations that change which questions are asked, and so what guessing scores."""


def _end_cells(run: RunInfo, keys: Collection[str]) -> tuple[str, ...]:
    """The data of a run, and how it differs from the plain setting in these keys."""
    origin = run.data.origin
    cells = {key: label if key in keys else "" for key, label in deviation_cells(run).items()}
    differs = ", ".join(filter(None, cells.values()))
    kind = origin.kind if origin is not None else ""
    return (kind, run.data.digest, differs, *cells.values())


def _numbers(metric: Metric) -> tuple[object, ...]:
    interval = metric.interval
    ends = (interval.low, interval.high, interval.level, interval.method) if interval else ("",) * 4
    return (metric.value, metric.unit, metric.n, *ends)


def to_markdown(runs: Sequence[Report]) -> str:
    """The notices, the runs and their groups as Markdown tables."""
    notices = bullets(_notices(runs))
    blocks = ["\n".join(notices)] if notices else []
    for sheet in export_tables(runs):
        lines = table(sheet.header, sheet.rows, right=sheet.number_columns)
        blocks += [f"**{literal(sheet.title)}**", "\n".join(lines)]
    if any(report.summary.headline.interval for report in runs):
        blocks.append(f"Intervals are for {fmt.ESTIMAND}.")
    if sentence := judges_note(runs):
        blocks.append(literal(f"{sentence[0].upper()}{sentence[1:]}"))
    return "\n\n".join(blocks) + "\n"


def _notices(runs: Sequence[Report]) -> list[str]:
    own = [
        f"{fmt.model_name(report.run.model)} on {report.run.benchmark}: {notice}"
        for report in runs
        for notice in fmt.notices(report)
    ]
    return [*own, *different_data_notices([report.run for report in runs])]


def to_latex(runs: Sequence[Report]) -> str:
    """The runs and their groups as LaTeX `table` environments, which need the package booktabs."""
    lines = [*latex_comments(_notices(runs)), *map(latex_table, export_tables(runs))]
    return "\n".join(lines) + "\n"


def export_tables(runs: Sequence[Report]) -> Iterator[ResultTable]:
    """The tables of the terminal: runs by benchmarks, then for each benchmark and metric the runs
    with baselines and the scores by group; last what repeated sampling shows."""
    matrix = results_matrix(runs)
    if matrix is not None:
        yield matrix
    for board in boards(runs):
        yield outcomes_column(board_table(board), board)
        if len(runs) == 1:
            further = further_metrics(board[0])
            if further is not None:
                yield further
        yield from group_tables(board)
        for name, report in zip(fmt.run_labels(board), board, strict=True):
            lines = draw_lines(report)
            if lines:
                title = f"{TITLE} of {name} on {report.run.benchmark}"
                yield ResultTable(title, ("what", "value"), tuple(map(tuple, lines)), 2)


EXPORTS: Mapping[str, Callable[[Sequence[Report]], str]] = {
    "json": to_json,
    "csv": to_csv,
    "markdown": to_markdown,
    "latex": to_latex,
}
"""The plain-text formats of `snellen report --format`."""
