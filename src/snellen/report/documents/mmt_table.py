"""MMT-Bench runs as Table 2 of the paper, with the two baselines of guessing.

A mean rank is over the meta-tasks that every row has. Each rank is a competition rank among all
rows, including guessing, by the values as printed (see `scoring.mmt_bench`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.comparison.comparability import check_comparable, distinct_names
from snellen.analysis.comparison.meta_ranks import MetaTaskDraws
from snellen.benchmarks.abilities.mmt_bench.summary import (
    FREQUENCY_GUESS,
    META_TASK,
    MICRO,
    OVERALL,
    RANDOM_GUESS,
    WITHOUT_RECOGNITION,
    GuessTotals,
    guess_totals,
)
from snellen.benchmarks.abilities.mmt_bench.tasks import meta_tasks
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Metric, Summary
from snellen.report.document import Column, Document, IntervalEstimate, Table
from snellen.scoring.mmt_bench import PRINTED_DIGITS, VISUAL_RECOGNITION, average_meta_ranks
from snellen.store.runs import RunFolder

NAME = "mmt-bench"
_EXCLUDED_PARAMETERS = ("split", "prompt_digest")
"""Parameters that are not added to a model's name."""
_DEFAULT_PARAMETERS = {"images": "native", "placing": "text", "referring": "box", "coords": "published", "tasks": "all"}


class MMTTableRow(NamedTuple):
    name: str
    totals: tuple[float | None, float | None, float | None] | GuessTotals
    """Overall, overall over questions, and overall without visual recognition."""
    metas: dict[str, float]


def mmt_document(runs: Sequence[RunFolder]) -> Document:
    """A row for each run, the best first, and the two baselines; columns are meta-tasks by their
    abbreviations.

    Raises UsageError for runs of other benchmarks, and for runs that do not belong in one table.
    """
    reports = [run.report() for run in runs]
    _check(reports)
    models = distinct_names([report.run for report in reports], [run.path for run in runs])
    names = [f"{model}{_settings(report)}" for model, report in zip(models, reports, strict=True)]
    order = sorted(range(len(runs)), key=lambda index: (-(reports[index].summary.headline.value or 0.0), names[index]))
    rows = [_row(names[index], reports[index].summary) for index in order]
    guesses = _guesses(runs[0], reports[0].summary)
    abbreviations = [meta.abbreviation for meta in meta_tasks()]
    shared = [meta for meta in abbreviations if all(meta in row.metas for row in (*rows, *guesses))]
    others = [meta for meta in shared if meta != VISUAL_RECOGNITION]
    draws = MetaTaskDraws([runs[index] for index in order])
    ranked = [_mean_ranks(rows, guesses, draws, tasks) for tasks in (shared, others)]
    cells = [
        [
            row.name,
            *row.totals[:2],
            ranked[0][row.name],
            row.totals[2],
            ranked[1][row.name],
            *(row.metas.get(meta) for meta in abbreviations),
        ]
        for row in (*rows, *guesses)
    ]
    notes = [
        f"R, R*: mean rank over {len(shared)} and {len(others)} meta-tasks among {len(cells)} "
        "rows, with the 95 % interval of that of further such questions (none if the questions of "
        "a subtask share one picture); *: without visual recognition; –: no value.",
        *_missing_task_notices(rows, abbreviations, shared),
    ]
    return Document([Table("", _columns(abbreviations), cells, notes, baselines=len(guesses))])


def _mean_ranks(
    rows: Sequence[MMTTableRow], guesses: Sequence[MMTTableRow], draws: MetaTaskDraws, tasks: Sequence[str]
) -> dict[str, IntervalEstimate]:
    means = {row.name: row.metas for row in (*rows, *guesses)}
    rank = average_meta_ranks(means, tasks)
    spans = draws.mean_rank_intervals(tasks, [guess.metas for guess in guesses])
    ends = dict(zip((row.name for row in rows), spans, strict=True))
    return {name: IntervalEstimate(rank.get(name), ends.get(name)) for name in means}


def _columns(abbreviations: Sequence[str]) -> list[Column]:
    highest, lowest = (Column("", "points", PRINTED_DIGITS, "highest"), Column("", "number", PRINTED_DIGITS, "lowest"))
    return [
        Column("model", "name"),
        highest._replace(name="Overall"),
        highest._replace(name="Overall (questions)"),
        lowest._replace(name="R"),
        highest._replace(name="Overall*"),
        lowest._replace(name="R*"),
        *(highest._replace(name=name) for name in abbreviations),
    ]


def _missing_task_notices(
    rows: Sequence[MMTTableRow], abbreviations: Sequence[str], shared: Sequence[str]
) -> Iterator[str]:
    """Notices of meta-tasks that only some runs have: they count in no mean rank."""
    for meta in abbreviations:
        without = [row.name for row in rows if meta not in row.metas]
        if meta not in shared and len(without) < len(rows):
            yield f"{meta} counts in no mean rank: {', '.join(without)} has no value there."


def _check(reports: Sequence[Report]) -> None:
    if not reports:
        raise UsageError("a table needs at least one run, got none")
    other = [report.run.name for report in reports if report.run.benchmark != NAME]
    if other:
        raise UsageError(f"{other[0]} is not a run of {NAME}; give runs of {NAME} alone")
    infos = [report.run for report in reports]
    check_comparable(infos, [info.name for info in infos], "table")


def _row(name: str, summary: Summary) -> MMTTableRow:
    values = [summary.metrics.get(key) for key in (OVERALL, MICRO, WITHOUT_RECOGNITION)]
    overall, micro, others = (metric.value if metric else None for metric in values)
    return MMTTableRow(name, (overall, micro, others), _defined_values(summary.groups.get(META_TASK, {})))


def _guesses(run: RunFolder, summary: Summary) -> list[MMTTableRow]:
    """The rows of guessing on the questions of a run, which are those of all."""
    totals = guess_totals(run.records())
    parts = []
    for column in (RANDOM_GUESS, FREQUENCY_GUESS):
        metas = _defined_values(summary.groups.get(column, {}))
        if metas and column in totals:
            parts.append(MMTTableRow(column, totals[column], metas))
    return parts


def _defined_values(metrics: Mapping[str, Metric]) -> dict[str, float]:
    return {name: metric.value for name, metric in metrics.items() if metric.value is not None}


def _settings(report: Report) -> str:
    """The settings of a run that differ from the defaults, to follow the model's name."""
    own = [
        f"{key}={value}"
        for key, value in report.run.config.parameters.items()
        if key not in _EXCLUDED_PARAMETERS and _DEFAULT_PARAMETERS.get(key) != value
    ]
    return f" ({', '.join(own)})" if own else ""
