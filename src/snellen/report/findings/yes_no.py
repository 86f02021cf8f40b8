"""Findings about yes/no answers: MME's four common problems (Sec. 4)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.analysis.findings.judged_shares import Key, judged_share
from snellen.analysis.findings.yes_no_problems import Problems, ReasonedError, problems, problems_by_group
from snellen.core.errors import UsageError
from snellen.report import format as fmt
from snellen.report.document import Cell, Column, Document, Table, table_of, titled_document
from snellen.report.findings.errors import JUDGED, judged_cells
from snellen.report.format import percent_interval
from snellen.report.plots.series import Value, dot_plot
from snellen.store.runs import RunFolder

EXAMPLES = 5
_MAX_LENGTH = 160
_Row = tuple[tuple[Cell, ...], Problems]
"""What a row begins with, the run and perhaps its group; and its problems."""
_FOLLOWING: list[tuple[Column, Callable[[_Row], Cell]]] = [
    (Column("not following", "share"), lambda row: row[1].not_following.value),
    (Column("95 % interval", "share"), lambda row: row[1].not_following.interval),
    (Column("contradictory pairs", "share"), lambda row: row[1].contradictory.value),
    (Column("both yes", "count", is_optional=True), lambda row: row[1].both_yes),
    (Column("both no", "count", is_optional=True), lambda row: row[1].both_no),
]
_LEANING: list[tuple[Column, Callable[[_Row], Cell]]] = [
    (Column("yes", "share"), lambda row: row[1].yes.value),
    (Column("bias", "signed"), lambda row: fmt.percent(row[1].yes_bias)),
    (Column("yes where no is right", "share"), lambda row: row[1].hallucinated.value),
    (Column("wrong with reasons", "count"), lambda row: row[1].reasoned.part),
    (Column("of wrong", "count"), lambda row: row[1].reasoned.total),
]


def yes_no_problems(runs: Sequence[RunFolder], names: Sequence[str], group: str) -> Document:
    """The problems of each run, and of each group if `group` is not empty."""
    rows: list[_Row] = []
    grouped: list[_Row] = []
    plotted: dict[str, dict[str, Value]] = {}
    for run, name in zip(runs, names, strict=True):
        records = [record for record in run.records() if record.kind == "yes_no"]
        if not records:
            continue
        run_problems = problems(records)
        rows.append(((name,), run_problems))
        plotted[name] = _values(run_problems)
        if group:
            grouped += [
                ((name, fmt.display_name(label)), label_problems)
                for label, label_problems in problems_by_group(records, group).items()
            ]
    if not rows:
        raise UsageError("no run has yes/no questions; give runs of mme, pope or their like")
    tables = _halves("", (Column("run", "name"),), rows)
    if grouped:
        tables += _halves(f"by {fmt.display_name(group)}", (Column("run", "name"), Column(group)), grouped)
    return titled_document(
        "problems of yes/no answers",
        tables,
        plot=lambda: dot_plot("Problems of yes/no answers", plotted, connect=False, label="percent"),
    )


def broken_reasoning(
    errors: Sequence[ReasonedError], verdicts: Mapping[Key, bool], labels: Mapping[Key, bool]
) -> list[Table]:
    """By run: how many wrong answers with an explanation contradict themselves, by the judge and
    corrected by the labels; and examples."""
    rows: list[Sequence[Cell]] = []
    for name in dict.fromkeys(error.run for error in errors):
        own = {key: verdict for key, verdict in verdicts.items() if key[0] == name}
        rows.append((name, *judged_cells(judged_share(own, labels))))
    examples = [
        (*error.key, error.record.question, error.reply[:_MAX_LENGTH]) for error in errors if verdicts.get(error.key)
    ]
    columns = map(Column, ("run", "sample", "question", "reply"))
    return [
        Table("reasoning right, answer wrong", (Column("run", "name"), *JUDGED), rows),
        Table("examples, by the judge", [*columns], examples[:EXAMPLES]),
    ]


def _halves(title: str, keys: Sequence[Column], rows: Sequence[_Row]) -> list[Table]:
    """Split the columns into two tables, as one would be too wide: not following and
    contradictions, then the bias to yes and wrong answers with reasons."""
    first = [(key, lambda row, index=index: row[0][index]) for index, key in enumerate(keys)]
    return [table_of(title, rows, [*first, *columns]) for columns in (_FOLLOWING, _LEANING)]


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
