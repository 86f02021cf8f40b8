"""Gains over controls, of thinking and of examples, as tables for the terminal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from snellen.analysis.controls import Gain, Leakage, told
from snellen.report import format as fmt
from snellen.report.comparison import difference_span, signed
from snellen.report.table import text_table

if TYPE_CHECKING:
    from rich.console import Console


def print_gains(gains: Sequence[Gain], console: Console) -> None:
    """One table per benchmark; nothing where there is no gain to tell."""
    from rich.text import Text

    for benchmark in dict.fromkeys(gain.benchmark for gain in gains):
        mine = [gain for gain in gains if gain.benchmark == benchmark]
        several = len({gain.model for gain in mine}) > 1
        rows = [
            (
                f"{gain.model}: {gain.factor}" if several else gain.factor,
                fmt.points(gain.score),
                fmt.points(gain.other),
                signed(gain.gain),
                difference_span(gain.interval),
                fmt.number(gain.n),
            )
            for gain in mine
        ]
        console.print()
        heading = Text(benchmark, style="bold")
        whose = "" if several else f" of {mine[0].model}"
        heading.append(f"  gains{whose} on the same samples", style="dim")
        console.print(heading)
        console.print(text_table(("factor", "plain", "changed", "gain", "interval", "n"), rows))
        for gain in mine:
            clauses = ", ".join(told(gain))
            if clauses:
                console.print(Text(f"{gain.model} {gain.factor}: {clauses}", style="dim"))


def print_leakages(leakages: Sequence[Leakage], console: Console) -> None:
    from rich.text import Text

    if not leakages:
        return
    console.print(Text("multi-modal leakage: max(0, blind - language model)", style="bold"))
    rows = [
        (
            f"{one.model} on {one.benchmark}",
            fmt.points(one.without),
            f"{fmt.points(one.language)} ({one.language_model})",
            fmt.points(one.leakage),
            fmt.span(one.interval),
            fmt.number(one.n),
        )
        for one in leakages
    ]
    columns = ("model", "blind", "language model", "leakage", "interval", "n")
    console.print(text_table(columns, rows))
