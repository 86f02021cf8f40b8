"""The output of `snellen why A B C ...`: which step of a sequence of runs changed the score."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import msgspec

from snellen.analysis.causes.why import DifferenceSplit
from snellen.report import format as fmt
from snellen.report.markdown import bullets, literal
from snellen.report.terminal.text_table import TextTable, markdown_lines, print_table
from snellen.report.terminal.why import causes_text
from snellen.stats.paired import holm

if TYPE_CHECKING:
    from rich.console import Console

Steps = Sequence[DifferenceSplit]
"""The split of each step from one run to the next."""
_LEVEL = 0.05


def adjusted_p(steps: Steps) -> list[float | None]:
    """The p of each step, adjusted for the number of steps (Holm); None where it has none."""
    tested = [step.observed.p for step in steps if step.observed.p is not None]
    adjusted = iter(holm(tested))
    return [None if step.observed.p is None else next(adjusted) for step in steps]


def steps_table(steps: Steps) -> TextTable:
    """A row for each step: the difference, its test, and its causes by their size."""
    rows = []
    for step, p in zip(steps, adjusted_p(steps), strict=True):
        shares = sorted(step.shares, key=lambda share: -abs(share.points))
        causes = (
            f"{causes_text(share.causes)} {fmt.difference_text(share.points)}" for share in shares
        )
        seen = step.observed
        rows.append(
            (
                f"{step.first} to {step.second}",
                "; ".join(causes) or fmt.NONE,
                fmt.difference_text(seen.difference),
                fmt.difference_interval_text(seen.interval),
                fmt.p_text(p),
                fmt.count_text(seen.aligned),
            )
        )
    heads = ("step", "causes", "points", "95 % interval", "p", "samples")
    return TextTable(f"{steps[0].benchmark}: {len(steps)} steps", 2, heads, rows)


def verdict(steps: Steps) -> str:
    """Which steps changed the score, in a sentence to be quoted."""
    found = [
        f"{step.first} to {step.second} ({fmt.difference_text(step.observed.difference)} points, "
        f"p {fmt.p_clause(p)})"
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


def _notices(steps: Steps) -> list[str]:
    return list(dict.fromkeys(notice for step in steps for notice in step.notices))


def print_steps(steps: Steps, console: Console) -> None:
    from rich.text import Text

    for notice in _notices(steps):
        console.print(Text(f"! {notice}", style="yellow"))
    grid = steps_table(steps)
    console.print(Text(grid.title, style="bold"))
    print_table(grid, console)
    console.print(Text(f"to quote: {verdict(steps)}"), soft_wrap=True)


def to_markdown(steps: Steps) -> str:
    parts = [*bullets(_notices(steps)), "", *markdown_lines(steps_table(steps))]
    return "\n".join([*parts, "", literal(verdict(steps))]).strip() + "\n"


def to_json(steps: Steps) -> str:
    """An object with the split of each step and its adjusted p; numbers are not rounded."""
    found = [{"p_holm": p, "split": step} for step, p in zip(steps, adjusted_p(steps), strict=True)]
    return msgspec.json.encode({"steps": found}).decode() + "\n"


STEPS_EXPORTS: Mapping[str, Callable[[Steps], str]] = {"json": to_json, "markdown": to_markdown}
