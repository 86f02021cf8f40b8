"""Rules of listed benchmarks whose answers no metric of `open_questions.METRICS` grades.

TallyQA asks for a count: Snellen compares it as a number, VLMEvalKit takes the first number from 0
to 20 in the reply, in digits or in words. WildDoc photographs the pages of three benchmarks again
and scores each by its own rule; a row's id begins with the name of its part. A4Bench has questions
with several right options, all of which and no others must be named. SCAM's rows have the name of
an object and a word that is written on it, which become the two options. Rules about space stand in
`listed_spatial`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import partial
from string import ascii_uppercase
from types import MappingProxyType
from typing import NamedTuple

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Headline
from snellen.benchmarks.declaration.listed_spatial import (
    SUCCESS,
    ask_for_length,
    ask_for_measure,
    ask_for_order,
    length_rules,
    measure_rules,
    order_rules,
    state_length,
)
from snellen.benchmarks.declaration.open_questions import (
    open_rules,
    parse_marked_answer,
    parse_raw_reply,
)
from snellen.benchmarks.declaration.rows import AdjustSample, list_options, option_cells
from snellen.benchmarks.declaration.video_questions import group_mean, nested_weights
from snellen.benchmarks.documents.tablevqabench.benchmark import grade as grade_table
from snellen.benchmarks.protocol.flows import EQUALITY, OpenScoring
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT, ParserSet, rules_of
from snellen.core.literals import parse_literal
from snellen.core.output import Answer
from snellen.core.sample import Row, Sample, sampling_key
from snellen.data.columns import row_id
from snellen.extract.multi_label import SEPARATOR, parse_multi_label
from snellen.scoring.edit_distance import anls, anls_by_script
from snellen.scoring.relaxed import relaxed_correct

PART = "part"
_NUMBER_WORDS = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    "eleven", "twelve", "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen",
    "nineteen", "twenty",
)  # fmt: skip
_COUNT = re.compile(rf"\b(?:(?P<digits>[0-9]|1[0-9]|20)|{'|'.join(_NUMBER_WORDS)})\b")
_MAX_OPTIONS = 8
_TRUTH = {"1": "True", "0": "False"}


class ListedRules(NamedTuple):
    """The name of the headline, the rules, and adjustments of each sample and each row."""

    metric: str
    rules: Mapping[str, ParserSet]
    adjust: AdjustSample | None = None
    adjust_row: Callable[[Row], Row] | None = None
    headlines: Mapping[str, Headline] = MappingProxyType({})
    """`Declaration.rule_headlines`."""


def listed_rules(name: str) -> ListedRules:
    made: dict[str, Callable[[], ListedRules]] = {
        "counting": _counting_rules,
        "letters": _letter_rules,
        "wilddoc": _wilddoc_rules,
        "attack-words": _attack_word_rules,
        "lengths": _length_rules,
        "measures": _measure_rules,
        "orders": _order_rules,
    }
    return made[name]()


def _counting_rules() -> ListedRules:
    rules = open_rules(EQUALITY.grade, vlmevalkit=_equal_first_count, parse=EQUALITY.parse)
    return ListedRules("accuracy", _drop_official(rules))


def _equal_first_count(answer: str, sample: Sample) -> float:
    match = _COUNT.search(answer.lower())
    if match is None:
        return 0.0
    count = int(match["digits"]) if match["digits"] else _NUMBER_WORDS.index(match[0])
    return float(any(gold.strip() == str(count) for gold in sample.gold))


def _letter_rules() -> ListedRules:
    rules = {
        OWN: PARSERS[OWN]._replace(open=OpenScoring(_parse_letters, _same_letters)),
        VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(
            open=OpenScoring(parse_raw_reply, _same_list_vlmevalkit)
        ),
    }
    return ListedRules("accuracy", rules, _merge_labels)


def _same_list_vlmevalkit(reply: str, sample: Sample) -> float:
    """Whether the reply is a Python list, or another literal, of the same letters in any order.
    VLMEvalKit's evaluation ends with an error where a reply is none; here that is wrong."""
    try:
        items = parse_literal(reply)
        return float(sorted(items) == sample.gold[0].split(SEPARATOR))
    except (ValueError, TypeError):
        return 0.0


def _same_letters(answer: str, sample: Sample) -> float:
    return float(answer in sample.gold)


def _parse_letters(reply: str, stop_reason: str) -> Answer:
    return parse_multi_label(reply, ascii_uppercase[:_MAX_OPTIONS], stop_reason=stop_reason)


def _merge_labels(sample: Sample, row: Row) -> Sample:
    """Make one gold answer of the labels of all right options; the options move into the
    question."""
    labels = SEPARATOR.join(sorted(gold.strip().upper() for gold in sample.gold))
    return structs.replace(
        sample,
        question=list_options(sample.question, option_cells(row.cells)),
        gold=(labels,) if labels else (),
        options={},
    )


def _wilddoc_rules() -> ListedRules:
    rules = open_rules(
        _grade_by_part, vlmevalkit=_grade_by_part_vlmevalkit, parse=parse_marked_answer
    )
    mean = group_mean("mean_of_parts", "split", weights=partial(nested_weights, _part_of_split))
    return ListedRules("score", _drop_official(rules), _add_part, headlines={VLMEVALKIT: mean})


def _part_of_split(split: str) -> str:
    return split if split in ("DocVQA", "ChartQA") else "TableVQA"


def _add_part(sample: Sample, row: Row) -> Sample:
    """Group the sample by its part; a table's gold answer becomes what TableVQA-Bench expects."""
    part, _, remainder = sample.id.partition("-")
    if part != "TableVQA":
        return structs.replace(sample, groups={**sample.groups, PART: part, "split": part})
    split = remainder.partition("-")[0]
    gold = "|".join(sample.gold)
    if split == "vtabfact":
        gold = _TRUTH.get(gold, gold)
    return structs.replace(
        sample,
        gold=(gold,) if gold else (),
        groups={**sample.groups, PART: part, "split": split},
    )


def _grade_by_part(answer: str, sample: Sample) -> float:
    part = sample.groups.get(PART)
    if part == "TableVQA":
        return grade_table(answer, sample)
    if part == "ChartQA":
        return float(relaxed_correct(answer, sample.gold))
    return anls(answer, sample.gold)


def _grade_by_part_vlmevalkit(answer: str, sample: Sample) -> float:
    if sample.groups.get(PART) in ("TableVQA", "ChartQA"):
        return _grade_by_part(answer, sample)
    return anls_by_script(answer, sample.gold)


def _length_rules() -> ListedRules:
    return ListedRules(SUCCESS, length_rules(), ask_for_length, state_length)


def _measure_rules() -> ListedRules:
    return ListedRules("accuracy", measure_rules(), ask_for_measure)


def _order_rules() -> ListedRules:
    return ListedRules("accuracy", order_rules(), ask_for_order)


def _attack_word_rules() -> ListedRules:
    return ListedRules("accuracy", rules_of(None), adjust_row=_offer_object_and_word)


def _offer_object_and_word(row: Row) -> Row:
    """Options A and B of the object's name, which is right, and the word on it.

    Half of the rows, by a hash of their ids, have the word first: VLMEvalKit draws the order at
    random. Rows that have options keep them.
    """
    cells = row.cells
    if "object_label" not in cells or "attack_word" not in cells:
        return row
    texts = (cells["object_label"], cells["attack_word"])
    word_first = sampling_key("SCAM", row_id(row))[0] % 2 == 1
    offered = dict(zip("AB", reversed(texts) if word_first else texts, strict=True))
    named = {"category": cells["type"]} if "type" in cells else {}
    others = {name: text for name, text in cells.items() if name != "type"}
    return structs.replace(
        row, cells={**others, **offered, **named, "answer": "B" if word_first else "A"}
    )


def _drop_official(rules: Mapping[str, ParserSet]) -> dict[str, ParserSet]:
    return {name: rule for name, rule in rules.items() if name != "official"}
