"""Problems of yes/no answers: the four common problems of MME (Sec. 4, Fig. 4).

1. Not following instructions: no yes or no at the beginning of the reply (the paper's rule).

2. Lack of perception, which shows in contradictory pairs: the two questions about one image differ
in a word and have opposite answers, yet both got the same answer.

3. Lack of reasoning: the answer is wrong although the rest of the reply states what would be right.
Only reasoning that was written out can be detected: of wrong answers that are followed by at least
three words. Whether these support the other answer is a matter of meaning, which a judge model
decides (`snellen.api.reasoning_judge`) and people's labels correct (`judged_shares`).

4. Hallucination of what the question mentions: the bias towards yes, and how often a question whose
answer is no was answered yes. Always yes gives an accuracy of 50 and an accuracy+ of 0.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from snellen.core.grouping import group_by
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.extract.clean import without_thinking
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.yes_no import NO, YES
from snellen.stats.intervals import wilson

_MIN_WORDS = 3
_PAIR_SIZE = 2
"""Questions of a pair."""


class Proportion(NamedTuple):
    """`part` of `total`; the interval is Wilson's, in 0..1, None if `total` is 0."""

    part: int
    total: int

    @property
    def value(self) -> float | None:
        return self.part / self.total if self.total else None

    @property
    def interval(self) -> Interval | None:
        return wilson(self.part, self.total) if self.total else None


class Problems(NamedTuple):
    """Problems of one run, or of one group of it. `yes` counts among the answered questions,
    `gold_yes` among the same; `hallucinated` are the wrong yes among questions whose answer is no.
    """

    not_following: Proportion
    contradictory: Proportion
    both_yes: int
    both_no: int
    yes: Proportion
    gold_yes: Proportion
    hallucinated: Proportion
    reasoned: Proportion
    """Wrong answers whose replies contain more than the answer, among all wrong answers."""

    @property
    def yes_bias(self) -> float | None:
        """Fraction of yes among the answers minus that in their gold, -1..1."""
        if self.yes.value is None or self.gold_yes.value is None:
            return None
        return self.yes.value - self.gold_yes.value


class ReasonedError(NamedTuple):
    """A wrong yes or no with an explanation."""

    run: str
    record: Record
    reply: str

    @property
    def key(self) -> tuple[str, str]:
        """The run, and the id of the sample."""
        return self.run, self.record.id


def problems(records: Iterable[Record]) -> Problems:
    """Problems over answered yes/no questions; failed and missing ones are left out."""
    asked_records = [record for record in records if _is_counted(record)]
    answered = [record for record in asked_records if record.answer in (YES, NO) and record.gold]
    gold_no = [record for record in answered if YES not in record.gold]
    pairs = list(_pairs(answered))
    same_answers = [first.answer for first, second in pairs if first.answer == second.answer]
    wrong = [record for record in answered if _is_wrong(record)]
    return Problems(
        not_following=Proportion(sum(not _follows_format(record) for record in asked_records), len(asked_records)),
        contradictory=Proportion(len(same_answers), len(pairs)),
        both_yes=same_answers.count(YES),
        both_no=same_answers.count(NO),
        yes=Proportion(sum(record.answer == YES for record in answered), len(answered)),
        gold_yes=Proportion(sum(YES in record.gold for record in answered), len(answered)),
        hallucinated=Proportion(sum(record.answer == YES for record in gold_no), len(gold_no)),
        reasoned=Proportion(len(list(reasoned_errors(wrong))), len(wrong)),
    )


def problems_by_group(records: Iterable[Record], group: str) -> dict[str, Problems]:
    """Problems in each group, in the order in which the groups first occur."""
    groups = group_by(filter(_is_counted, records), lambda record: record.label(group))
    return {name: problems(members) for name, members in groups.items()}


def reasoned_errors(records: Iterable[Record], run: str = "") -> Iterator[ReasonedError]:
    """Wrong answers to yes/no questions that are followed by an explanation."""
    for record in records:
        if record.kind == "yes_no" and _is_wrong(record) and _explanation(record) is not None:
            yield ReasonedError(run, record, _reply(record))


def _is_counted(record: Record) -> bool:
    return record.kind == "yes_no" and not record.is_retryable and record.unscored != "unsupported"


def _is_wrong(record: Record) -> bool:
    return record.answer in (YES, NO) and bool(record.gold) and record.answer not in record.gold


def _reply(record: Record) -> str:
    output = record.passes[0].output if record.passes else None
    return without_thinking(output.text) if isinstance(output, Generated) else ""


def _follows_format(record: Record) -> bool:
    return isinstance(parse_yes_no(_reply(record), rule="paper"), ParsedAnswer)


def _pairs(records: Sequence[Record]) -> Iterator[tuple[Record, Record]]:
    """Pairs of answered questions about one image with opposite gold answers."""
    for unit, members in group_by(records, lambda record: record.unit).items():
        if unit and len(members) == _PAIR_SIZE and len({YES in record.gold for record in members}) == _PAIR_SIZE:
            yield members[0], members[1]


def _explanation(record: Record) -> str | None:
    """What follows the answer at the beginning of a reply; None if the reply does not begin with
    the answer, or too little follows."""
    reply = _reply(record)
    opening = parse_yes_no(reply, rule="paper")
    if not isinstance(opening, ParsedAnswer) or opening.value != record.answer or opening.span is None:
        return None
    explanation = reply[opening.span[1] :]
    return explanation if len(re.findall(r"\w+", explanation)) >= _MIN_WORDS else None
