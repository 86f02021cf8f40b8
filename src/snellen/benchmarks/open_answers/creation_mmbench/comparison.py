"""What judges say of two answers: which is better, and how far each fits the picture."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from snellen.benchmarks.protocol.judging import JudgePanel, PanelVerdicts, VerdictParser, ask_judges
from snellen.core.flow import Steps
from snellen.core.record import Verdict
from snellen.core.request import Ref
from snellen.core.sample import Sample
from snellen.extract.clean import without_thinking
from snellen.extract.verdicts import GRADE, ParsedVerdict

PREFERENCE = "creation-mmbench-preference"
FACTS, FACTS_WITH_TRUTH = "creation-mmbench-facts", "creation-mmbench-facts-gt"
RUBRICS = (PREFERENCE, FACTS, FACTS_WITH_TRUTH)
FIRST, SECOND = "first", "second"
"""Grades of a verdict about facts, by the place of the answer."""
_TOP = 10.0
_MARK = "final verdict is:"
_CHOICE = re.compile(r"\[\[\s*([AB])\s*(>>|>|=|<<|<)\s*([AB])\s*\]\]", re.IGNORECASE)
_STEPS: Mapping[str, float] = {">>": -1.0, ">": -0.5, "=": 0.0, "<": 0.5, "<<": 1.0}
"""How much better the second answer is, by the sign between A and B."""
_FACT = re.compile(
    r"response ([AB]) visual factuality score\W{0,20}?(\d+(?:\.\d+)?)\s*(?:/\s*10)?(?![\d.]*\d)", re.IGNORECASE
)


class Criteria(NamedTuple):
    """By what two answers are compared."""

    preference: str
    facts: str = ""
    """What the answers must say of the picture; empty where nothing is asked of them."""
    ground_truth: str = ""


class AnswerComparison(NamedTuple):
    """The verdicts on a model's answer beside the reference, in one order or in both."""

    verdicts: tuple[Verdict, ...] = ()
    preferences: tuple[float, ...] = ()
    """How much better the model's answer is in each order, -1 to 1."""
    facts: tuple[float, ...] = ()
    """How far the model's answer fits the picture, by each order, 0 to 1."""
    reference_facts: tuple[float, ...] = ()


def parse_preference(reply: str) -> ParsedVerdict | None:
    """How much better the second answer is, -1 to 1 in halves: `Final Verdict is: [[B>A]]`.

    The verdict behind these words counts, else the only one that the reply holds.
    """
    text = without_thinking(reply)
    marked = [line for line in text.splitlines() if _MARK in line.lower()]
    for part in (*marked, text):
        found = {_second_gains(*match.groups()) for match in _CHOICE.finditer(part)} - {None}
        if len(found) == 1:
            return ParsedVerdict({GRADE: found.pop() or 0.0})
    return None


def _second_gains(left: str, sign: str, right: str) -> float | None:
    """By how much the second answer, B, is better; None where one is compared with itself."""
    if left.upper() == right.upper():
        return None
    return _STEPS[sign] if left.upper() == "A" else -_STEPS[sign]


def parse_facts(reply: str) -> ParsedVerdict | None:
    """Two scores in 0..10: `Response A Visual Factuality Score: 8/10`, and one of B; of several
    for one answer the last counts."""
    text = re.sub(r"[“”*\"]", "", without_thinking(reply))
    scores = {match[1].upper(): float(match[2]) for match in _FACT.finditer(text)}
    if scores.keys() != {"A", "B"} or not all(score <= _TOP for score in scores.values()):
        return None
    return ParsedVerdict({FIRST: scores["A"], SECOND: scores["B"]})


def compare(
    sample: Sample, criteria: Criteria, answers: Sequence[str], panel: JudgePanel, *, dual: bool
) -> Steps[AnswerComparison]:
    """Have judges compare two answers, the reference and the model's, in this order and, if
    `dual`, in the other; each order is a turn of the sample. Ends where a judge does not answer.
    """
    compared = AnswerComparison()
    for turn in range(1 + dual):
        request = _Request(sample, panel, Ref(sample.id, turn), answers, is_swapped=turn > 0)
        preferences = yield from request.ask(PREFERENCE, parse_preference, criteria.preference)
        gain = preferences.grade()
        if gain is not None:
            gains = (*compared.preferences, -gain if request.is_swapped else gain)
            compared = compared._replace(preferences=gains)
        compared = compared._replace(verdicts=(*compared.verdicts, *preferences.verdicts))
        if preferences.failure is not None:
            return compared
        if not criteria.facts:
            continue
        rubric = FACTS_WITH_TRUTH if criteria.ground_truth else FACTS
        facts = yield from request.ask(rubric, parse_facts, criteria.facts, criteria.ground_truth)
        of_reference, of_model = (SECOND, FIRST) if request.is_swapped else (FIRST, SECOND)
        compared = compared._replace(
            verdicts=(*compared.verdicts, *facts.verdicts),
            facts=(*compared.facts, *_over_top(facts.grade(of_model))),
            reference_facts=(*compared.reference_facts, *_over_top(facts.grade(of_reference))),
        )
        if facts.failure is not None:
            return compared
    return compared


@dataclass(frozen=True, slots=True)
class _Request:
    """What judges are asked about two answers in one order."""

    sample: Sample
    panel: JudgePanel
    ref: Ref
    answers: Sequence[str]
    """The reference and the model's."""
    is_swapped: bool
    """Whether the model's answer comes first."""

    def ask(self, rubric: str, parse: VerdictParser, criteria: str, ground_truth: str = "") -> Steps[PanelVerdicts]:
        reference, reply = self.answers
        first, second = (reply, reference) if self.is_swapped else (reference, reply)
        fields = {
            "question": self.sample.question,
            "first": first,
            "second": second,
            "criteria": criteria,
            "ground_truth": ground_truth,
        }
        return ask_judges(self.panel, rubric, fields, parse, self.ref, about=reply, media=self.sample.media)


def _over_top(score: float | None) -> tuple[float, ...]:
    return () if score is None else (score / _TOP,)
