"""Rules of listed benchmarks whose answers no metric of `described.METRICS` grades.

TallyQA asks for a count: Snellen compares it as a number, VLMEvalKit takes the first number from 0
to 20 in the reply, in digits or in words. WildDoc photographs the pages of three benchmarks again
and scores each by its own rule; a row's id begins with the name of its part. A4Bench has questions
with several right options, which must all be named and no other.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from string import ascii_uppercase
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.open_questions import final_answer, open_rules
from snellen.benchmarks.declaration.rows import Shape, option_cells
from snellen.benchmarks.protocol.flows import EQUALITY, OpenRule
from snellen.benchmarks.protocol.parsers import OWN, READERS, Readers
from snellen.benchmarks.tablevqabench import grade as grade_table
from snellen.core.answer import Answer
from snellen.core.sample import Row, Sample
from snellen.extract.multi_label import SEPARATOR, read_letters
from snellen.scoring.edit_distance import anls, anls_by_script
from snellen.scoring.relaxed import relaxed_correct

PART = "part"
_NUMBERS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
_COUNT = re.compile(rf"\b(?:(?P<digits>[0-9]|1[0-9]|20)|{'|'.join(_NUMBERS)})\b")
_MOST_OPTIONS = 8
_ALL_THAT_APPLY = "One or several options are right. Answer with the letters of all that are."
_TRUTH = {"1": "True", "0": "False"}


class OwnRules(NamedTuple):
    """The name of the headline, the rules, and what a sample still needs."""

    metric: str
    rules: Mapping[str, Readers]
    shape: Shape | None = None


def own_rules(name: str) -> OwnRules:
    return {"counting": _counting, "letters": _letters, "wilddoc": _wilddoc}[name]()


def _counting() -> OwnRules:
    rules = open_rules(EQUALITY.grade, vlmevalkit=_first_count, read=EQUALITY.read)
    return OwnRules("accuracy", _without_official(rules))


def _first_count(answer: str, sample: Sample) -> float:
    found = _COUNT.search(answer.lower())
    if found is None:
        return 0.0
    count = int(found["digits"]) if found["digits"] else _NUMBERS.index(found[0])
    return float(any(gold.strip() == str(count) for gold in sample.gold))


def _letters() -> OwnRules:
    rules = {OWN: READERS[OWN]._replace(open=OpenRule(_named_letters, _same_letters))}
    return OwnRules("accuracy", rules, _all_labels)


def _same_letters(answer: str, sample: Sample) -> float:
    return float(answer in sample.gold)


def _named_letters(reply: str, stop_reason: str) -> Answer:
    return read_letters(reply, ascii_uppercase[:_MOST_OPTIONS], stop_reason=stop_reason)


def _all_labels(sample: Sample, row: Row) -> Sample:
    """One gold, the labels of all right options in order; the options stand in the question."""
    options = option_cells(row.cells)
    listed = "".join(f"\n{label}. {text}" for label, text in options.items())
    labels = SEPARATOR.join(sorted(gold.strip().upper() for gold in sample.gold))
    return structs.replace(
        sample,
        question=f"{sample.question}{listed}\n{_ALL_THAT_APPLY}",
        gold=(labels,) if labels else (),
        options={},
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
