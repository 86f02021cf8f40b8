"""Gains from settings, and leakage: as tables for every format, and as a plot."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from snellen.analysis.causes.gains import ABSENT, CONTROL, Gain, Leakage
from snellen.core.grouping import group_by
from snellen.report import format as fmt
from snellen.report.document import Block, Column, Document, EmptyLine, IntervalEstimate, Line, Table, table_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from snellen.report.plots.series import Value


def gain_document(gains: Sequence[Gain], leakages: Sequence[Leakage]) -> Document:
    """The gains of each benchmark, then the leakage of each model."""
    blocks = gain_blocks(gains)
    if leakages:
        blocks += [EmptyLine(), _leakage_table(leakages)]
    records = _gain_records(gains) if gains else None
    plot = partial(gain_plot, gains) if gains else None
    return Document(blocks[1:], {"gains": gains, "leakages": leakages}, records, plot)


def gain_blocks(gains: Sequence[Gain]) -> list[Block]:
    """An empty line, a heading and a table for each benchmark; nothing without gains."""
    return [block for heading, table in gain_tables(gains) for block in (EmptyLine(), heading, table)]


def gain_tables(gains: Sequence[Gain]) -> Iterator[tuple[Line, Table]]:
    """A heading and a table for each benchmark, or for each benchmark and model if there are gains
    of groups."""
    grouped = any(gain.group for gain in gains)
    tests = sum(gain.p is not None for gain in gains)
    members = group_by(gains, lambda gain: (gain.benchmark, gain.model if grouped else ""))
    for (benchmark, _), mine in members.items():
        whose = f" of {mine[0].model}" if len({gain.model for gain in mine}) == 1 else ""
        names = [_row_name(gain, alone=bool(whose)) for gain in mine]
        remarks = [
            f"{name}: {', '.join(clauses)}"
            for name, gain in zip(names, mine, strict=True)
            if (clauses := list(_remarks(gain)))
        ]
        table = table_of(
            "",
            zip(names, mine, strict=True),
            [
                (Column("setting", "name"), lambda row: row[0]),
                (Column("base", "points", is_optional=True), lambda row: row[1].base_score),
                (Column("changed", "points", is_optional=True), lambda row: row[1].score),
                (Column("gain", "signed"), lambda row: row[1].gain),
                (Column("95 % interval", "signed"), lambda row: row[1].interval),
                (Column("Holm p" if tests > 1 else "p", "p"), lambda row: row[1].p_holm),
                (Column("n", "count", is_optional=True), lambda row: row[1].n),
            ],
            [*remarks, _legend(mine, tests)],
        )
        yield Line(benchmark, "heading", f"gains{whose} on the same samples"), table


def _row_name(gain: Gain, alone: bool) -> str:
    """The setting or group, behind the model unless all gains are of one model."""
    name = f"  {fmt.display_name(gain.group)}" if gain.group else setting_text(gain)
    return name if alone else f"{gain.model}: {name}"


def _gain_records(gains: Sequence[Gain]) -> Table:
    return table_of(
        "",
        gains,
        [
            (Column("benchmark"), lambda gain: gain.benchmark),
            (Column("model"), lambda gain: gain.model),
            (Column("setting"), lambda gain: gain.setting),
            (Column("base"), lambda gain: gain.base),
            (Column("changed"), lambda gain: gain.value),
            (Column("group"), lambda gain: gain.group),
            (Column("base score", "points"), lambda gain: gain.base_score),
            (Column("changed score", "points"), lambda gain: gain.score),
            (Column("gain", "signed"), lambda gain: IntervalEstimate(gain.gain, gain.interval)),
            (Column("p", "p"), lambda gain: gain.p),
            (Column("Holm p", "p"), lambda gain: gain.p_holm),
            (Column("n", "count"), lambda gain: gain.n),
        ],
    )


def _leakage_table(leakages: Sequence[Leakage]) -> Table:
    names = ", ".join(dict.fromkeys(one.language_model for one in leakages))
    return table_of(
        "multi-modal leakage: max(0, blind – language model)",
        leakages,
        [
            (Column("model", "name"), lambda one: f"{one.model} on {one.benchmark}"),
            (Column("blind", "points"), lambda one: one.without),
            (Column("language model", "points"), lambda one: one.language),
            (Column("leakage", "points"), lambda one: one.leakage),
            (Column("95 % interval", "points"), lambda one: one.interval),
            (Column("n", "count", is_optional=True), lambda one: one.n),
        ],
        [f"language model: {names}"],
    )


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
    return f"gain: base – changed for a control, which takes something away; else changed – base{adjusted}"


def gain_plot(gains: Sequence[Gain]) -> Figure:
    """Base and changed score of each row; a row is a group, or a model if no gain has a group.

    Raises MissingExtra without matplotlib.
    """
    from snellen.report.plots.series import Value, dot_plot

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
