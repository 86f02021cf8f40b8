"""Findings about multiple choice: letters, refusals and the steps of parsing (MMBench Fig. 4 and
Table 4, MMT-Bench Table A16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from snellen.analysis.findings.choices import (
    FIRST_PASS,
    Choices,
    Refusals,
    choices,
    first_passes,
    has_first_pass_alone,
    step_rates,
)
from snellen.core.errors import UsageError
from snellen.extract.llm import EXTRACTOR
from snellen.extract.steps import STEPS
from snellen.report.document import Column, Document, Table, table_of, titled_document
from snellen.report.format import percent, percent_interval
from snellen.report.plots.series import stacked_bars
from snellen.stats.paired import holm_of_tested
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GOLD = "gold answers"


def letters(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Chosen letters against gold letters, and a test of whether positions are preferred."""
    choices_by_run, notices = _choices(runs, names, "category")
    chosen = table_of(
        "",
        [(name, letter) for name, run_choices in choices_by_run.items() for letter in run_choices.letters],
        [
            (Column("run", "name"), lambda row: row[0]),
            (Column("letter"), lambda row: row[1].label),
            (Column("chosen", "count"), lambda row: row[1].chosen),
            (Column("%", "points"), lambda row: percent(row[1].share)),
            (Column("95 % interval", "points"), lambda row: percent_interval(row[1].interval)),
            (Column("gold", "count", is_optional=True), lambda row: row[1].gold),
            (Column("above expected", "signed"), lambda row: percent(row[1].excess)),
        ],
    )

    def plot() -> Figure:
        return stacked_bars("Letters chosen and gold letters", _letter_shares(choices_by_run))

    return titled_document(
        "letters chosen, over all passes",
        [chosen, _tests_table(choices_by_run)],
        notices,
        plot if choices_by_run else None,
    )


def _tests_table(choices_by_run: Mapping[str, Choices]) -> Table:
    """The test of each run; with several, p is adjusted by Holm too."""
    biases = [run_choices.bias for run_choices in choices_by_run.values()]
    adjusted = holm_of_tested([bias and bias.p for bias in biases])
    several = sum(bias is not None for bias in biases) > 1
    return table_of(
        "",
        zip(choices_by_run, choices_by_run.values(), adjusted, strict=True),
        [
            (Column("run", "name"), lambda row: row[0]),
            (Column("test of a preferred place"), lambda row: row[1].test or "–"),
            (Column("chi-square", "points"), lambda row: row[1].bias and row[1].bias.statistic),
            (Column("freedom", "count", is_optional=True), lambda row: row[1].bias and row[1].bias.freedom),
            (Column("p", "p"), lambda row: row[1].bias and row[1].bias.p),
            *([(Column("Holm p", "p"), lambda row: row[2])] if several else []),
            (Column("draws", "count", is_optional=True), lambda row: (row[1].bias and row[1].bias.draws) or None),
        ],
    )


def _letter_shares(choices: dict[str, Choices]) -> dict[str, dict[str, float]]:
    """The rows of the plot: gold letters once for each distinct distribution, then each run."""
    rows: dict[str, dict[str, float]] = {}
    for name, run_choices in choices.items():
        gold = {letter.label: float(letter.gold) for letter in run_choices.letters}
        if gold not in rows.values():
            rows[GOLD if GOLD not in rows else f"{GOLD}, {name}"] = gold
    for name, run_choices in choices.items():
        rows[name] = {letter.label: float(letter.chosen) for letter in run_choices.letters}
    return rows


def refusals(runs: Sequence[RunFolder], names: Sequence[str], group: str) -> Document:
    """Refused passes by group, and the score if every refused pass were right."""
    choices_by_run, notices = _choices(runs, names, group)
    bounds = [
        (name, *_refusal_cells(run_choices.refused), run_choices.accuracy, run_choices.upper_bound)
        for name, run_choices in choices_by_run.items()
    ]
    rows = [
        (name, label or "–", *_refusal_cells(counts))
        for name, run_choices in choices_by_run.items()
        for label, counts in sorted(run_choices.refusals.items(), key=lambda item: -item[1].share)
        if counts.refused
    ]
    counts = (Column("refused", "count"), Column("passes", "count"), Column("%", "points"))
    upper = (Column("score", "points"), Column("upper bound", "points"))
    grids = [Table("", (Column("run", "name"), *counts, *upper), bounds)]
    if rows:
        grids.append(Table("where they are", (Column("run", "name"), Column(group), *counts), rows))
    return titled_document("refusals, and the score without them", grids, notices)


def steps(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """The success rate of each step of parsing."""
    rows = []
    for run, name in zip(runs, names, strict=True):
        rates = step_rates(run.records(), extractor=EXTRACTOR in run.info.config.roles)
        if not rates.replies:
            continue
        upto = [percent(rates.share(step)) for step in STEPS]
        added = [None if now is None or before is None else now - before for before, now in pairwise(upto)]
        refused = 100 * rates.refused / rates.replies
        rows.append((name, upto[0], upto[1], added[0], upto[2], added[1], refused, rates.replies))
    if not rows:
        raise UsageError("no run has replies to multiple-choice questions; give a run that has")
    columns = (
        Column("run", "name"),
        Column("1 label", "points"),
        Column("2 content", "points"),
        Column("2 - 1", "signed", is_optional=True),
        Column("3 LLM", "points"),
        Column("3 - 2", "signed", is_optional=True),
        Column("refused", "points"),
        Column("replies", "count", is_optional=True),
    )
    return titled_document("replies read after each step, in percent", (Table("", columns, rows),))


def _choices(runs: Sequence[RunFolder], names: Sequence[str], group: str) -> tuple[dict[str, Choices], list[str]]:
    choices_by_run, notices = {}, []
    for run, name in zip(runs, names, strict=True):
        is_first_alone = has_first_pass_alone(run.info)
        records = first_passes(run.records()) if is_first_alone else run.records()
        run_choices = choices(records, group)
        if not run_choices.passes:
            notices.append(f"{name}: no multiple-choice question was answered")
            continue
        if is_first_alone:
            notices.append(f"{name}: {FIRST_PASS}")
        choices_by_run[name] = run_choices
    return choices_by_run, notices


def _refusal_cells(counts: Refusals) -> tuple[int, int, float]:
    return counts.refused, counts.passes, 100 * counts.share
