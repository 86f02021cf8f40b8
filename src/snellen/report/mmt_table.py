"""MMT-Bench runs side by side: the paper's Table 2 as Markdown, guessing included.

Ranks are averaged over the meta-tasks that every row has; each is a competition rank among all
rows, the two guesses among them, taken on the values as printed (see `scoring.mmt`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.benchmarks.mmt_summary import (
    FREQUENCY_GUESS,
    META_TASK,
    MICRO,
    OVERALL,
    RANDOM_GUESS,
    WITHOUT_RECOGNITION,
)
from snellen.benchmarks.mmt_tasks import meta_tasks
from snellen.core.errors import UsageError
from snellen.core.run import Report
from snellen.core.summary import Metric, Summary
from snellen.report.markdown import literal, table
from snellen.scoring.mmt import PRINTED_DIGITS, VISUAL_RECOGNITION, average_meta_ranks

NAME = "mmt-bench"
_SAID_APART = ("split", "prompt_digest")
"""Parameters that do not tell rows of one table apart."""
_USUAL = {"images": "native", "placing": "text", "referring": "box", "coords": "published",
          "tasks": "all"}  # fmt: skip


class Row(NamedTuple):
    name: str
    totals: tuple[float | None, float | None, float | None]
    """Overall, Overall over questions, Overall without visual recognition."""
    metas: dict[str, float]


def mmt_table(runs: Sequence[Report]) -> str:
    """A row per run, best first, and the two guesses; meta-tasks by their abbreviations.

    Raises UsageError for runs of other benchmarks, of different splits or different questions.
    """
    _check(runs)
    rows = [_row(_name(report), report.summary) for report in runs]
    rows.sort(key=lambda row: -(row.totals[0] or 0.0))
    rows += _guesses(runs[0].summary)
    every = [meta.abbreviation for meta in meta_tasks()]
    shared = [meta for meta in every if all(meta in row.metas for row in rows)]
    means = {row.name: row.metas for row in rows}
    rank = average_meta_ranks(means, shared)
    others = [meta for meta in shared if meta != VISUAL_RECOGNITION]
    rank_others = average_meta_ranks(means, others)
    head = ["model", "Overall", "Overall (questions)", "R", "Overall*", "R*", *every]
    lines = [
        [
            row.name,
            *map(_cell, row.totals[:2]),
            _cell(rank.get(row.name)),
            _cell(row.totals[2]),
            _cell(rank_others.get(row.name)),
            *(_cell(row.metas.get(meta)) for meta in every),
        ]
        for row in rows
    ]
    note = (
        f"R, R*: mean rank over {len(shared)} and {len(others)} meta-tasks among {len(rows)} rows; "
        "*: without visual recognition; -: no value."
    )
    numbers = range(1, len(head))
    return "\n".join([*table(head, lines, right=numbers), "", literal(note), ""])


def _check(runs: Sequence[Report]) -> None:
    if not runs:
        raise UsageError("a table needs at least one run, got none")
    other = [report.run.name for report in runs if report.run.benchmark != NAME]
    if other:
        raise UsageError(f"{other[0]} is no run of {NAME}; give runs of {NAME} alone")
    splits = sorted({report.run.config.parameters["split"] for report in runs})
    sizes = sorted({report.summary.total for report in runs})
    if len(splits) > 1 or len(sizes) > 1:
        raise UsageError(
            f"the runs are of the splits {', '.join(splits)} with {', '.join(map(str, sizes))} "
            "questions; ranks compare runs of the same questions alone"
        )


def _row(name: str, summary: Summary) -> Row:
    values = [summary.metrics.get(key) for key in (OVERALL, MICRO, WITHOUT_RECOGNITION)]
    overall, micro, rest = (one.value if one else None for one in values)
    return Row(name, (overall, micro, rest), _known(summary.groups.get(META_TASK, {})))


def _guesses(summary: Summary) -> list[Row]:
    found = []
    for column, metric in ((RANDOM_GUESS, "chance"), (FREQUENCY_GUESS, "frequent")):
        metas = _known(summary.groups.get(column, {}))
        if metas:
            overall = summary.metrics[metric].value
            found.append(Row(column, (overall, None, None), metas))
    return found


def _known(metrics: Mapping[str, Metric]) -> dict[str, float]:
    return {name: one.value for name, one in metrics.items() if one.value is not None}


def _name(report: Report) -> str:
    """The model, with what its prompt had of its own."""
    told = [
        f"{key}={value}"
        for key, value in report.run.config.parameters.items()
        if key not in _SAID_APART and _USUAL.get(key) != value
    ]
    return f"{report.run.model} ({', '.join(told)})" if told else report.run.model


def _cell(value: float | None) -> str:
    return "-" if value is None else f"{value:.{PRINTED_DIGITS}f}"
