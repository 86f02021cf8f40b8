"""What `snellen why A B C ...` shows: which step of a sequence of runs changed the score."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.analysis.causes.why import DifferenceSplit
from snellen.report import format as fmt
from snellen.report.document import Block, Document, Line
from snellen.report.documents.why import causes_text
from snellen.report.table import Column, Table
from snellen.stats.paired import holm

Steps = Sequence[DifferenceSplit]
"""The split of each step from one run to the next."""
_LEVEL = 0.05


def adjusted_p(steps: Steps) -> list[float | None]:
    """The p of each step, adjusted for the number of steps (Holm); None where it has none."""
    tested = [step.observed.p for step in steps if step.observed.p is not None]
    adjusted = iter(holm(tested))
    return [None if step.observed.p is None else next(adjusted) for step in steps]


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
    columns = (
        Column("step", "name"),
        Column("causes"),
        Column("points", "signed"),
        Column("95 % interval", "signed"),
        Column("p", "p"),
        Column("samples", "count", is_optional=True),
    )
    rows = []
    for step, p in zip(steps, p_values, strict=True):
        shares = sorted(step.shares, key=lambda share: -abs(share.points))
        causes = (f"{causes_text(share.causes)} {fmt.difference_text(share.points)}" for share in shares)
        seen = step.observed
        rows.append(
            (
                f"{step.first} to {step.second}",
                "; ".join(causes) or fmt.NONE,
                seen.difference,
                seen.interval,
                p,
                seen.aligned,
            )
        )
    return Table(f"{steps[0].benchmark}: {len(steps)} steps", columns, rows)


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
