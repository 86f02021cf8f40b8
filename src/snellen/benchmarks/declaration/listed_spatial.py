"""Rules of listed benchmarks about space: lengths, measures of several types, orders of steps.

Q-Spatial Bench: a length with its unit, right within a factor of two. Omni3D-Bench: yes or no, an
option's word, a count, or a size, which is graded by its relative error. LEGO-Puzzles: questions of
order are answered with all labels in a row ("BDAC"); the others are multiple choice.
"""

from __future__ import annotations

import re
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.open_questions import parse_marked_answer, parse_raw_reply
from snellen.benchmarks.declaration.rows import option_cells
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.benchmarks.protocol.parsers import OWN, PARSERS, VLMEVALKIT, ParserSet
from snellen.core.literals import parse_finite
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.core.sample import Row, Sample
from snellen.data.columns import gold_column
from snellen.extract.numbers import parse_numeric_answer
from snellen.extract.orders import find_order, find_order_vlmevalkit
from snellen.extract.yes_no import parse_yes_no
from snellen.scoring.lengths import (
    is_within_factor,
    mean_relative_accuracy,
    parse_length,
    parse_marked_length,
)
from snellen.scoring.open_answer import matches_gold

SUCCESS = "success_rate"
STRICTER = "within_1.5"
MEASURE = "measure"
_FACTORS = {SUCCESS: 2.0, STRICTER: 1.5}
_LENGTH_CLOSING = (
    "Give your best estimate even if you are not sure. End your reply with a line of the form "
    r"\scalar{NUMBER} \distance_unit{UNIT}."
)
_TUPLE = re.compile(r"\(\s*([\d.]+)\s*,\s*['\"]?(\w+)['\"]?\s*\)")
_MEASURES = {"int": "count", "float": "size"}
_YES_NO = ("yes", "no")
_TRUTH = {"yes": "true", "no": "false"}
_TAGGED = re.compile(r"<ans>(.*?)(?:</ans>|$)", re.DOTALL)
_MEASURE_CLOSING = "Reply with one word or number between <ans> and </ans>. (Answer type: {})"
_ORDER_CLOSING = "Reply with the letters of all options in the right order, such as BDAC."
_IN_ORDER = "sort"
ORDER_LABELS = "ABCD"


def length_rules() -> dict[str, ParserSet]:
    """Within a factor of two; within 1.5 beside it."""
    own = OpenScoring(
        parse_marked_answer,
        partial(_grade_length, SUCCESS),
        {STRICTER: partial(_grade_length, STRICTER)},
    )
    vlmevalkit = OpenScoring(
        parse_raw_reply,
        partial(_grade_length_vlmevalkit, SUCCESS),
        {STRICTER: partial(_grade_length_vlmevalkit, STRICTER)},
    )
    return {
        OWN: PARSERS[OWN]._replace(open=own),
        VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(open=vlmevalkit),
    }


def state_length(row: Row) -> Row:
    """The gold as "1.2 meters", of the columns of the hub or of VLMEvalKit's pair."""
    cells = row.cells
    if "answer_value" in cells and "answer_unit" in cells:
        answer = f"{cells['answer_value']} {cells['answer_unit']}"
    else:
        pair = _TUPLE.fullmatch(cells.get("answer", "").strip())
        if pair is None:
            return row
        answer = f"{pair[1]} {pair[2]}"
    return structs.replace(row, cells={**cells, "answer": answer})


def ask_for_length(sample: Sample, row: Row) -> Sample:
    """The question with a line that asks for a number and its unit."""
    return structs.replace(sample, question=f"{sample.question}\n{_LENGTH_CLOSING}")


def _grade_length(metric: str, answer: str, sample: Sample) -> float:
    estimate = parse_marked_length(answer)
    return _within(metric, parse_length(answer) if estimate is None else estimate, sample)


def _grade_length_vlmevalkit(metric: str, reply: str, sample: Sample) -> float:
    return _within(metric, parse_marked_length(reply), sample)


def _within(metric: str, estimate: float | None, sample: Sample) -> float:
    truth = parse_length(sample.gold[0])
    if estimate is None or truth is None:
        return 0.0
    return float(is_within_factor(estimate, truth, _FACTORS[metric]))


def measure_rules() -> dict[str, ParserSet]:
    """Graded by the type of answer that the row names."""
    return {
        OWN: PARSERS[OWN]._replace(open=OpenScoring(_parse_tagged, _grade_measure)),
        VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(
            open=OpenScoring(parse_raw_reply, _grade_measure_vlmevalkit)
        ),
    }


def ask_for_measure(sample: Sample, row: Row) -> Sample:
    """The question with the type of its answer, grouped by it."""
    kind = row.cells.get("answer_type", "")
    gold = sample.gold[0] if sample.gold else ""
    measure = _MEASURES.get(kind) or ("yes_no" if gold.lower() in _YES_NO else "choice")
    closing = _MEASURE_CLOSING.format(kind or "str")
    return structs.replace(
        sample,
        question=f"{sample.question}\n{closing}",
        groups={**sample.groups, MEASURE: measure},
    )


def _parse_tagged(reply: str, stop_reason: str) -> Answer:
    tags = list(_TAGGED.finditer(reply))
    if tags and tags[-1][1].strip():
        return ParsedAnswer(tags[-1][1].strip(), "answer tag", tags[-1].span(1))
    return parse_marked_answer(reply, stop_reason)


def _grade_measure(answer: str, sample: Sample) -> float:
    gold, measure = sample.gold[0], sample.groups.get(MEASURE)
    if measure == "yes_no":
        said = parse_yes_no(answer)
        return float(isinstance(said, ParsedAnswer) and said.value.lower() == gold.lower())
    if measure == "choice":
        return float(matches_gold(answer, sample.gold))
    number = parse_numeric_answer(answer)
    estimate = (
        parse_finite(number.value.replace(",", "")) if isinstance(number, ParsedAnswer) else None
    )
    truth = parse_finite(gold)
    if estimate is None or truth is None:
        return 0.0
    return (
        float(estimate == truth) if measure == "count" else mean_relative_accuracy(estimate, truth)
    )


def _grade_measure_vlmevalkit(reply: str, sample: Sample) -> float:
    gold, measure = sample.gold[0], sample.groups.get(MEASURE)
    answer = reply.split("<ans>")[1].split("</ans>")[0] if "<ans>" in reply else reply
    if measure == "yes_no":
        return float(gold in answer.lower() or _TRUTH.get(gold, gold) in answer.lower())
    if measure == "choice":
        return float(answer.lower() == gold)
    if measure == "count":
        return float(_as_whole(answer) == _as_whole(gold))
    estimate, truth = parse_finite(answer), parse_finite(gold)
    if estimate is None or truth is None:
        return 0.0
    return mean_relative_accuracy(estimate, truth)


def _as_whole(text: str) -> int | str:
    try:
        return int(text)
    except ValueError:
        return text


def order_rules() -> dict[str, ParserSet]:
    """Orders of labels; other questions by the rules for choices."""
    return {
        OWN: PARSERS[OWN]._replace(open=OpenScoring(_parse_order, _grade_order)),
        VLMEVALKIT: PARSERS[VLMEVALKIT]._replace(
            open=OpenScoring(_parse_order_vlmevalkit, _grade_order)
        ),
    }


def ask_for_order(sample: Sample, row: Row) -> Sample:
    """A question of order is open, with its options in the question, and all labels as gold."""
    if row.cells.get("question_type") != _IN_ORDER:
        return sample
    options = "".join(f"\n{label}. {text}" for label, text in option_cells(row.cells).items())
    gold = row.cells.get(gold_column(row.cells) or "", "").strip().upper()
    return structs.replace(
        sample,
        kind="open",
        question=f"{row.cells.get('question', '')}{options}\n{_ORDER_CLOSING}",
        gold=(gold,) if gold else (),
        options={},
    )


def _parse_order(reply: str, stop_reason: str) -> Answer:
    """The order in the marked answer, else the last one in the reply."""
    answer = parse_marked_answer(reply, stop_reason)
    if not isinstance(answer, ParsedAnswer):
        return answer
    order = find_order(answer.value, ORDER_LABELS) or find_order(reply, ORDER_LABELS)
    return ParsedAnswer(order, answer.rule) if order else Unparsed()


def _parse_order_vlmevalkit(reply: str, stop_reason: str) -> Answer:
    order = find_order_vlmevalkit(reply)
    return ParsedAnswer(order, "vlmevalkit: order") if order else Unparsed()


def _grade_order(answer: str, sample: Sample) -> float:
    return float(answer in sample.gold)
