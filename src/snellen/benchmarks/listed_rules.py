"""Rules of listed benchmarks whose answers no metric of `described.METRICS` grades.

TallyQA asks for a count: Snellen compares it as a number, VLMEvalKit takes the first number from 0
to 20 in the reply, in digits or in words. WildDoc photographs the pages of three benchmarks again
and scores each by its own rule; a row's id begins with the name of its part. Spatial457's authors,
in VLMEvalKit, take the text behind `"Answer":` or all of the reply, and let kinds of one vehicle
pass for each other ("suv" for "sedan"), a number for yes and 0 for no.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.flows import EQUALITY
from snellen.benchmarks.open_questions import final_answer, open_rules
from snellen.benchmarks.rows import Shape
from snellen.benchmarks.rules import Readers
from snellen.benchmarks.tablevqabench import grade as grade_table
from snellen.core.sample import Row, Sample
from snellen.scoring.edit_distance import anls, anls_by_script
from snellen.scoring.relaxed import relaxed_correct

PART = "part"
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
_COUNT = re.compile(rf"\b(?:(?P<digits>[0-9]|1[0-9]|20)|{'|'.join(_NUMBERS)})\b")
_ANSWERS = tuple(
    re.compile(text) for text in (r"Answer': '(.*?)'", r'Answer": "(.*?)"', r"Answer': (\d)")
)
_KINDS = {
    "car": "suv wagon minivan sedan truck addi car",
    "bus": "articulated regular double school bus",
    "motorbike": "chopper dirtbike scooter cruiser motorbike",
    "aeroplane": "jet fighter biplane airliner aeroplane",
    "bicycle": "road utility mountain tandem bicycle",
}
_KIND_OF = {word: kind for kind, words in _KINDS.items() for word in words.split()}
_TRUTH = {"1": "True", "0": "False"}


class OwnRules(NamedTuple):
    """The name of the headline, the rules, and what a sample still needs."""

    metric: str
    rules: Mapping[str, Readers]
    shape: Shape | None = None


def own_rules(name: str) -> OwnRules:
    return {"counting": _counting, "wilddoc": _wilddoc, "spatial457": _spatial457}[name]()


def _counting() -> OwnRules:
    rules = open_rules(EQUALITY.grade, vlmevalkit=_first_count, read=EQUALITY.read)
    return OwnRules("accuracy", _without_official(rules))


def _first_count(answer: str, sample: Sample) -> float:
    found = _COUNT.search(answer.lower())
    if found is None:
        return 0.0
    count = int(found["digits"]) if found["digits"] else _NUMBERS.index(found[0])
    return float(any(gold.strip() == str(count) for gold in sample.gold))


def _spatial457() -> OwnRules:
    rules = open_rules(EQUALITY.grade, vlmevalkit=_attribute, read=EQUALITY.read)
    return OwnRules("accuracy", _without_official(rules))


def _attribute(answer: str, sample: Sample) -> float:
    found = next(filter(None, (mark.search(answer) for mark in _ANSWERS)), None)
    said, gold = (found[1] if found else answer), sample.gold[0]
    low, wanted = said.lower(), gold.lower()
    low = "no" if low == "none" else low
    number = str(_NUMBERS.index(low)) if low in _NUMBERS[:11] else ""
    kind = _KIND_OF.get(low.split(" ")[0])
    return float(
        low == wanted
        or (said == "0" and gold == "No")
        or number == gold
        or (wanted == "yes" and said in tuple("123456789"))
        or (kind is not None and kind == _KIND_OF.get(wanted.split(" ")[0]))
    )


def _wilddoc() -> OwnRules:
    rules = open_rules(_by_part, vlmevalkit=_by_part_vlmevalkit, read=final_answer)
    return OwnRules("score", _without_official(rules), _of_part)


def _of_part(sample: Sample, row: Row) -> Sample:
    """With its part, and the table's answer as TableVQA-Bench has it."""
    part, _, rest = sample.id.partition("-")
    if part != "TableVQA":
        return structs.replace(sample, groups={**sample.groups, PART: part})
    split = rest.partition("-")[0]
    gold = "|".join(sample.gold)
    if split == "vtabfact":
        gold = _TRUTH.get(gold, gold)
    return structs.replace(
        sample,
        gold=(gold,) if gold else (),
        groups={**sample.groups, PART: part, "split": split},
    )


def _by_part(answer: str, sample: Sample) -> float:
    part = sample.groups.get(PART)
    if part == "TableVQA":
        return grade_table(answer, sample)
    if part == "ChartQA":
        return float(relaxed_correct(answer, sample.gold))
    return anls(answer, sample.gold)


def _by_part_vlmevalkit(answer: str, sample: Sample) -> float:
    if sample.groups.get(PART) in ("TableVQA", "ChartQA"):
        return _by_part(answer, sample)
    return anls_by_script(answer, sample.gold)


def _without_official(rules: Mapping[str, Readers]) -> dict[str, Readers]:
    return {name: rule for name, rule in rules.items() if name != "official"}
