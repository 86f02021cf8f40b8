"""Findings about multiple choice: letters, refusals and the steps of parsing (MMBench Fig. 4 and
Table 4, MMT-Bench Table A16)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise

from snellen.analysis.findings.choices import FIRST_PASS, Choices, choices, first_passes, has_first_pass_alone
from snellen.analysis.parsing.parsing_steps import step_rates
from snellen.core.errors import UsageError
from snellen.extract.llm import EXTRACTOR
from snellen.extract.steps import STEPS
from snellen.report.document import Document, titled_document
from snellen.report.format import percent_interval
from snellen.report.plots.series import stacked_bars
from snellen.report.table import Column, Table
from snellen.stats.paired import holm
from snellen.store.runs import RunFolder

GOLD = "gold answers"


def letters(runs: Sequence[RunFolder], names: Sequence[str]) -> Document:
    """Chosen letters against gold letters, and a test of whether positions are preferred."""
    choices_by_run, notices = _choices(runs, names, "category")
    rows = [
        (
            name,
            letter.label,
            letter.chosen,
            _as_percent(letter.share),
            percent_interval(letter.interval),
            letter.gold,
            _as_percent(letter.excess),
        )
        for name, run_choices in choices_by_run.items()
        for letter in run_choices.letters
    ]
    adjusted = _adjust_tests(choices_by_run)
    tests = [
        (
            name,
            run_choices.test or "–",
            run_choices.bias.statistic if run_choices.bias else None,
            run_choices.bias.freedom if run_choices.bias else None,
            run_choices.bias.p if run_choices.bias else None,
            *((adjusted.get(name),) if len(adjusted) > 1 else ()),
            run_choices.bias.draws or None if run_choices.bias else None,
        )
        for name, run_choices in choices_by_run.items()
    ]
    columns = (
        Column("run", "name"),
        Column("letter"),
        Column("chosen", "count"),
        Column("%", "points"),
        Column("95 % interval", "points"),
        Column("gold", "count", is_optional=True),
        Column("above expected", "signed"),
    )
    bias = (
        Column("run", "name"),
        Column("test of a preferred place"),
        Column("chi-square", "points"),
        Column("freedom", "count", is_optional=True),
        Column("p", "p"),
        *((Column("Holm p", "p"),) if len(adjusted) > 1 else ()),
        Column("draws", "count", is_optional=True),
    )
    return titled_document(
        "letters chosen, over all passes",
        (Table("", columns, rows), Table("", bias, tests)),
        notices,
        (lambda: stacked_bars("Letters chosen and gold letters", _letter_shares(choices_by_run)))
        if choices_by_run
        else None,
    )


def _adjust_tests(choices_by_run: Mapping[str, Choices]) -> dict[str, float]:
    """The p of each run's test, adjusted by Holm over the runs that have one."""
    p_values = {
        name: run_choices.bias.p for name, run_choices in choices_by_run.items() if run_choices.bias is not None
    }
    return dict(zip(p_values, holm(list(p_values.values())), strict=True))


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
        (
            name,
            run_choices.refused.refused,
            run_choices.passes,
            _as_percent(_fraction(*run_choices.refused)),
            run_choices.accuracy,
            run_choices.upper_bound,
        )
        for name, run_choices in choices_by_run.items()
    ]
    rows = [
        (name, label or "–", counts.refused, counts.passes, _as_percent(_fraction(*counts)))
        for name, run_choices in choices_by_run.items()
        for label, counts in sorted(run_choices.refusals.items(), key=lambda item: -_fraction(*item[1]))
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
        upto = [_as_percent(rates.share(step)) for step in STEPS]
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


def _fraction(part: int, total: int) -> float:
    return part / total if total else 0.0


def _as_percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction
