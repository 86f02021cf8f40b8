"""MMT-Bench runs side by side: the paper's Table 2 as Markdown, guessing included.

Ranks are averaged over the meta-tasks that every row has; each is a competition rank among all
rows, the two guesses among them, taken on the values as printed (see `scoring.mmt`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.comparison.comparability import check_comparable, distinct_names
from snellen.analysis.comparison.meta_ranks import MetaTaskDraws
from snellen.benchmarks.mmt_bench.summary import (
    FREQUENCY_GUESS,
    META_TASK,
    MICRO,
    OVERALL,
    RANDOM_GUESS,
    WITHOUT_RECOGNITION,
)
from snellen.benchmarks.mmt_bench.tasks import meta_tasks
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Interval, Metric, Summary
from snellen.report.markdown import literal, table
from snellen.scoring.mmt_bench import PRINTED_DIGITS, VISUAL_RECOGNITION, average_meta_ranks
from snellen.store.runs import RunFolder

NAME = "mmt-bench"
_EXCLUDED_PARAMETERS = ("split", "prompt_digest")
"""Parameters that are not named behind a model."""
_DEFAULT_PARAMETERS = {"images": "native", "placing": "text", "referring": "box", "coords": "published",
          "tasks": "all"}  # fmt: skip


class MMTTableRow(NamedTuple):
    name: str
    totals: tuple[float | None, float | None, float | None]
    """Overall, Overall over questions, Overall without visual recognition."""
    metas: dict[str, float]


def mmt_table(runs: Sequence[RunFolder]) -> str:
    """A row per run, best first, and the two guesses; meta-tasks by their abbreviations.

    Raises UsageError for runs of other benchmarks, and for runs that do not belong in one table.
    """
    reports = [run.report() for run in runs]
    _check(reports)
    names = [
        f"{name}{_settings(report)}"
        for name, report in zip(
            distinct_names([one.run for one in reports], [run.path for run in runs]),
            reports,
            strict=True,
        )
    ]
    order = sorted(
        range(len(runs)), key=lambda at: (-(reports[at].summary.headline.value or 0.0), names[at])
    )
    rows = [_row(names[at], reports[at].summary) for at in order]
    guesses = _guesses(reports[0].summary)
    every = [meta.abbreviation for meta in meta_tasks()]
    shared = [meta for meta in every if all(meta in row.metas for row in (*rows, *guesses))]
    others = [meta for meta in shared if meta != VISUAL_RECOGNITION]
    means = {row.name: row.metas for row in (*rows, *guesses)}
    draws = MetaTaskDraws([runs[at] for at in order])
    fixed = [guess.metas for guess in guesses]
    ranked = []
    for chosen in (shared, others):
        rank = average_meta_ranks(means, chosen)
        spans = draws.mean_rank_intervals(chosen, fixed)
        ends = {row.name: one for row, one in zip(rows, spans, strict=True)}
        ranked.append({name: _rank_cell(rank.get(name), ends.get(name)) for name in means})
    head = ["model", "Overall", "Overall (questions)", "R", "Overall*", "R*", *every]
    lines = [
        [
            row.name,
            *map(_cell, row.totals[:2]),
            ranked[0][row.name],
            _cell(row.totals[2]),
            ranked[1][row.name],
            *(_cell(row.metas.get(meta)) for meta in every),
        ]
        for row in (*rows, *guesses)
    ]
    notes = [
        f"R, R*: mean rank over {len(shared)} and {len(others)} meta-tasks among {len(means)} "
        "rows, with the 95 % interval of that of further such questions; *: without visual "
        "recognition; -: no value.",
        *_missing_task_notices(rows, every, shared),
    ]
    numbers = range(1, len(head))
    return "\n".join([*table(head, lines, right=numbers), "", *map(literal, notes), ""])


def _missing_task_notices(
    rows: Sequence[MMTTableRow], every: Sequence[str], shared: Sequence[str]
) -> Iterator[str]:
    """Runs without a meta-task that another run has: it counts in nobody's mean rank then."""
    for meta in every:
        without = [row.name for row in rows if meta not in row.metas]
        if meta not in shared and len(without) < len(rows):
            yield f"{meta} counts in no mean rank: {', '.join(without)} has no value there."


def _check(reports: Sequence[Report]) -> None:
    if not reports:
        raise UsageError("a table needs at least one run, got none")
    other = [report.run.name for report in reports if report.run.benchmark != NAME]
    if other:
        raise UsageError(f"{other[0]} is no run of {NAME}; give runs of {NAME} alone")
    infos = [report.run for report in reports]
    check_comparable(infos, [info.name for info in infos], "table")


def _row(name: str, summary: Summary) -> MMTTableRow:
    values = [summary.metrics.get(key) for key in (OVERALL, MICRO, WITHOUT_RECOGNITION)]
    overall, micro, rest = (one.value if one else None for one in values)
    return MMTTableRow(
        name, (overall, micro, rest), _defined_values(summary.groups.get(META_TASK, {}))
    )


def _guesses(summary: Summary) -> list[MMTTableRow]:
    found = []
    for column, metric in ((RANDOM_GUESS, "chance"), (FREQUENCY_GUESS, "frequent")):
        metas = _defined_values(summary.groups.get(column, {}))
        if metas:
            overall = summary.metrics[metric].value
            found.append(MMTTableRow(column, (overall, None, None), metas))
    return found


def _defined_values(metrics: Mapping[str, Metric]) -> dict[str, float]:
    return {name: one.value for name, one in metrics.items() if one.value is not None}


def _settings(report: Report) -> str:
    """What the prompts of the table had of their own, behind the model's name."""
    own = [
        f"{key}={value}"
        for key, value in report.run.config.parameters.items()
        if key not in _EXCLUDED_PARAMETERS and _DEFAULT_PARAMETERS.get(key) != value
    ]
    return f" ({', '.join(own)})" if own else ""


def _rank_cell(rank: float | None, all_ranks: Interval | None) -> str:
    if rank is None or all_ranks is None:
        return _cell(rank)
    return f"{_cell(rank)} ({_cell(all_ranks.low)}–{_cell(all_ranks.high)})"


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.{PRINTED_DIGITS}f}"
