"""What `snellen run`, `report` and `score` show of runs."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import msgspec

from snellen.analysis.comparison.comparability import different_data_notices, named_notices
from snellen.analysis.comparison.deviations import DEVIATION_TITLES, deviation_cells, deviation_objects
from snellen.analysis.published.numbers import compare_with_published
from snellen.core.output import Failure
from snellen.core.record import Record, every_pass
from snellen.core.run import Report, RunInfo
from snellen.core.summary import Metric
from snellen.models.naming.spec import short_name
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, Line, Table
from snellen.report.documents.repeats import draw_lines, draw_metrics
from snellen.report.documents.result_tables import (
    BASELINE,
    baselines,
    board_table,
    boards,
    further_metrics,
    group_tables,
    results_matrix,
)
from snellen.report.judge_notes import judges_note
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

CSV_COLUMNS = (
    "kind",
    "run",
    "model",
    "benchmark",
    "version",
    "metric",
    "column",
    "group",
    "value",
    "unit",
    "n",
    "low",
    "high",
    "level",
    "method",
    "data",
    "data_digest",
    "differs",
    *(f"differs_{key}" for key in DEVIATION_TITLES),
)
MAX_MESSAGES = 3
"""Reasons of failures that are shown of a run; the others are only counted."""
_NAMED_PART = re.compile(r"\brow \d+|'[^']*'")
_OF_QUESTIONS = frozenset({"options", "circular", "limit", "until", "extent", "data"})
"""Deviations that change which questions are asked, and so what guessing scores."""


def run_document(runs: Sequence[Report], more: Iterable[Block] = (), *, judges_measured: bool = False) -> Document:
    """Notices; for several models and benchmarks the models by benchmarks; then for each benchmark
    and headline a table with a row for each run, baselines below them; last the scores by group and
    `more`. `judges_measured`: figures on the judges are shown beside, so that nothing needs to be
    said of them.

    JSON holds the reports, each with its `deviations` from the plain setting of its benchmark; CSV
    a row for each number (`CSV_COLUMNS`).
    """
    blocks: list[Block] = list(_notices(runs))
    if len(runs) > 1 and (matrix := results_matrix(runs)) is not None:
        blocks += [matrix, EmptyLine()]
    for index, board in enumerate(boards(runs)):
        blocks += [*([EmptyLine()] if index else []), *_board_blocks(board)]
        if len(runs) > 1:
            blocks += (table._replace(on_terminal="left out") for table in group_tables(board))
    if any(report.summary.headline.interval for report in runs):
        blocks.append(Line(f"intervals are for {fmt.ESTIMAND}", "note"))
    has_roles = any(report.run.config.roles for report in runs)
    if has_roles and not judges_measured and (sentence := judges_note(runs)):
        blocks.append(Line(sentence, "note"))
    if len(runs) == 1:
        further = further_metrics(runs[0])
        for table in (*([further] if further is not None else []), *group_tables(runs)):
            blocks += [EmptyLine(), table]
    return Document([*blocks, *more], partial(_objects, runs), partial(_records, runs), partial(_plot, runs))


def _objects(runs: Sequence[Report]) -> list[dict[str, object]]:
    return [{**msgspec.to_builtins(report), "deviations": deviation_objects(report.run)} for report in runs]


def _plot(runs: Sequence[Report]) -> Figure:
    from snellen.report.plots.series import results_plot

    return results_plot(runs)


def _notices(runs: Sequence[Report]) -> Iterator[Line]:
    named = [
        (f"{short_name(report.run.model)} on {report.run.benchmark}", notice)
        for report in runs
        for notice in fmt.notices(report, command=False)
    ]
    for sentence in named_notices(named) if len(runs) > 1 else [notice for _, notice in named]:
        yield Line(sentence, "notice")
    for report in runs:
        if command := fmt.resume_command(report.run):
            yield Line(command, is_unbroken=True)
    for sentence in different_data_notices([report.run for report in runs]) if len(runs) > 1 else ():
        yield Line(sentence, "notice")


def _board_blocks(board: Sequence[Report]) -> Iterator[Block]:
    """The heading of a benchmark and metric, the runs, and what repeated sampling shows of each."""
    first = board[0]
    metric = fmt.metric_label(first.summary.headline.name)
    yield Line(first.run.benchmark, "heading", metric)
    names = fmt.run_labels(board)
    notes = [
        f"{name}{joint}{text}" if len(board) > 1 else text
        for name, report in zip(names, board, strict=True)
        for joint, text in _remarks(report)
    ]
    yield board_table(board)._replace(notes=notes)
    for name, report in zip(names, board, strict=True):
        if report.summary.draws is not None and (lines := draw_lines(report)):
            title, columns = f"draws of {name}", (Column("what"), Column("value"))
            is_one = len(board) == 1
            yield EmptyLine()
            yield Table(title, columns, lines, on_terminal="untitled" if is_one else "whole")


def _remarks(report: Report) -> Iterator[tuple[str, str]]:
    """Sentences below the table of a run, each with what joins the run's name to it."""
    if counts := fmt.outcomes_text(report):
        yield ": ", counts
    if saved := report.run.counts.saved:
        yield ", ", f"early stop: {fmt.plural(saved, 'request')} not needed"
    for line in fmt.notable_usage(report.run):
        yield ", ", line
    for comparison in compare_with_published(report):
        yield ": ", comparison.sentence()


def failure_blocks(runs: Sequence[RunFolder]) -> list[Block]:
    """The most frequent failure messages of each run; nothing without failures."""
    return [Line(line) for line in named_failure_lines(runs)]


def named_failure_lines(runs: Sequence[RunFolder]) -> Iterator[str]:
    """Why samples of each run failed, the most frequent reasons first."""
    for run in runs:
        model = short_name(run.info.model)
        whose = f"{model} on {run.info.benchmark}: " if len(runs) > 1 else ""
        for line in failure_lines(run.failures()):
            yield f"{whose}{line}"


def failure_lines(records: Iterable[Record]) -> Iterator[str]:
    """The number of samples with each reason to fail, the most frequent first. Messages that
    differ in a row or in a quoted name alone share theirs, of which the first is the example."""
    examples: dict[str, str] = {}
    counts: Counter[str] = Counter()
    for record in records:
        message = _message(record)
        if message:
            reason = _NAMED_PART.sub("", message)
            counts[reason] += 1
            examples.setdefault(reason, message)
    for reason, samples in counts.most_common(MAX_MESSAGES):
        example = "e.g. " if samples > 1 and _NAMED_PART.search(examples[reason]) else ""
        yield f"{fmt.plural(samples, 'sample')} failed: {example}{examples[reason]}"
    others = sum(counts.values()) - sum(samples for _, samples in counts.most_common(MAX_MESSAGES))
    if others:
        yield f"{fmt.plural(others, 'sample')} failed for other reasons: snellen view lists them"


def _message(record: Record) -> str:
    outputs = (each_pass.output for each_pass in every_pass(record))
    return next((output.message for output in outputs if isinstance(output, Failure)), "")


def _records(runs: Sequence[Report]) -> Table:
    """A row for each number, with full precision; None for a missing number.

    `kind` is `metric` for numbers of a run, `group` for those of its groups, and `baseline` for
    those of guessing, once for each benchmark and headline, without a run; its deviations are those
    that change the questions. `data` is the kind of the data's `Origin`; `differs` says how the run
    differs from the plain setting of the benchmark, and a column for each way repeats it.
    """
    rows: list[tuple[Cell, ...]] = []
    for board in boards(runs):
        for report in board:
            rows += _run_records(report)
        for guess in baselines(board):
            run = guess.run
            key = (BASELINE, "", "", run.benchmark, run.config.version, guess.key, "", "")
            rows.append((*key, *_numbers(guess.metric), *_end_cells(run, _OF_QUESTIONS)))
    return Table("", [Column(name) for name in CSV_COLUMNS], rows)


def _run_records(report: Report) -> Iterator[tuple[Cell, ...]]:
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


def _end_cells(run: RunInfo, keys: Collection[str]) -> tuple[str, ...]:
    """The data of a run, and how it differs from the plain setting in these keys."""
    origin = run.data.origin
    cells = {key: label if key in keys else "" for key, label in deviation_cells(run).items()}
    differs = ", ".join(filter(None, cells.values()))
    kind = origin.kind if origin is not None else ""
    return (kind, run.data.digest, differs, *cells.values())


def _numbers(metric: Metric) -> tuple[Cell, ...]:
    interval = metric.interval
    ends = (interval.low, interval.high, interval.level, interval.method) if interval else ("",) * 4
    return (metric.value, metric.unit, metric.n, *ends)
