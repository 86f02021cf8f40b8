"""What MM-IFEval's judges say: a score for each constraint, and whether one changed a reply."""

from __future__ import annotations

import re
from collections.abc import Sequence

from snellen.extract.clean import without_thinking
from snellen.extract.verdicts import GRADE, ParsedVerdict, parse_correctness

_SCORE = re.compile(r"score\s+of\s+(constraint_\d+):\s*(\d{1,9})\s*/\s*(\d{1,9})(?!\d)", re.IGNORECASE)
_SUMMARY = "summary"
_TRUTH = re.compile(r"\b(true|false)\b", re.IGNORECASE)


def constraint_name(number: int) -> str:
    """What a constraint is called in the prompt and in a verdict; the first has the number 1."""
    return f"constraint_{number}"


def parse_constraints(reply: str, names: Sequence[str]) -> ParsedVerdict | None:
    """A grade in 0..1 for each of these constraints: `Score of constraint_1: 1/1, ...`.

    Of several scores for one the last counts. None if one is missing or above 1.
    """
    text = re.sub(r"\s+", " ", without_thinking(reply)).replace("*", "")
    grades: dict[str, float] = {}
    for name, points, top in _SCORE.findall(text):
        if int(top) == 0:
            return None
        grades[name.lower()] = int(points) / int(top)
    wanted = {name: grades.get(name) for name in names}
    known = {name: grade for name, grade in wanted.items() if grade is not None and grade <= 1}
    return ParsedVerdict(known) if len(known) == len(names) else None


def parse_comparison(reply: str) -> ParsedVerdict | None:
    """1 for true and 0 for false, the first of them behind the last word "summary"; without that
    word as other verdicts that are right or wrong."""
    text = without_thinking(reply)
    _, mark, summary = text.lower().rpartition(_SUMMARY)
    if not mark:
        return parse_correctness(reply)
    match = _TRUTH.search(summary)
    return None if match is None else ParsedVerdict({GRADE: float(match[1] == "true")})
