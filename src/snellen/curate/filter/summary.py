"""What a filter found, in numbers: by rule, by model, by source and ability."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import msgspec
from msgspec import Struct

from snellen.curate.filter.chance import expected_flags
from snellen.curate.filter.judging import JudgedItems, JudgedRule
from snellen.curate.filter.rules import Judgement, ModelKind
from snellen.curate.filter.verdicts import ItemVerdict, RunVerdicts
from snellen.curate.step import Status

if TYPE_CHECKING:
    from numpy import bool_, float64, intp
    from numpy.typing import NDArray


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
    """Items that no model can be judged by, flagged too: `unreadable`, `no picture`, `no answer`.
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
    judged: JudgedItems,
    *,
    data: str,
    folder: str,
    drop: Sequence[ModelKind] = (),
    notices: Sequence[str] = (),
) -> FilterResult:
    """Count what was judged. Rules of the kinds `drop` drop what they flag."""
    index = judged.index
    flagged, undecided = int(judged.flagged_mask().sum()), int(judged.undecided_mask().sum())
    dropped = int(judged.flagged_mask(drop).sum())
    askable = int(judged.askable.sum())
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
        models=tuple(_count_model(run, judged) for run in judged.runs),
        groups=tuple(_count_groups(judged)),
        notices=(*notices, *_guessing_notices(judged)),
    )


def _count_rule(each: JudgedRule, judged: JudgedItems, is_applied: bool) -> RuleCount:
    """Count what a rule flags among the items that can be asked, and what it would flag if the
    models guessed."""
    askable = judged.askable
    units = judged.index.units[askable]
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
    import numpy as np

    return not bool(np.isnan(probabilities).all())


def _count_model(run: RunVerdicts, judged: JudgedItems) -> ModelCount:
    import numpy as np

    index = judged.index
    verdicts = run.verdicts[judged.askable]
    replied = judged.askable & (run.verdicts != ItemVerdict.SILENT)
    chances = (index.guess_once**index.passes)[replied]
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
    flagged, undecided = judged.flagged_mask(), judged.undecided_mask()
    for column, (codes, values) in judged.index.groups.items():
        size = len(values)

        def count(
            items: NDArray[bool_], codes: NDArray[intp] = codes, size: int = size
        ) -> list[int]:
            return _sums(codes, size, items.astype(float), int)

        members, any_rule, unclear = count(judged.askable), count(flagged), count(undecided)
        by_rule = {
            each.rule.name: count((each.judgements == Judgement.FLAG) & judged.askable)
            for each in judged.applied
        }
        expected = {
            each.rule.name: _sums(
                codes, size, _zero_unknown(each.guess_independent) * judged.askable
            )
            for each in judged.applied
        }
        for code, value in enumerate(values):
            yield GroupCount(
                column=column,
                value=value,
                items=members[code],
                flagged={name: counts[code] for name, counts in by_rule.items()},
                expected={name: round(sums[code], 4) for name, sums in expected.items()},
                by_any=any_rule[code],
                undecided=unclear[code],
            )


def _sums(
    codes: NDArray[intp], size: int, weights: NDArray[float64], kind: type = float
) -> list[Any]:
    """The sum of the weights of each code, 0 to `size`."""
    import numpy as np

    return [kind(each) for each in np.bincount(codes, weights=weights, minlength=size)]


def _zero_unknown(probabilities: NDArray[float64]) -> NDArray[float64]:
    import numpy as np

    return np.nan_to_num(probabilities, nan=0.0)


def _guessing_notices(judged: JudgedItems) -> Iterator[str]:
    """A sentence for each vision model that is no better than chance: what it misses says nothing
    about an item."""
    for run in judged.runs:
        count = _count_model(run, judged)
        replied = count.right + count.wrong
        if run.kind == "vision" and replied and count.right <= count.chance:
            yield (
                f"{run.name} is right on {count.right} of {replied} items, and guessing on "
                f"{count.chance:.0f}: what it misses says little about an item"
            )
