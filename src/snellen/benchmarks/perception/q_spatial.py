"""Q-Spatial Bench: distances and sizes (Liao et al. 2024, https://arxiv.org/abs/2409.09788).

A length with its unit is right within a factor of two (Sec. 3); within 1.5 stands beside it.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import own_and_vlmevalkit
from snellen.benchmarks.declaration.published import HubSplit, Published
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenParser, OpenScoring
from snellen.core.sample import Row, Sample
from snellen.extract.open_text import parse_final, parse_raw

SUCCESS = "success_rate"
STRICTER = "within_1.5"
_FACTORS = {SUCCESS: 2.0, STRICTER: 1.5}
_LENGTH_CLOSING = (
    "Give your best estimate even if you are not sure. End your reply with a line of the form "
    r"\scalar{NUMBER} \distance_unit{UNIT}."
)
_TUPLE = re.compile(r"\(\s*([\d.]+)\s*,\s*['\"]?(\w+)['\"]?\s*\)")
_CENTIMETRES = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 100.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters"), 1.0),
    **dict.fromkeys(("ft", "foot", "feet"), 30.48),
    **dict.fromkeys(("in", "inch", "inches"), 2.54),
    "mm": 0.1,
}
"""The units that Q-Spatial's scorer knows."""
_FURTHER = {
    **dict.fromkeys(("centimetre", "centimetres", "cms"), 1.0),
    **dict.fromkeys(("millimeter", "millimeters", "millimetre", "millimetres"), 0.1),
    **dict.fromkeys(("yard", "yards", "yd"), 91.44),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), 100_000.0),
    **dict.fromkeys(('"', "''"), 2.54),
    "'": 30.48,
}
_NUMBER = r"(?<![\d.])(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})"
_UNIT = "|".join(
    re.escape(unit) if not unit.isalpha() else rf"{unit}(?![a-z])"
    for unit in sorted({**_CENTIMETRES, **_FURTHER}, key=len, reverse=True)
)
_LENGTH = re.compile(
    rf"(?P<low>{_NUMBER})(?:\s{{0,3}}(?:-|–|to)\s{{0,3}}(?P<high>{_NUMBER}))?"
    rf"[\s,'\"*]{{0,4}}?(?P<unit>{_UNIT})",
    re.IGNORECASE,
)
_SCALAR = re.compile(r"scalar\{([^}]{0,1000})\}")
_DISTANCE_UNIT = re.compile(r"distance_unit\{([^}]{0,1000})\}")
_DIGITS = re.compile(r"\d+\.?\d*")
_NEARLY_NOTHING = 1e-8


def _state_length(row: Row) -> Row:
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


def _ask_for_length(sample: Sample, row: Row) -> Sample:
    """The question with a line that asks for a number and its unit."""
    return structs.replace(sample, question=f"{sample.question}\n{_LENGTH_CLOSING}")


def parse_marked_length(text: str) -> float | None:
    r"""The length in centimetres in the last `\scalar{...}` and `\distance_unit{...}`: the mean of
    the numbers there; 0 for a unit that is not known. None without both, or without a number."""
    scalars, units = _SCALAR.findall(text), _DISTANCE_UNIT.findall(text)
    if not scalars or not units:
        return None
    numbers = [float(number) for number in _DIGITS.findall(scalars[-1])]
    if not numbers:
        return None
    return sum(numbers) / len(numbers) * _CENTIMETRES.get(units[-1].lower(), 0.0)


def parse_length(text: str) -> float | None:
    """The last length of a text in centimetres: the middle of a range, feet with the inches behind
    them. None without a number that a unit follows."""
    found = list(_LENGTH.finditer(text))
    if not found:
        return None
    last = found[-1]
    value = _centimetres(last)
    if len(found) > 1 and last["unit"].lower() in ("in", "inch", "inches", '"', "''"):
        feet = found[-2]
        between = text[feet.end() : last.start()].strip(" ,")
        if feet["unit"].lower() in ("ft", "foot", "feet", "'") and between in ("", "and"):
            value += _centimetres(feet)
    return value


def _centimetres(match: re.Match[str]) -> float:
    low = float(match["low"])
    middle = (low + float(match["high"])) / 2 if match["high"] else low
    unit = match["unit"].lower()
    return middle * {**_CENTIMETRES, **_FURTHER}[unit]


def is_within_factor(estimate: float, truth: float, factor: float) -> bool:
    """Whether neither length is `factor` times the other, or more."""
    a, b = estimate + _NEARLY_NOTHING, truth + _NEARLY_NOTHING
    return max(a / b, b / a) < factor


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


def _both(parse: OpenParser, grade: Callable[[str, str, Sample], float]) -> OpenScoring:
    """The grade under both factors."""
    return OpenScoring(parse, partial(grade, SUCCESS), {STRICTER: partial(grade, STRICTER)})


BENCHMARK = Declaration(
    name="q-spatial",
    version="10",
    title="Q-Spatial Bench, distances and sizes",
    paper="https://arxiv.org/abs/2409.09788",
    provenance="andrewliao11/Q-Spatial-Bench on the hub (Apache-2.0)",
    data=Published({}, {(): HubSplit("hf://andrewliao11/Q-Spatial-Bench?split=QSpatial_plus")}),
    aliases={"QSpatial_plus": {}, "Q-Spatial Bench": {}},
    group_by=("question_type",),
    kind="open",
    adjust_row=_state_length,
    adjust=_ask_for_length,
    scoring=RuleScoring(
        rules=own_and_vlmevalkit(_both(parse_final, _grade_length), _both(parse_raw, _grade_length_vlmevalkit)),
        metric=SUCCESS,
    ),
)
