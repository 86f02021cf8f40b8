"""What `snellen why A B C ...` shows: which step of a sequence of runs changed the score."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.analysis.causes.why import DifferenceSplit
from snellen.report import format as fmt
from snellen.report.document import Block, Document, Line
from snellen.report.documents.why import causes_text
from snellen.report.table import Column, Table, table_of
from snellen.stats.paired import holm_of_tested

Steps = Sequence[DifferenceSplit]
"""The split of each step from one run to the next."""
_LEVEL = 0.05


def adjusted_p(steps: Steps) -> list[float | None]:
    """The p of each step, adjusted for the number of steps (Holm); None where it has none."""
    return holm_of_tested([step.observed.p for step in steps])


def steps_document(steps: Steps) -> Document:
    """Notices, a row for each step, and a sentence; JSON has the split of each step and its
    adjusted p."""
    notices = dict.fromkeys(notice for step in steps for notice in step.notices)
    p_values = adjusted_p(steps)
    found = [{"p_holm": p, "split": step} for step, p in zip(steps, p_values, strict=True)]
    blocks: list[Block] = [
        *(Line(notice, "notice") for notice in notices),
        _steps_table(steps, p_values),
        Line(f"to quote: {verdict(steps)}", is_unbroken=True),
    ]
    return Document(blocks, {"steps": found})


def _steps_table(steps: Steps, p_values: Sequence[float | None]) -> Table:
    """A row for each step: the difference, its test, and its causes by their size."""

    def causes(step: DifferenceSplit) -> str:
        shares = sorted(step.shares, key=lambda share: -abs(share.points))
        return "; ".join(f"{causes_text(share.causes)} {fmt.difference_text(share.points)}" for share in shares)

    return table_of(
        f"{steps[0].benchmark}: {len(steps)} steps",
        zip(steps, p_values, strict=True),
        [
            (Column("step", "name"), lambda row: f"{row[0].first} to {row[0].second}"),
            (Column("causes"), lambda row: causes(row[0]) or fmt.NONE),
            (Column("points", "signed"), lambda row: row[0].observed.difference),
            (Column("95 % interval", "signed"), lambda row: row[0].observed.interval),
            (Column("p", "p"), lambda row: row[1]),
            (Column("samples", "count", is_optional=True), lambda row: row[0].observed.aligned),
        ],
    )


def verdict(steps: Steps) -> str:
    """Which steps changed the score, in a sentence to be quoted."""
    found = [
        f"{step.first} to {step.second} ({fmt.difference_text(step.observed.difference)} points, p {fmt.p_clause(p)})"
        for step, p in zip(steps, adjusted_p(steps), strict=True)
        if p is not None and p < _LEVEL
    ]
    n = fmt.count_text(min(step.observed.aligned for step in steps))
    tests = " and ".join(dict.fromkeys(step.observed.test for step in steps))
    which = f": {'; '.join(found)}" if found else ""
    return (
        f"On {steps[0].benchmark}, {len(found)} of the {len(steps)} steps from {steps[0].first} to "
        f"{steps[-1].second} changed the score at {_LEVEL:g} ({tests}, adjusted by Holm; "
        f"n = {n} or more questions a step){which}."
    )
