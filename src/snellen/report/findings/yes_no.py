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
    """The problems of each run, of each group if `group` is not empty, and examples of broken
    reasoning."""
    rows: list[Sequence[Cell]] = []
    grouped: list[Sequence[Cell]] = []
    examples: list[Sequence[Cell]] = []
    plotted: dict[str, dict[str, Value]] = {}
    for run, name in zip(runs, names, strict=True):
        records = [record for record in run.records() if record.kind == "yes_no"]
        if not records:
            continue
        run_problems = problems(records)
        rows.append((name, *_row(run_problems)))
        plotted[name] = _values(run_problems)
        if group:
            grouped += [
                (name, fmt.display_name(label), *_row(label_problems))
                for label, label_problems in problems_by_group(records, group).items()
            ]
        examples += [
            (
                name,
                example.record.id,
                example.record.question,
                example.reply[:_MAX_LENGTH],
                example.why,
            )
            for _, example in zip(range(EXAMPLES), broken_reasoning(records), strict=False)
        ]
    if not rows:
        raise UsageError("no run has yes/no questions; give runs of mme, pope or their like")
    tables = _halves("", (TableColumn("run"),), rows)
    if grouped:
        tables += _halves(
            f"by {fmt.display_name(group)}", (TableColumn("run"), TableColumn(group)), grouped
        )
    if examples:
        columns = ("run", "sample", "question", "reply", "the reply itself")
        tables.append(
            FindingTable("reasoning right, answer wrong", [*map(TableColumn, columns)], examples)
        )
    return Finding(
        "problems of yes/no answers",
        tables,
        plot=lambda: dot_plot(
            "Problems of yes/no answers", plotted, connect=False, label="percent"
        ),
    )


def _halves(
    title: str, keys: Sequence[TableColumn], rows: Sequence[Sequence[Cell]]
) -> list[FindingTable]:
    """Split the columns into two tables, as one would be too wide: not following and
    contradictions, then the bias to yes and broken reasoning."""
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
    proportions = {
        "not following": problems.not_following,
        "contradictory pairs": problems.contradictory,
        "yes where no is right": problems.hallucinated,
        "answers that are yes": problems.yes,
    }
    return {
        name: Value(100 * share.value, percent_interval(share.interval))
        for name, share in proportions.items()
        if share.value is not None
    }
