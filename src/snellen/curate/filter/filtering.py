"""The step `filter`: which items to look at again, by what models answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen.curate.decisions import FAILED, Action, Decision
from snellen.curate.filter.judging import JudgedItems, judge_items
from snellen.curate.filter.model_runs import FilterOptions, Reports, run_models
from snellen.curate.filter.rules import (
    Judgement,
    ModelKind,
    Rule,
    check_rule,
    default_rules,
    parse_rule,
)
from snellen.curate.filter.summary import FilterResult, summarise
from snellen.curate.filter.verdicts import (
    BriefEvidence,
    ItemIndex,
    RunVerdicts,
    evidence_at,
    index_items,
    read_verdicts,
    run_kind,
)
from snellen.curate.items import ItemTable, open_items
from snellen.curate.step import Step, open_step
from snellen.report.format import plural
from snellen.report.terminal.comparison import comparison_names
from snellen.store.runs import RunFolder, distinct_runs

STEP = "filter"
SOURCE_COLUMN = "source"
_KINDS: tuple[ModelKind, ...] = ("text-only", "vision")

KindedRun = tuple[ModelKind, RunFolder]
"""A run, and whether its model was asked with the pictures."""


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
    drop: bool = False
    """Whether flagged items are dropped, without a person's look at them."""
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
    reports: Reports = Reports(),  # noqa: B008 - frozen
) -> FilterResult:
    """Flag the items that models answer without the picture, and those that none answers with it;
    write a data set folder with a decision about every item.

    `text_only` models are asked without pictures, `vision` models with them; `runs` are stored runs
    whose `run.json` says which they are. Raises UsageError, DataError, and RunInterrupted on
    Ctrl-C; the same call goes on from there. MMBench Sec. 3.2, SEED-Bench-H Sec. 3.4.1.
    """
    stored = [(run_kind(run), run) for run in (distinct_runs(runs) if runs else [])]
    named: dict[ModelKind, Sequence[AnyModel]] = {"text-only": text_only, "vision": vision}
    counts = Counter(kind for kind, _ in stored)
    counts.update({kind: len(models) for kind, models in named.items()})
    chosen = _choose_rules(rules, counts)
    table = open_items(data, options.columns)
    settings: dict[str, Any] = {
        "rules": [rule.name for rule in chosen],
        "min_replies": rules.min_replies,
        "pairs": rules.pairs,
        "drop": rules.drop,
        "circular": options.circular,
        "text_only": sorted(map(str, text_only)),
        "vision": sorted(map(str, vision)),
        "runs": sorted(run.info.name for _, run in stored),
    }
    with open_step(out, STEP, settings, table) as step:
        columns = rules.by or _group_columns(table)
        is_circular = options.circular != "off"
        index = index_items(table, columns, is_circular, rules.pairs)
        made = run_models(named, table, bool(index.problems), step.folder, options, reports)
        verdicts = _read_runs([*stored, *made], index, table, is_circular)
        judged = judge_items(index, verdicts, chosen, rules.min_replies)
        for decision in _decisions(judged, rules.drop):
            _record(step, decision)
        step.write_items(item for item in table if step.decisions[item.id].action != "drop")
        result = summarise(
            judged,
            data=table.name,
            folder=str(step.folder),
            dropped=rules.drop,
            notices=tuple(_run_notices(verdicts, [run for _, run in made])),
        )
        step.finish(result.counts(), result.status)
        return result


def _choose_rules(rules: FilterRules, counts: Mapping[ModelKind, int]) -> list[Rule]:
    """The rules that are to be applied. Raises UsageError."""
    kinds = [kind for kind in _KINDS if counts[kind]]
    if not kinds:
        raise UsageError(
            "no model is named: name some with --text-only and --vision, or stored runs with --runs"
        )
    if rules.min_replies is not None and rules.min_replies < 1:
        raise UsageError(f"--min-replies is {rules.min_replies}; expected at least 1")
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
    runs: Sequence[KindedRun], index: ItemIndex, table: ItemTable, is_circular: bool
) -> list[RunVerdicts]:
    names = comparison_names([run for _, run in runs])
    return [
        read_verdicts(run, name, kind, index, table.digest, "circular" if is_circular else "once")
        for (kind, run), name in zip(runs, names, strict=True)
    ]


def _decisions(judged: JudgedItems, drop: bool) -> Iterator[Decision]:
    """A decision about every item, in the order of the data."""
    import numpy as np

    index = judged.index
    verdicts = np.stack([run.verdicts for run in judged.runs], axis=1)  # (items, runs)
    brief = BriefEvidence([run.name for run in judged.runs])
    passed = ", ".join(each.rule.name for each in judged.applied)
    flagged, undecided = judged.flagged_mask(), judged.undecided_mask()
    for position, name in enumerate(index.ids):
        if position in judged.problems:
            problem = judged.problems[position]
            yield Decision(name, "flag", STEP, problem.rule, problem.reason)
        elif flagged[position]:
            yield _raise_flag(judged, position, Judgement.FLAG, "drop" if drop else "flag")
        elif undecided[position]:
            yield _raise_flag(judged, position, Judgement.UNDECIDED, "flag")
        else:
            yield Decision(name, "keep", STEP, passed, evidence=brief.of(verdicts[position]))


def _raise_flag(
    judged: JudgedItems, position: int, judgement: Judgement, action: Action
) -> Decision:
    """The decision about an item of which some rules say `judgement`, with what models replied."""
    rules = [each for each in judged.applied if each.judgements[position] == judgement]
    is_pair = bool(judged.index.sizes[position] > 1)
    return Decision(
        judged.index.ids[position],
        action,
        STEP,
        FAILED if judgement == Judgement.UNDECIDED else ", ".join(each.rule.name for each in rules),
        "; ".join(dict.fromkeys(each.reason(position, is_pair) for each in rules)),
        tuple(evidence_at(run, position) for run in judged.runs),
    )


def _record(step: Step, decision: Decision) -> None:
    """Record a decision, unless an earlier start came to the same."""
    before = step.decisions.get(decision.item)
    if before is None or (before.action, before.rule) != (decision.action, decision.rule):
        step.decide(decision)


def _run_notices(verdicts: Sequence[RunVerdicts], made: Sequence[RunFolder]) -> Iterator[str]:
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
        if folder.info.stopped:
            yield f"{folder.info.model} was stopped: {folder.info.stopped}"
