"""Findings about yes/no answers: MME's four common problems (Sec. 4)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.analysis.findings.yes_no_problems import Problems, broken_reasoning, by_group, problems
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.findings.finding import Cell, Column, Finding, Grid, percent
from snellen.report.plots.dot_plot import Value, dots
from snellen.store.runs import RunFolder

EXAMPLES = 5
_LONGEST = 160
_FOLLOWING = (
    Column("not following", "share"),
    Column("95 % interval", "interval"),
    Column("contradictory pairs", "share"),
    Column("both yes", "count"),
    Column("both no", "count"),
)
_LEANING = (
    Column("yes", "share"),
    Column("bias", "signed"),
    Column("yes where no is right", "share"),
    Column("broken reasoning", "count"),
    Column("of reasoned", "count"),
)


def yes_no_problems(runs: Sequence[RunFolder], names: Sequence[str], group: str) -> Finding:
    """All runs, each of their groups where one is named, and examples of broken reasoning."""
    rows: list[Sequence[Cell]] = []
    grouped: list[Sequence[Cell]] = []
    examples: list[Sequence[Cell]] = []
    plotted: dict[str, dict[str, Value]] = {}
    for run, name in zip(runs, names, strict=True):
        records = [record for record in run.records() if record.kind == "yes_no"]
        if not records:
            continue
        made = problems(records)
        rows.append((name, *_row(made)))
        plotted[name] = _values(made)
        if group:
            grouped += [
                (name, fmt.words(label), *_row(one))
                for label, one in by_group(records, group).items()
            ]
        examples += [
            (name, one.record.id, one.record.question, one.reply[:_LONGEST], one.why)
            for _, one in zip(range(EXAMPLES), broken_reasoning(records), strict=False)
        ]
    if not rows:
        raise UsageError("no run has yes/no questions; give runs of mme, pope or their like")
    grids = _halves("", (Column("run"),), rows)
    if grouped:
        grids += _halves(f"by {fmt.words(group)}", (Column("run"), Column(group)), grouped)
    if examples:
        told = ("run", "sample", "question", "reply", "the reply itself")
        grids.append(Grid("reasoning right, answer wrong", [*map(Column, told)], examples))
    return Finding(
        "problems of yes/no answers",
        grids,
        plot=lambda: dots("Problems of yes/no answers", plotted, joined=False, axis="percent"),
    )


def _halves(title: str, keys: Sequence[Column], rows: Sequence[Sequence[Cell]]) -> list[Grid]:
    """Two tables, as one would be too wide to read: what was not followed or contradicts itself,
    and the leaning to yes with broken reasoning."""
    first = len(keys) + len(_FOLLOWING)
    return [
        Grid(title, (*keys, *_FOLLOWING), [row[:first] for row in rows]),
        Grid(title, (*keys, *_LEANING), [(*row[: len(keys)], *row[first:]) for row in rows]),
    ]


def _row(made: Problems) -> tuple[Cell, ...]:
    bias = made.yes_bias
    return (
        made.not_following.value, percent(made.not_following.interval),
        made.contradictory.value, made.both_yes, made.both_no,
        made.yes.value, None if bias is None else 100 * bias,
        made.imagined.value,
        made.broken_reasoning.part, made.broken_reasoning.whole,
    )  # fmt: skip


def _values(made: Problems) -> dict[str, Value]:
    found = {
        "not following": made.not_following,
        "contradictory pairs": made.contradictory,
        "yes where no is right": made.imagined,
        "answers that are yes": made.yes,
    }
    return {
        name: Value(100 * share.value, percent(share.interval))
        for name, share in found.items()
        if share.value is not None
    }
