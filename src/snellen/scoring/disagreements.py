"""Replies that several rules parse or score differently."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec import Struct

from snellen.core.output import Answer, Failure, Generated, ParsedAnswer, outcome_of
from snellen.core.record import Pass, Record


class RuleResult(Struct, frozen=True, omit_defaults=True):
    """Result of one rule for a reply."""

    value: str | None
    """None if the rule parses no answer."""
    how: str
    """The step that matched, or the outcome if none did, e.g. `unparsed`."""
    correct: bool | None
    credit: float | None = None
    """Partial credit of the answer; None if it is simply right or wrong."""


class Disagreement(Struct, frozen=True):
    """A reply with the result of each rule, by the rule's name."""

    id: str
    """Id of the data row: the question, or one of its rotations."""
    reply: str
    gold: tuple[str, ...]
    readings: dict[str, RuleResult]

    @property
    def is_parsed_alike(self) -> bool:
        """Whether all rules parse the same answer and only their verdicts differ."""
        return len({result.value for result in self.readings.values()}) == 1


def disagreements(by_rule: Mapping[str, Sequence[Record]]) -> list[Disagreement]:
    """The replies whose answer or verdict is not the same under all rules, in the order of the
    records. Rules of open questions may parse the same answer and compare it differently.

    Under CircularEval a rule stops at its first wrong pass; passes that fewer than two rules
    reached are not compared, nor is an error message that some rules read like a reply.
    """
    passes_by_rule: dict[tuple[str, int], dict[str, Pass]] = {}
    for rule, records in by_rule.items():
        for record in records:
            for pass_index, one_pass in enumerate(record.passes):
                if isinstance(one_pass.output, Failure):
                    continue
                passes_by_rule.setdefault((record.id, pass_index), {})[rule] = one_pass
    disagreeing = []
    for (name, pass_index), passes in passes_by_rule.items():
        readings = {rule: _rule_result(one_pass) for rule, one_pass in passes.items()}
        verdicts = {(result.correct, result.credit) for result in readings.values()}
        if len({result.value for result in readings.values()}) > 1 or len(verdicts) > 1:
            first = next(iter(passes.values()))
            row = first.row or (name if pass_index == 0 else f"{name} (rotation {pass_index})")
            disagreeing.append(Disagreement(row, _text(first), first.gold, readings))
    return disagreeing


def _rule_result(one_pass: Pass) -> RuleResult:
    answer: Answer | None = one_pass.answer
    if isinstance(answer, ParsedAnswer):
        return RuleResult(answer.value, answer.rule, one_pass.correct, one_pass.credit)
    return RuleResult(None, outcome_of(answer) if answer is not None else "failed", one_pass.correct)


def _text(one_pass: Pass) -> str:
    return one_pass.output.text if isinstance(one_pass.output, Generated) else ""
