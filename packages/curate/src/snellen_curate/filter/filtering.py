"""The step `filter`: which items to look at again, by what models answer.

The runs that it makes are ordinary ones, in the folder `runs` of the step: resumed, budgeted and
viewed as any other.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from snellen.api.evaluation import evaluate
from snellen.api.options import RunOptions
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import FetchProgress, Variant
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import AnyModel
from snellen.data_sets.decisions import FAILED, Action, Decision
from snellen.data_sets.items import ItemTable, item_record
from snellen.data_sets.step import MediaWriter, Step, open_step
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.report.documents.comparison import comparison_names
from snellen.report.format import plural
from snellen.store.runs import RunFolder, distinct_runs
from snellen_curate.asking import model_setting
from snellen_curate.filter.rules import (
    KINDS,
    MODEL_FLAGS,
    Judgement,
    ModelKind,
    Rule,
    check_rule,
    default_rules,
    parse_rule,
)
from snellen_curate.filter.summary import FilterResult, summarise
from snellen_curate.filter.verdicts import (
    EvidenceReader,
    ItemIndex,
    JudgedItems,
    RunVerdicts,
    brief_evidence,
    index_items,
    judge_items,
    read_verdicts,
    run_kind,
)
from snellen_curate.open_data import open_items
from snellen_curate.spending import read_spending
from snellen_curate.step_options import FilterOptions

RUNS_FOLDER = "runs"


@dataclass(frozen=True, slots=True)
class Reports:
    """Who follows the runs."""

    progress: Progress = NoProgress()  # noqa: RUF009 - frozen
    notify: Callable[[str], None] | None = None
    fetching: FetchProgress | None = None
    command: str = ""
    """Recorded with the runs, and shown as the command that resumes them."""


def run_models(
    models: Mapping[ModelKind, Sequence[AnyModel]],
    table: ItemTable,
    has_problems: bool,
    folder: Path,
    options: FilterOptions,
    reports: Reports,
) -> list[tuple[ModelKind, RunFolder]]:
    """Run the text-only models without images, then the vision models with them.

    `folder` is the step's. `has_problems`: some rows cannot be asked, so that the others are
    written to a file of their own. A budget is for all models together. Raises UsageError, and
    RunInterrupted on Ctrl-C, as `evaluate` does, and UsageError for a model that cannot take these
    questions.
    """
    data, columns = table.spec, dict(options.columns or {})
    if has_problems:
        data, columns = str(_write_askable(table, folder)), {}
    passed_on = {field.name for field in fields(options)} - {"circular", "columns", "budget", "prices"}
    asking = {name: getattr(options, name) for name in passed_on}
    made: list[tuple[ModelKind, RunFolder]] = []
    budget = options.budget
    for kind, names in models.items():
        if not names:
            continue
        before = _spending(folder, budget)
        others = [name for other in models if other != kind for name in models[other]]
        prices = _prices_for(options.prices, others)
        control = "blind" if kind == "text-only" else None
        variant = Variant(circular=options.circular, control=control, columns=columns)
        run_options = RunOptions(
            out=folder / RUNS_FOLDER, html=False, variant=variant, budget=budget, prices=prices, **asking
        )
        made += [(kind, run) for run in _run_kind(kind, names, data, run_options, reports)]
        budget = _remaining(budget, _spending(folder, budget) - before)
    return made


def _run_kind(
    kind: ModelKind, names: Sequence[AnyModel], data: str, options: RunOptions, reports: Reports
) -> Sequence[RunFolder]:
    """Run the models of one kind."""
    results = evaluate(
        list(names),
        data,
        options,
        command=reports.command,
        progress=reports.progress,
        fetching=reports.fetching,
        warned=reports.notify,
        serving=reports.notify,
    )
    for skipped in results.skipped:
        raise UsageError(f"{MODEL_FLAGS[kind]} {skipped.model}: {skipped.reason}")
    for lost in results.lost:
        if reports.notify is not None:
            reports.notify(str(lost))
    return results.runs


def _write_askable(table: ItemTable, folder: Path) -> Path:
    """Write the items that can be asked, with their media, into a folder; returns the data file. A
    run refuses data some of whose rows cannot be asked."""
    media = MediaWriter(folder)
    path = folder / "asked.jsonl"
    with atomic_file(path) as part, part.open("wb") as file:
        for item in table:
            if not item.problem:
                cells = {**item_record(item), **media.cells(item.sample.media)}
                file.write(msgspec.json.encode(cells) + b"\n")
    return path


def _prices_for(prices: Sequence[str], others: Sequence[AnyModel]) -> list[str]:
    """The prices without those of models that are asked in other runs."""
    elsewhere = " ".join(map(str, others))
    return [price for price in prices if price.rpartition(":")[0] not in elsewhere]


def _spending(folder: Path, budget: str | None) -> float:
    """What a step has spent so far, in the unit of the budget."""
    if budget is None:
        return 0.0
    spent = read_spending(folder)
    return spent.cost or 0.0 if Budget.parse(budget).is_money else spent.prompt_tokens + spent.completion_tokens


def _remaining(budget: str | None, spent: float) -> str | None:
    """What is left of a budget. A spent one is as good as spent: at least one reply must show it,
    since no budget is zero."""
    if budget is None:
        return None
    parsed = Budget.parse(budget)
    left = max(parsed.amount - spent, 1e-6)
    return f"{left:.6f}{'usd' if parsed.is_money else 'tok'}"


STEP = "filter"
NOT_FLAGGED = "no rule"
"""In place of a rule, in the decision about an item that no rule flags."""
SOURCE_COLUMN = "source"


@dataclass(frozen=True, slots=True)
class FilterRules:
    """What flags an item, and what becomes of it."""

    rules: tuple[str, ...] = ()
    """Such as `text-majority`, `text-more-than:2`, `vision-none`; empty for those of MMBench's Sec.
    3.2, as far as there are models for them."""
    min_replies: int | None = None
    """Models of a kind that must have replied for an item to be judged by these alone; None: as
    many as it takes for the others not to matter."""
    pairs: bool = True
    """Whether two yes/no questions of one unit are judged as one."""
    drop: tuple[ModelKind, ...] = ()
    """Rules of these kinds drop what they flag, without a person's look at it."""
    brief: bool = False
    """Whether the decisions about items that no rule flags leave out what the models replied."""
    by: tuple[str, ...] = ()
    """Columns to report shares by; empty for the groups of the data and their source."""


def filter_items(
    data: str | Path,
    out: str | Path,
    *,
    text_only: Sequence[AnyModel] = (),
    vision: Sequence[AnyModel] = (),
    runs: Sequence[str | Path] = (),
    rules: FilterRules = FilterRules(),
    options: FilterOptions = FilterOptions(),  # noqa: B008 - frozen
    reports: Reports = Reports(),
) -> FilterResult:
    """Flag the items that models answer without the image, and those that none answers with it;
    write a data set folder with a decision about every item.

    `text_only` models are asked without images, `vision` models with them; `runs` are stored runs
    whose `run.json` says which they are. Raises UsageError, DataError, and RunInterrupted on
    Ctrl-C; the same call goes on from there. MMBench Sec. 3.2, SEED-Bench-H Sec. 3.4.1.
    """
    stored = [(run_kind(run), run) for run in (distinct_runs(runs) if runs else [])]
    named: dict[ModelKind, Sequence[AnyModel]] = {"text-only": text_only, "vision": vision}
    counts = Counter(kind for kind, _ in stored) + Counter({kind: len(models) for kind, models in named.items()})
    _check_models(named)
    chosen = _choose_rules(rules, counts)
    table = open_items(data, options.columns)
    settings: dict[str, Any] = {
        **_rule_settings(rules, chosen),
        "circular": options.circular,
        "text_only": sorted(map(model_setting, text_only)),
        "vision": sorted(map(model_setting, vision)),
        "runs": sorted(run.info.name for _, run in stored),
    }
    with open_step(out, STEP, settings, table) as step:
        is_circular = options.circular != "off"
        index = index_items(table, rules.by or _group_columns(table), is_circular, rules.pairs)
        _check_items(index, table, rules)
        made = run_models(named, table, bool(index.problems), step.folder, options, reports)
        verdicts = _read_runs([*stored, *made], index, table, is_circular)
        judged = judge_items(index, verdicts, chosen, rules.min_replies)
        notices = tuple(_run_notices(verdicts, [run for _, run in made], options.budget))
        return _finish(step, table, judged, rules, notices)


def _rule_settings(rules: FilterRules, chosen: Sequence[Rule]) -> dict[str, Any]:
    return {
        "rules": [rule.name for rule in chosen],
        "min_replies": rules.min_replies,
        "pairs": rules.pairs,
        "drop": sorted(rules.drop),
        "brief": rules.brief,
    }


def _finish(
    step: Step, table: ItemTable, judged: JudgedItems, rules: FilterRules, notices: tuple[str, ...]
) -> FilterResult:
    """Record the decisions, write the items that are left, and end the step."""
    with EvidenceReader(judged.runs) as reader:
        for decision in _decisions(judged, rules, reader):
            before = step.decisions.get(decision.item)
            # An earlier start may have come to the same.
            if before is None or (before.action, before.rule) != (decision.action, decision.rule):
                step.decide(decision)
    step.write_items(item for item in table if step.decisions[item.id].action != "drop")
    result = summarise(judged, data=table.name, folder=str(step.folder), drop=rules.drop, notices=notices)
    step.finish(result.counts(), result.status)
    return result


def _check_models(named: Mapping[ModelKind, Sequence[AnyModel]]) -> None:
    """Raises UsageError if a model is named twice: each has one vote."""
    for kind, models in named.items():
        names = [model for model in models if isinstance(model, str)]
        for name, count in Counter(names).items():
            if count > 1:
                raise UsageError(f"{MODEL_FLAGS[kind]} names {name} {count} times; each model has one vote")


def _check_items(index: ItemIndex, table: ItemTable, rules: FilterRules) -> None:
    """Raises UsageError, before anything is asked, if no item can be judged, and UnknownName for a
    column to report by that no item has."""
    for column in rules.by:
        if index.groups[column][1] == [""]:
            raise UnknownName("column", column, table.columns)
    if not index.rows["has_gold"].any():
        raise UsageError(f"{table.path}: no item has an answer, so that no model can be right or wrong")
    if len(index.problems) == len(index):
        why = next(iter(index.problems.values()))
        raise UsageError(f"{table.path}: no item can be asked; the first: {why}")


def _choose_rules(rules: FilterRules, counts: Mapping[ModelKind, int]) -> list[Rule]:
    """The rules that are to be applied. Raises UsageError."""
    kinds = [kind for kind in KINDS if counts[kind]]
    if not kinds:
        raise UsageError("no model is named: name some with --text-only and -m, or stored runs with --runs")
    if rules.min_replies is not None and rules.min_replies < 1:
        raise UsageError(f"--limits min_replies={rules.min_replies}: expected at least 1")
    chosen = [parse_rule(text) for text in rules.rules] or default_rules(kinds)
    for rule in chosen:
        check_rule(rule, counts[rule.kind])
    return list(dict.fromkeys(chosen))


def _group_columns(table: ItemTable) -> tuple[str, ...]:
    """The columns by which items are grouped, and their source."""
    first = next(iter(table), None)
    groups = tuple(first.sample.groups) if first is not None else ()
    if SOURCE_COLUMN in table.columns and SOURCE_COLUMN not in groups:
        return (*groups, SOURCE_COLUMN)
    return groups


def _read_runs(
    runs: Sequence[tuple[ModelKind, RunFolder]], index: ItemIndex, table: ItemTable, is_circular: bool
) -> list[RunVerdicts]:
    """What the runs say. Raises UsageError if one of them is a copy of another."""
    copies = Counter(run.info.name for _, run in runs)
    for kind, run in runs:
        if copies[run.info.name] > 1:
            raise UsageError(
                f"{run.path} is the same {kind} run as another that is named; each model has one vote, so name it once"
            )
    names = comparison_names([run for _, run in runs])
    return [
        read_verdicts(run, name, kind, index, table.digest, is_circular)
        for (kind, run), name in zip(runs, names, strict=True)
    ]


def _decisions(judged: JudgedItems, rules: FilterRules, reader: EvidenceReader) -> Iterator[Decision]:
    """A decision about every item, in the order of the data."""
    verdicts = np.stack([run.verdicts for run in judged.runs], axis=1)  # (items, runs)
    brief_of = brief_evidence([run.name for run in judged.runs])
    passed = f"passes {', '.join(each.rule.name for each in judged.applied)}"
    flagged, undecided = judged.flagged_mask(), judged.undecided_mask()
    dropped = judged.flagged_mask(rules.drop)
    for name, position in judged.index.positions.items():
        if position in judged.problems:
            problem = judged.problems[position]
            yield Decision(name, "flag", STEP, problem.rule, problem.reason)
        elif flagged[position]:
            rule, reason = judged.reasons(position, Judgement.FLAG)
            action: Action = "drop" if dropped[position] else "flag"
            yield Decision(name, action, STEP, rule, reason, reader.read(position))
        elif undecided[position]:
            _, reason = judged.reasons(position, Judgement.UNDECIDED)
            yield Decision(name, "flag", STEP, FAILED, reason, reader.read(position))
        else:
            brief = brief_of(tuple(verdicts[position].tolist())) if rules.brief else None
            yield Decision(name, "keep", STEP, NOT_FLAGGED, passed, brief or reader.read(position))


def _run_notices(verdicts: Sequence[RunVerdicts], made: Sequence[RunFolder], budget: str | None) -> Iterator[str]:
    """Sentences about runs on other data, and about runs that ended early."""
    for run in verdicts:
        if run.changed:
            yield (
                f"{run.name}: {plural(run.changed, 'item has', 'items have')} another question, "
                "other options or another answer in the data now, and counts as not asked"
            )
        if run.unknown:
            yield f"{run.name}: {plural(run.unknown, 'sample')} of the run are not in the data"
    for folder in made:
        reason = folder.info.stopped
        if reason and budget is not None and "budget" in reason:
            # The run knows what was left for it alone.
            reason = f"the budget of {budget} for all models does not reach further"
        if reason:
            yield f"{folder.info.model} was stopped: {reason}"
