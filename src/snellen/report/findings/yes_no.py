"""Findings about yes/no answers: MME's four common problems (Sec. 4)."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.analysis.findings.yes_no_problems import (
    Problems,
    broken_reasoning,
    problems,
    problems_by_group,
)
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.findings.finding import (
    Cell,
    Finding,
    FindingTable,
    TableColumn,
    percent_interval,
)
from snellen.report.plots.series import Value, dot_plot
from snellen.store.runs import RunFolder

EXAMPLES = 5
_MAX_LENGTH = 160
_FOLLOWING = (
    TableColumn("not following", "share"),
    TableColumn("95 % interval", "interval"),
    TableColumn("contradictory pairs", "share"),
    TableColumn("both yes", "count"),
    TableColumn("both no", "count"),
)
_LEANING = (
    TableColumn("yes", "share"),
    TableColumn("bias", "signed"),
    TableColumn("yes where no is right", "share"),
    TableColumn("broken reasoning", "count"),
    TableColumn("of reasoned", "count"),
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
                (name, fmt.display_name(label), *_row(one))
                for label, one in problems_by_group(records, group).items()
            ]
        examples += [
            (name, one.record.id, one.record.question, one.reply[:_MAX_LENGTH], one.why)
            for _, one in zip(range(EXAMPLES), broken_reasoning(records), strict=False)
        ]
    if not rows:
        raise UsageError("no run has yes/no questions; give runs of mme, pope or their like")
    grids = _halves("", (TableColumn("run"),), rows)
    if grouped:
        grids += _halves(
            f"by {fmt.display_name(group)}", (TableColumn("run"), TableColumn(group)), grouped
        )
    if examples:
        told = ("run", "sample", "question", "reply", "the reply itself")
        grids.append(
            FindingTable("reasoning right, answer wrong", [*map(TableColumn, told)], examples)
        )
    return Finding(
        "problems of yes/no answers",
        grids,
        plot=lambda: dot_plot(
            "Problems of yes/no answers", plotted, connect=False, label="percent"
        ),
    )


def _halves(
    title: str, keys: Sequence[TableColumn], rows: Sequence[Sequence[Cell]]
) -> list[FindingTable]:
    """Two tables, as one would be too wide to read: what was not followed or contradicts itself,
    and the leaning to yes with broken reasoning."""
    first = len(keys) + len(_FOLLOWING)
    return [
        FindingTable(title, (*keys, *_FOLLOWING), [row[:first] for row in rows]),
        FindingTable(
            title, (*keys, *_LEANING), [(*row[: len(keys)], *row[first:]) for row in rows]
        ),
    ]


def _row(problems: Problems) -> tuple[Cell, ...]:
    bias = problems.yes_bias
    return (
        problems.not_following.value, percent_interval(problems.not_following.interval),
        problems.contradictory.value, problems.both_yes, problems.both_no,
        problems.yes.value, None if bias is None else 100 * bias,
        problems.hallucinated.value,
        problems.broken_reasoning.part, problems.broken_reasoning.total,
    )  # fmt: skip


def _values(problems: Problems) -> dict[str, Value]:
    found = {
        "not following": problems.not_following,
        "contradictory pairs": problems.contradictory,
        "yes where no is right": problems.hallucinated,
        "answers that are yes": problems.yes,
    }
    return {
        name: Value(100 * share.value, percent_interval(share.interval))
        for name, share in found.items()
        if share.value is not None
    }
