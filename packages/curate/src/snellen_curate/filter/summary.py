"""What a filter found, by rule, by model, by source and ability: the numbers, and the sentences and
tables of them that are printed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import msgspec
import numpy as np
from msgspec import Struct
from numpy import float64, intp
from numpy.typing import NDArray

from snellen.core.summary import Interval
from snellen.data_sets.step import Status
from snellen.report import format as fmt
from snellen.report.document import Block, Cell, Column, Document, EmptyLine, IntervalEstimate, Line, Table
from snellen_curate.filter.rules import Judgement, ModelKind, expected_flags
from snellen_curate.filter.verdicts import (
    NO_ANSWER,
    NO_IMAGE,
    UNREADABLE,
    ItemVerdict,
    JudgedItems,
    JudgedRule,
    RunVerdicts,
)


class ModelCount(Struct, frozen=True):
    """How one model did on the items that can be asked; the questions of a pair count each."""

    model: str
    kind: ModelKind
    run: str
    """Path of its run."""
    right: int
    wrong: int
    silent: int
    """Without a reply, or one that could be scored."""
    chance: float
    """Items that guessing independently in every pass would get right, of those it replied to."""


class RuleCount(Struct, frozen=True):
    """How many items a rule flags, and how many it would if the models guessed."""

    rule: str
    kind: ModelKind
    sentence: str
    source: str
    is_applied: bool
    """Whether it decides; the other rules are counted to compare."""
    models: int
    items: int
    """That can be asked and have an answer."""
    flagged: int
    undecided: int
    expected: float | None
    """Flags if every model guessed independently in every pass; None if no item's options are
    known."""
    expected_low: int | None
    expected_high: int | None
    """Of 100 data sets like this one, 95 would have from `expected_low` to `expected_high`."""
    expected_same_text: float | None
    """Flags if every model drew one option and kept to its text in all rotations."""


class GroupCount(Struct, frozen=True):
    """The items with one value of a column."""

    column: str
    value: str
    items: int
    flagged: dict[str, int]
    """By applied rule."""
    expected: dict[str, float]
    """By applied rule: if every model guessed independently in every pass."""
    by_any: int
    """Flagged by one applied rule or more."""
    undecided: int


class FilterResult(Struct, frozen=True):
    """What a filter found. Every item counts once: in `kept`, `flagged`, `dropped`, `undecided`, or
    in `problems`."""

    data: str
    folder: str
    status: Status
    items: int
    pairs: int
    """Pairs of yes/no questions that were judged as one."""
    kept: int
    flagged: int
    dropped: int
    undecided: int
    """Too few models replied; the next start asks again."""
    problems: dict[str, int]
    """Items that no model can be judged by, flagged too: `unreadable`, `no image`, `no answer`.
    """
    rules: tuple[RuleCount, ...]
    models: tuple[ModelCount, ...]
    groups: tuple[GroupCount, ...]
    notices: tuple[str, ...] = ()

    def counts(self) -> dict[str, Any]:
        """The numbers, as `step.json` keeps them."""
        plain: dict[str, Any] = msgspec.to_builtins(self)
        return {name: plain[name] for name in plain if name not in ("data", "folder", "status")}


def summarise(
    judged: JudgedItems, *, data: str, folder: str, drop: Sequence[ModelKind] = (), notices: Sequence[str] = ()
) -> FilterResult:
    """Count what was judged. Rules of the kinds `drop` drop what they flag."""
    index = judged.index
    flagged, undecided = int(judged.flagged_mask().sum()), int(judged.undecided_mask().sum())
    dropped = int(judged.flagged_mask(drop).sum())
    askable = int(judged.askable.sum())
    models = tuple(_count_model(run, judged) for run in judged.runs)
    return FilterResult(
        data=data,
        folder=folder,
        status="waiting" if undecided else "complete",
        items=len(index),
        pairs=index.pair_count,
        kept=askable - flagged - undecided,
        flagged=flagged - dropped,
        dropped=dropped,
        undecided=undecided,
        problems=dict(Counter(problem.rule for problem in judged.problems.values())),
        rules=(
            *(_count_rule(each, judged, True) for each in judged.applied),
            *(_count_rule(each, judged, False) for each in judged.others),
        ),
        models=models,
        groups=tuple(_count_groups(judged)),
        notices=(*notices, *_guessing_notices(models)),
    )


def _count_rule(each: JudgedRule, judged: JudgedItems, is_applied: bool) -> RuleCount:
    """Count what a rule flags among the items that can be asked, and what it would flag if the
    models guessed."""
    askable = judged.askable
    units = judged.index.rows["unit"][askable]
    independent, once = each.guess_independent[askable], each.guess_once[askable]
    expected = expected_flags(independent, units) if _is_known(independent) else None
    judgements = each.judgements[askable]
    return RuleCount(
        rule=each.rule.name,
        kind=each.rule.kind,
        sentence=each.rule.sentence,
        source=each.rule.source,
        is_applied=is_applied,
        models=each.models,
        items=int(askable.sum()),
        flagged=int((judgements == Judgement.FLAG).sum()),
        undecided=int((judgements == Judgement.UNDECIDED).sum()),
        expected=expected.mean if expected else None,
        expected_low=expected.low if expected else None,
        expected_high=expected.high if expected else None,
        expected_same_text=expected_flags(once, units).mean if _is_known(once) else None,
    )


def _is_known(probabilities: NDArray[float64]) -> bool:
    return not bool(np.isnan(probabilities).all())


def _count_model(run: RunVerdicts, judged: JudgedItems) -> ModelCount:
    rows = judged.index.rows
    verdicts = run.verdicts[judged.askable]
    chances = (rows["guess_once"] ** rows["passes"])[judged.askable & (run.verdicts != ItemVerdict.SILENT)]
    return ModelCount(
        model=run.name,
        kind=run.kind,
        run=str(run.path),
        right=int((verdicts == ItemVerdict.RIGHT).sum()),
        wrong=int((verdicts == ItemVerdict.WRONG).sum()),
        silent=int((verdicts == ItemVerdict.SILENT).sum()),
        chance=float(np.nansum(chances)),
    )


def _count_groups(judged: JudgedItems) -> Iterator[GroupCount]:
    """A row for each value of each column, in the order of the data."""
    applied = judged.applied
    every = {"items": judged.askable, "by_any": judged.flagged_mask(), "undecided": judged.undecided_mask()}
    flagged = {each.rule.name: (each.judgements == Judgement.FLAG) & judged.askable for each in applied}
    expected = {each.rule.name: np.nan_to_num(each.guess_independent) * judged.askable for each in applied}
    for column, (codes, values) in judged.index.groups.items():
        sums = partial(_sums, codes, len(values))
        counts, by_rule = sums(every), sums(flagged)
        guessed = sums(expected)
        for code, value in enumerate(values):
            yield GroupCount(
                column,
                value,
                flagged={name: int(each[code]) for name, each in by_rule.items()},
                expected={name: round(each[code], 4) for name, each in guessed.items()},
                **{name: int(each[code]) for name, each in counts.items()},
            )


def _sums(codes: NDArray[intp], size: int, weights: Mapping[str, NDArray[Any]]) -> dict[str, list[float]]:
    """The sum of the weights of each code, 0 to `size`."""
    return {name: np.bincount(codes, weights=each, minlength=size).tolist() for name, each in weights.items()}


def _guessing_notices(models: Sequence[ModelCount]) -> Iterator[str]:
    """A sentence for each vision model that is no better than chance: what it misses says nothing
    about an item."""
    for count in models:
        replied = count.right + count.wrong
        if count.kind == "vision" and replied and count.right <= count.chance:
            yield (
                f"{count.model} is right on {count.right} of {replied} items, and guessing on "
                f"{count.chance:.0f}: what it misses says little about an item"
            )


_NO_VALUE = "(none)"
_PROBLEMS = {UNREADABLE: "a row or picture that cannot be read", NO_IMAGE: "no picture", NO_ANSWER: "no answer"}
_KINDS = {"text-only": "models without pictures", "vision": "models with pictures"}
_RULE_COLUMNS = (
    Column("rule"),
    Column("flagged", "count"),
    Column("share", "share"),
    Column("undecided", "count"),
    Column("by guessing", "number"),
    Column("same text", "number"),
)
_MODEL_COLUMNS = (
    Column("model", "name"),
    Column("right", "count"),
    Column("share", "share"),
    Column("no reply", "count"),
    Column("by guessing", "number"),
)
_GUESSING = (
    "by guessing: items that the rule would flag if every model guessed independently in every "
    "pass (in 95 of 100 such data sets from-to); same text: if it kept to the option it drew first"
)


def filter_document(result: FilterResult, max_rows: int) -> Document:
    """Counts and rules as sentences, and tables of rules, of models, and of the shares by column,
    of which each has at most `max_rows` rows."""
    blocks: list[Block] = [Line(notice, "notice", is_unbroken=True) for notice in result.notices]
    head, *lines = _sentences(result)
    blocks.append(Line(head, "heading", is_unbroken=True))
    blocks += [Line(line, is_unbroken=True) for line in lines]
    for table in _tables(result, max_rows):
        blocks += [EmptyLine(), table]
    return Document([*blocks, EmptyLine(), Line(_GUESSING, "note")], result)


def _tables(result: FilterResult, max_rows: int) -> Iterator[Table]:
    yield Table("flagged by rule", _RULE_COLUMNS, [*map(_rule_cells, result.rules)])
    for kind, title in _KINDS.items():
        rows = [_model_cells(count) for count in result.models if count.kind == kind]
        if rows:
            yield Table(title, _MODEL_COLUMNS, rows)
    applied = [rule for rule in result.rules if rule.is_applied]
    for column in dict.fromkeys(group.column for group in result.groups):
        groups = [group for group in result.groups if group.column == column]
        # The most doubtful first; of equal ones in the order of the data.
        groups.sort(key=lambda group: -group.by_any / max(1, group.items))
        more = len(groups) - max_rows
        title = f"flagged by {fmt.display_name(column)}"
        title += f", {more} more in --json" if more > 0 else ""
        cells = [_group_cells(group, applied) for group in groups[:max_rows]]
        yield Table(title, list(_group_columns(applied)), cells)


def _rule_cells(rule: RuleCount) -> tuple[Cell, ...]:
    expected = None
    if rule.expected_low is not None and rule.expected_high is not None:
        low, high = float(rule.expected_low), float(rule.expected_high)
        expected = IntervalEstimate(rule.expected, Interval(low, high, "guessing"))
    return (
        rule.rule if rule.is_applied else f"({rule.rule})",
        rule.flagged,
        _share(rule.flagged, rule.items),
        rule.undecided,
        expected,
        rule.expected_same_text,
    )


def _model_cells(count: ModelCount) -> tuple[Cell, ...]:
    share = _share(count.right, count.right + count.wrong)
    return (count.model, count.right, share, count.silent, count.chance)


def _group_columns(applied: Sequence[RuleCount]) -> Iterator[Column]:
    """What guessing flags is shown of rules that flag what is right: of others it is most items."""
    yield from (Column("value"), Column("items", "count"))
    for rule in applied:
        yield from (Column(rule.rule, "count"), Column(f"{rule.rule} share", "share"))
        if rule.kind == "text-only":
            yield Column(f"{rule.rule} by guessing", "number", is_optional=True)


def _group_cells(group: GroupCount, applied: Sequence[RuleCount]) -> list[Cell]:
    cells: list[Cell] = [fmt.display_name(group.value) or _NO_VALUE, group.items]
    for rule in applied:
        flagged = group.flagged[rule.rule]
        cells += [flagged, _share(flagged, group.items)]
        if rule.kind == "text-only":
            cells.append(group.expected[rule.rule])
    return cells


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def _sentences(result: FilterResult) -> Iterator[str]:
    """Sentences before the tables."""
    parts = [f"{fmt.count_text(result.kept)} kept"]
    for count, words in (
        (result.flagged, "flagged"),
        (result.dropped, "dropped"),
        (result.undecided, "undecided (too few replies)"),
        *((count, f"with {_PROBLEMS[rule]}") for rule, count in result.problems.items()),
    ):
        if count:
            parts.append(f"{fmt.count_text(count)} {words}")
    yield f"{result.data}: {fmt.plural(result.items, 'item')}; {', '.join(parts)}"
    for rule in result.rules:
        compared = "" if rule.is_applied else "; to compare"
        yield f"{rule.rule}: {rule.sentence} ({rule.source}{compared})"
    if result.pairs:
        pairs = fmt.plural(result.pairs, "pair")
        yield f"{pairs} of yes/no questions: right only if both questions are"
    yield f"items: {result.folder}/items.jsonl"
