"""Gains from settings, and leakage: for the terminal, for pages, and as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.causes.gains import ABSENT, CONTROL, Gain
from snellen.analysis.findings.leakage import Leakage
from snellen.report import format as fmt
from snellen.report.document import Block, Line, Space
from snellen.report.plots.series import Value, dot_plot
from snellen.report.table import Column, Table
from snellen.report.terminal.table import text_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from rich.console import Console


class GainRow(NamedTuple):
    """A formatted gain; `cells` are in the order of the board's columns."""

    cells: tuple[str, ...]
    remarks: tuple[str, ...]


class GainBoard(NamedTuple):
    """The gains of one benchmark."""

    benchmark: str
    whose: str
    """The model if all gains are of the same one; otherwise empty, and the rows name the model."""
    columns: tuple[str, ...]
    rows: tuple[GainRow, ...]
    legend: str
    """What the differences are, and in which direction."""


def gain_boards(gains: Sequence[Gain]) -> Iterator[GainBoard]:
    """One board for each benchmark, or for each benchmark and model if there are gains of
    groups."""
    grouped = any(gain.group for gain in gains)
    tests = sum(gain.p is not None for gain in gains)
    columns = ("setting", "base", "changed", "gain", "95 % interval", _p_heading(tests), "n")
    boards: dict[tuple[str, str], list[Gain]] = {}
    for gain in gains:
        boards.setdefault((gain.benchmark, gain.model if grouped else ""), []).append(gain)
    for (benchmark, _), mine in boards.items():
        models = {gain.model for gain in mine}
        whose = mine[0].model if len(models) == 1 else ""
        rows = tuple(_row(gain, alone=bool(whose)) for gain in mine)
        yield GainBoard(benchmark, whose, columns, rows, _legend(mine, tests))


def _p_heading(tests: int) -> str:
    return "Holm p" if tests > 1 else "p"


def _row(gain: Gain, alone: bool) -> GainRow:
    name = f"  {fmt.display_name(gain.group)}" if gain.group else setting_text(gain)
    cells = (
        name if alone else f"{gain.model}: {name}",
        fmt.score_text(gain.base_score),
        fmt.score_text(gain.score),
        fmt.difference_text(gain.gain),
        fmt.difference_interval_text(gain.interval),
        fmt.p_text(gain.p_holm),
        fmt.count_text(gain.n),
    )
    return GainRow(cells, tuple(_remarks(gain)))


def setting_text(gain: Gain) -> str:
    """The changed setting: `blind`, `cot=on`; if the base has the setting too, `images: native →
    stitch`."""
    if gain.base != ABSENT:
        return f"{gain.setting}: {gain.base} → {gain.value}"
    return gain.value if gain.setting == CONTROL else f"{gain.setting}={gain.value}"


def _remarks(gain: Gain) -> Iterator[str]:
    """Remarks on a gain, as clauses."""
    if gain.answerable is not None:
        yield f"right from the text alone: {gain.answerable.value:.1f} %"
    if gain.answerable_of_right is not None:
        yield f"among those right with the images: {gain.answerable_of_right.value:.1f} %"
    if gain.left_out:
        yield f"{fmt.plural(gain.left_out, 'sample')} left out, not scored in both or not alike"


def _legend(gains: Sequence[Gain], tests: int) -> str:
    """What the columns mean; `tests` is the number of gains that are tested."""
    adjusted = f"; p adjusted by Holm for {tests} gains, intervals each alone" if tests > 1 else ""
    controls = {gain.setting == CONTROL for gain in gains}
    if controls == {True}:
        return f"gain: base – changed, what the control takes away{adjusted}"
    if controls == {False}:
        return f"gain: changed – base{adjusted}"
    return (
        "gain: base – changed for a control, which takes something away; else changed – base"
        f"{adjusted}"
    )


def print_gains(gains: Sequence[Gain], console: Console) -> None:
    """Print one table for each benchmark; nothing without gains."""
    from rich.text import Text

    for board in gain_boards(gains):
        console.print()
        heading = Text(board.benchmark, style="bold")
        whose = f" of {board.whose}" if board.whose else ""
        heading.append(f"  gains{whose} on the same samples", style="dim")
        console.print(heading)
        console.print(text_table(board.columns, [row.cells for row in board.rows]))
        for row in board.rows:
            if row.remarks:
                console.print(Text(f"{row.cells[0]}: {', '.join(row.remarks)}", style="dim"))
        console.print(Text(board.legend, style="dim"))


def gain_blocks(gains: Sequence[Gain]) -> Iterator[Block]:
    """A table for each benchmark; nothing without gains."""
    for board in gain_boards(gains):
        yield Space()
        whose = f" of {board.whose}" if board.whose else ""
        yield Line(board.benchmark, "heading", f"gains{whose} on the same samples")
        remarks = [f"{row.cells[0]}: {', '.join(row.remarks)}" for row in board.rows if row.remarks]
        columns = [
            Column(board.columns[0]),
            *(Column(name, "points") for name in board.columns[1:]),
        ]
        yield Table("", columns, [row.cells for row in board.rows], [*remarks, board.legend])


def print_leakages(leakages: Sequence[Leakage], console: Console) -> None:
    """Print the leakage of each model as a table; nothing without leakages."""
    from rich.text import Text

    if not leakages:
        return
    console.print()
    console.print(Text("multi-modal leakage: max(0, blind – language model)", style="bold"))
    rows = [
        (
            f"{leakage.model} on {leakage.benchmark}",
            fmt.score_text(leakage.without),
            f"{fmt.score_text(leakage.language)} ({leakage.language_model})",
            fmt.score_text(leakage.leakage),
            fmt.interval_text(leakage.interval),
            fmt.count_text(leakage.n),
        )
        for leakage in leakages
    ]
    columns = ("model", "blind", "language model", "leakage", "95 % interval", "n")
    console.print(text_table(columns, rows))


def gain_plot(gains: Sequence[Gain]) -> Figure:
    """Base and changed score of each row; a row is a group, or a model if no gain has a group.

    Raises MissingExtra without matplotlib.
    """
    grouped = any(gain.group for gain in gains)
    drawn_gains = [gain for gain in gains if bool(gain.group) == grouped]
    has_models = len({gain.model for gain in drawn_gains}) > 1
    series: dict[str, dict[str, Value]] = {}
    for gain in drawn_gains:
        row = fmt.display_name(gain.group) if grouped else gain.model
        row = f"{gain.model}: {row}" if grouped and has_models else row
        series.setdefault(_end_label(gain.setting, gain.base), {})[row] = Value(gain.base_score)
        series.setdefault(_end_label(gain.setting, gain.value), {})[row] = Value(gain.score)
    settings = list(dict.fromkeys(gain.setting for gain in drawn_gains))
    percent = all(gain.unit == "percent" for gain in drawn_gains)
    return dot_plot(f"Scores by {', '.join(settings)}", series, fit_axis=not percent)


def _end_label(setting: str, value: str) -> str:
    return f"no {setting}" if value == ABSENT else f"{setting}={value}"
