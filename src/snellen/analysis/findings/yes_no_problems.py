"""What goes wrong with yes/no answers: the four common problems of MME (Sec. 4, Fig. 4).

1. Not following: no yes or no at the beginning of the reply (the paper's reading).
2. A lack of perception, which shows in contradictory pairs: the two questions about one picture
   differ in a word and have opposite answers, yet both were answered alike.
3. A lack of reasoning: the answer is wrong although the rest of the reply says what would be
   right. The rule, which is ours (the paper shows two cases and states none): the reply opens with
   the wrong answer, and what follows has at least three words and either
   a) closes with the other answer ("..., so the answer is no"), or
   b) arrives at a number ("= 12", "there are 3") that makes the other answer right where the
      question asks about a number, and denies nothing, or
   c) after a yes, denies something ("is not", "there are no"). It finds broken chains of reasoning
   that were written out; it cannot see those that were not.
4. Hallucination of what the question speaks of: the bias towards yes, and how often a question
   whose answer is no was answered yes. Always yes gives an accuracy of 50 and an accuracy+ of 0.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from snellen.core.answer import ParsedAnswer
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.extract.clean import without_thinking
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.yes_no import NO, YES
from snellen.stats.intervals import wilson

_MIN_WORDS = 3
_NUMBER = re.compile(r"(?<![\w.])-?\d+(?:\.\d+)?(?![\w%]|\.\d)")
_RESULT = re.compile(
    r"(?:=|\b(?:is|are|equals?|gives|makes)\b)\s*(?P<number>-?\d+(?:\.\d+)?)(?![\w%]|\.\d)"
)
_DENIAL = re.compile(
    r"\b(?:is|are|was|were|does|do|did|can|could|has|have|will|would)(?: not|n't)\b"
    r"|\b(?:there (?:is|are) no|cannot)\b",
    re.IGNORECASE,
)
_PAIR_SIZE = 2
"""Questions of a pair."""


class Proportion(NamedTuple):
    """`part` of `total`; the interval is Wilson's, in 0..1, None of nothing."""

    part: int
    total: int

    @property
    def value(self) -> float | None:
        return self.part / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.part, self.total) if self.total else None


class Problems(NamedTuple):
    """One run, or one group of it. `yes` counts among the answered questions, `gold_yes` among
    the same; `hallucinated` are the wrong yes among questions whose answer is no."""

    not_following: Proportion
    contradictory: Proportion
    both_yes: int
    both_no: int
    yes: Proportion
    gold_yes: Proportion
    hallucinated: Proportion
    broken_reasoning: Proportion
    """Among the wrong answers of replies that say more than the answer."""

    @property
    def yes_bias(self) -> float | None:
        """Share of yes among the answers less that in their gold, -1..1."""
        if self.yes.value is None or self.gold_yes.value is None:
            return None
        return self.yes.value - self.gold_yes.value


class BrokenReasoning(NamedTuple):
    """A reply that knows better than it answers, and what tells so."""

    record: Record
    reply: str
    why: str


def problems(records: Iterable[Record]) -> Problems:
    """Over yes/no questions that were answered; failed and missing are left out."""
    asked_records = [one for one in records if _is_counted(one)]
    answered = [one for one in asked_records if one.answer in (YES, NO) and one.gold]
    gold_no = [one for one in answered if YES not in one.gold]
    pairs = list(_pairs(answered))
    same_answers = [first.answer for first, second in pairs if first.answer == second.answer]
    reasoned = [one for one in answered if _is_wrong(one) and _explanation(one) is not None]
    return Problems(
        not_following=Proportion(
            sum(not _follows_format(one) for one in asked_records), len(asked_records)
        ),
        contradictory=Proportion(len(same_answers), len(pairs)),
        both_yes=same_answers.count(YES),
        both_no=same_answers.count(NO),
        yes=Proportion(sum(one.answer == YES for one in answered), len(answered)),
        gold_yes=Proportion(sum(YES in one.gold for one in answered), len(answered)),
        hallucinated=Proportion(sum(one.answer == YES for one in gold_no), len(gold_no)),
        broken_reasoning=Proportion(len(list(broken_reasoning(reasoned))), len(reasoned)),
    )


def problems_by_group(records: Iterable[Record], group: str) -> dict[str, Problems]:
    """Problems in each group, in the order the groups come."""
    members_by_group: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if _is_counted(record):
            members_by_group[record.groups.get(group, "")].append(record)
    return {name: problems(members) for name, members in members_by_group.items()}


def broken_reasoning(records: Iterable[Record]) -> Iterator[BrokenReasoning]:
    """Wrong answers whose own explanation speaks for the right one (rule 3 above)."""
    for record in records:
        if record.kind != "yes_no" or not _is_wrong(record):
            continue
        explanation = _explanation(record)
        why = _contradiction(record, explanation) if explanation else None
        if why:
            yield BrokenReasoning(record, _reply(record), why)


def _is_counted(record: Record) -> bool:
    return record.kind == "yes_no" and not record.is_retryable and record.unscored != "unsupported"


def _is_wrong(record: Record) -> bool:
    return record.answer in (YES, NO) and bool(record.gold) and record.answer not in record.gold


def _reply(record: Record) -> str:
    output = record.passes[0].output if record.passes else None
    return without_thinking(output.text) if isinstance(output, Generated) else ""


def _follows_format(record: Record) -> bool:
    return isinstance(parse_yes_no(_reply(record), "paper"), ParsedAnswer)


def _pairs(records: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Two answered questions about one picture whose answers are opposite."""
    units: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        if record.unit:
            units[record.unit].append(record)
    for members in units.values():
        if len(members) == _PAIR_SIZE and len({YES in one.gold for one in members}) == _PAIR_SIZE:
            yield members[0], members[1]


def _explanation(record: Record) -> str | None:
    """What follows the answer at the beginning of a reply; None where that is not the answer, or
    nothing to speak of follows."""
    reply = _reply(record)
    opening = parse_yes_no(reply, "paper")
    if (
        not isinstance(opening, ParsedAnswer)
        or opening.value != record.answer
        or opening.span is None
    ):
        return None
    explanation = reply[opening.span[1] :]
    return explanation if len(re.findall(r"\w+", explanation)) >= _MIN_WORDS else None


def _contradiction(record: Record, explanation: str) -> str | None:
    other = NO if record.answer == YES else YES
    closing = parse_yes_no(explanation, "word")
    if isinstance(closing, ParsedAnswer) and closing.value == other:
        return f"closes with {other.lower()}"
    question_numbers, result_numbers = (
        _NUMBER.findall(record.question),
        _RESULT.findall(explanation),
    )
    denial = _DENIAL.search(explanation)
    if question_numbers and result_numbers and not denial:
        same = float(question_numbers[-1]) == float(result_numbers[-1])
        return (
            f"arrives at {result_numbers[-1]}, asked about {question_numbers[-1]}"
            if same == (other == YES)
            else None
        )
    if record.answer == YES and denial:
        return f"denies: {denial[0]}"
    return None
