"""Findings about multiple choice: letters, refusals and the steps of reading (MMBench Fig. 4 and
Table 4, MMT-Bench Table A16)."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from snellen.analysis.findings.choices import Choices, censoring_reason, choices
from snellen.analysis.parsing.parsing_steps import step_rates
from snellen.core.errors import UsageError
from snellen.extract.llm import EXTRACTOR
from snellen.extract.steps import STEPS
from snellen.report.findings.finding import Finding, FindingTable, TableColumn, percent_interval
from snellen.report.plots.series import stacked_bars
from snellen.store.runs import RunFolder

GOLD = "gold answers"


def letters(runs: Sequence[RunFolder], names: Sequence[str]) -> Finding:
    """Letters chosen against gold, and whether places are preferred."""
    found, notices = _choices(runs, names, "category")
    rows = [
        (name, one.label, one.chosen, _as_percent(one.share), percent_interval(one.interval), one.gold,
         _as_percent(one.excess))
        for name, made in found.items()
        for one in made.letters
    ]  # fmt: skip
    tests = [
        (name, made.test or "–", made.bias.statistic if made.bias else None,
         made.bias.freedom if made.bias else None, made.bias.p if made.bias else None,
         made.bias.draws or None if made.bias else None)
        for name, made in found.items()
    ]  # fmt: skip
    columns = (TableColumn("run"), TableColumn("letter"), TableColumn("chosen", "count"), TableColumn("%", "points"),
               TableColumn("95 % interval", "interval"), TableColumn("gold", "count"),
               TableColumn("above expected", "signed"))  # fmt: skip
    bias = (TableColumn("run"), TableColumn("test of a preferred place"), TableColumn("chi-square", "points"),
            TableColumn("freedom", "count"), TableColumn("p", "p"), TableColumn("draws", "count"))  # fmt: skip
    return Finding(
        "letters chosen, over all passes",
        (FindingTable("", columns, rows), FindingTable("", bias, tests)),
        notices,
        (lambda: stacked_bars("Letters chosen and gold letters", _letter_shares(found)))
        if found
        else None,
    )


def _letter_shares(choices: dict[str, Choices]) -> dict[str, dict[str, float]]:
    """Gold first, once for each different distribution."""
    rows: dict[str, dict[str, float]] = {}
    for name, made in choices.items():
        gold = {one.label: float(one.gold) for one in made.letters}
        if gold not in rows.values():
            rows[GOLD if GOLD not in rows else f"{GOLD}, {name}"] = gold
    for name, made in choices.items():
        rows[name] = {one.label: float(one.chosen) for one in made.letters}
    return rows


def refusals(runs: Sequence[RunFolder], names: Sequence[str], group: str) -> Finding:
    """Refused passes by group, and the score if every refused pass had been right."""
    found, notices = _choices(runs, names, group)
    bounds = [
        (name, made.refused.refused, made.passes, _as_percent(_fraction(*made.refused)), made.accuracy,
         made.upper_bound)
        for name, made in found.items()
    ]  # fmt: skip
    rows = [
        (name, label or "–", one.refused, one.passes, _as_percent(_fraction(*one)))
        for name, made in found.items()
        for label, one in sorted(made.refusals.items(), key=lambda item: -_fraction(*item[1]))
        if one.refused
    ]
    counts = (
        TableColumn("refused", "count"),
        TableColumn("passes", "count"),
        TableColumn("%", "points"),
    )
    upper = (TableColumn("score", "points"), TableColumn("upper bound", "points"))
    grids = [FindingTable("", (TableColumn("run"), *counts, *upper), bounds)]
    if rows:
        grids.append(
            FindingTable("where they are", (TableColumn("run"), TableColumn(group), *counts), rows)
        )
    return Finding("refusals, and the score without them", grids, notices)


def steps(runs: Sequence[RunFolder], names: Sequence[str]) -> Finding:
    """Success rate of each step of the reading."""
    rows = []
    for run, name in zip(runs, names, strict=True):
        made = step_rates(run.records(), extractor=EXTRACTOR in run.info.config.roles)
        if not made.replies:
            continue
        upto = [_as_percent(made.share(step)) for step in STEPS]
        added = [
            None if now is None or before is None else now - before
            for before, now in pairwise(upto)
        ]
        refused = 100 * made.refused / made.replies
        rows.append((name, upto[0], upto[1], added[0], upto[2], added[1], refused, made.replies))
    if not rows:
        raise UsageError("no run has replies to multiple-choice questions; give a run that has")
    columns = (
        TableColumn("run"), TableColumn("1 label", "points"), TableColumn("2 content", "points"),
        TableColumn("2 - 1", "signed"), TableColumn("3 LLM", "points"), TableColumn("3 - 2", "signed"),
        TableColumn("refused", "points"), TableColumn("replies", "count"),
    )  # fmt: skip
    return Finding("replies read after each step, in percent", (FindingTable("", columns, rows),))


def _choices(
    runs: Sequence[RunFolder], names: Sequence[str], group: str
) -> tuple[dict[str, Choices], list[str]]:
    found, notices = {}, []
    for run, name in zip(runs, names, strict=True):
        reason = censoring_reason(run.info)
        made = None if reason else choices(run.records(), group)
        if made is None:
            notices.append(f"{name}: {reason}")
        elif not made.passes:
            notices.append(f"{name}: no multiple-choice question was answered")
        else:
            found[name] = made
    return found, notices


def _fraction(part: int, total: int) -> float:
    return part / total if total else 0.0


def _as_percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction
