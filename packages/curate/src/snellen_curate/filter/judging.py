"""Items judged by rules, from what runs say about them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy import bool_, float64, int8, intp
from numpy.typing import NDArray

from snellen.core.errors import UsageError
from snellen_curate.filter.rules import FORMS, KINDS, Judgement, ModelKind, Rule, check_rule, flag_probabilities, judge
from snellen_curate.filter.verdicts import EvidenceReader, ItemIndex, ItemVerdict, RunVerdicts, join_pairs

UNREADABLE, NO_IMAGE, NO_ANSWER = "unreadable", "no picture", "no answer"
_MIN_MEDIA_SHARE = 0.9
"""If this share of the items has an image or video, an item without one is flagged; with fewer,
the data are a mixture."""


class ItemProblem(NamedTuple):
    """Why no model can be judged by an item."""

    rule: str
    """`unreadable` (the row, its image or its video), `no image` or `no answer`."""
    reason: str


class JudgedRule(NamedTuple):
    """A rule and what it says about every item."""

    rule: Rule
    models: int
    right: NDArray[intp]
    """Models that are right, by item (items,)."""
    silent: NDArray[intp]
    """Models without a reply, by item (items,)."""
    judgements: NDArray[int8]
    """`Judgement` by item (items,)."""
    guess_independent: NDArray[float64]
    """Probability of a flag if the models guessed independently in every pass (items,); NaN if
    unknown."""
    guess_once: NDArray[float64]
    """The same if each model kept to the option that it drew first (items,)."""

    def reason(self, position: int, is_pair: bool) -> str:
        """How many models are right, as a clause: "2 of 3 text-only models are right"."""
        right, silent = int(self.right[position]), int(self.silent[position])
        kind = self.rule.kind
        if right:
            text = f"{right} of {self.models} {kind} models {'is' if right == 1 else 'are'} right"
        else:
            text = f"none of {self.models} {kind} models is right"
        if is_pair:
            text += " on both questions of the pair"
        return f"{text}, {silent} gave no reply" if silent else text


@dataclass(frozen=True, slots=True)
class JudgedItems:
    """Everything that is known before anything is decided."""

    index: ItemIndex
    runs: tuple[RunVerdicts, ...]
    problems: Mapping[int, ItemProblem]
    """By position, items that no model can be judged by."""
    askable: NDArray[bool_]
    """Items without a problem (items,)."""
    applied: tuple[JudgedRule, ...]
    others: tuple[JudgedRule, ...]
    """Rules that decide nothing, to compare."""

    def flagged_mask(self, kinds: Sequence[ModelKind] = KINDS) -> NDArray[bool_]:
        """Items that an applied rule of these kinds flags (items,)."""
        return self._some_rule_says(Judgement.FLAG, kinds)

    def undecided_mask(self) -> NDArray[bool_]:
        """Items that no rule flags, and that one cannot judge (items,)."""
        return self._some_rule_says(Judgement.UNDECIDED) & ~self.flagged_mask()

    def reasons(self, position: int, judgement: Judgement) -> tuple[str, str]:
        """The applied rules that say this about an item, and why."""
        rules = [each for each in self.applied if each.judgements[position] == judgement]
        is_pair = bool(self.index.rows["size"][position] > 1)
        why = dict.fromkeys(each.reason(position, is_pair) for each in rules)
        return ", ".join(each.rule.name for each in rules), "; ".join(why)

    def _some_rule_says(self, judgement: Judgement, kinds: Sequence[ModelKind] = KINDS) -> NDArray[bool_]:
        says = [(each.judgements == judgement) & (each.rule.kind in kinds) for each in self.applied]
        result: NDArray[bool_] = np.logical_or.reduce(says) & self.askable
        return result


def judge_items(
    index: ItemIndex, runs: Sequence[RunVerdicts], chosen: Sequence[Rule], min_replies: int | None = None
) -> JudgedItems:
    """Judge every item by the chosen rules, and by the papers' others to compare."""
    problems = find_problems(index, runs)
    askable = np.ones(len(index), dtype=np.bool_)
    askable[list(problems)] = False
    joined = [(run.kind, join_pairs(run.verdicts, index.rows["unit"])) for run in runs]

    def judge_by(rule: Rule) -> JudgedRule:
        return _judge_rule(rule, index, joined, min_replies)

    others = _other_rules([run.kind for run in runs], chosen)
    return JudgedItems(
        index, tuple(runs), problems, askable, tuple(map(judge_by, chosen)), tuple(map(judge_by, others))
    )


def find_problems(index: ItemIndex, runs: Sequence[RunVerdicts]) -> dict[int, ItemProblem]:
    """Items that no model can be judged by, by position."""
    problems = {position: ItemProblem(UNREADABLE, reason) for position, reason in index.problems.items()}
    with EvidenceReader(runs) as reader:
        for run in runs:
            for position in run.media_failures:
                if position not in problems:
                    why = reader.media_failure(run, position)
                    problems[position] = ItemProblem(UNREADABLE, why)
    with_media = int(index.rows["has_media"].sum())
    if with_media >= _MIN_MEDIA_SHARE * len(index):
        reason = f"it has no picture, as {with_media} of {len(index)} items have"
        for position in (~index.rows["has_media"]).nonzero()[0].tolist():
            problems.setdefault(position, ItemProblem(NO_IMAGE, reason))
    for position in (~index.rows["has_gold"]).nonzero()[0].tolist():
        problems.setdefault(position, ItemProblem(NO_ANSWER, "the data have no answer to it"))
    return problems


def _other_rules(kinds: Sequence[ModelKind], chosen: Sequence[Rule]) -> Iterator[Rule]:
    """The rules of the papers that are not chosen, as far as these models allow them."""
    counts = Counter(kinds)
    for rule in FORMS.values():
        if rule not in chosen and counts[rule.kind]:
            with suppress(UsageError):
                check_rule(rule, counts[rule.kind])
                yield rule


def _judge_rule(
    rule: Rule, index: ItemIndex, joined: Sequence[tuple[ModelKind, NDArray[int8]]], min_replies: int | None
) -> JudgedRule:
    """Apply a rule to the verdicts of the models of its kind, with the chance that guesses are
    flagged. `joined` has verdicts of shape (items,)."""
    verdicts = np.stack([each for kind, each in joined if kind == rule.kind])  # (models, items)
    right = (verdicts == ItemVerdict.RIGHT).sum(axis=0)
    silent = (verdicts == ItemVerdict.SILENT).sum(axis=0)
    models = len(verdicts)
    once = index.rows["guess_once"] ** index.rows["size"]
    independent = index.rows["guess_once"] ** (index.rows["size"] * index.rows["passes"])
    return JudgedRule(
        rule,
        models,
        right,
        silent,
        judge(rule, right, silent, models, min_replies),
        flag_probabilities(rule, independent, models),
        flag_probabilities(rule, once, models),
    )
