"""CG-Bench's replies: an option, or intervals of a video, as {"result": ...} in a fence of JSON.

`parse_result_choice`, `parse_clues`  Snellen's rule: the object wherever it stands, else the option
    or intervals of the whole reply.
`result_parser`, `parse_clues_vlmevalkit`  VLMEvalKit's rule (`utils/cgbench.py`, as the authors'):
    the object must stand in a fence that is marked as JSON; else any letter A to H that stands
    alone may be the gold, and any numbers are the ends of intervals.

Intervals are written as JSON; those in parts of the video's length (all ends at most 1) have
`IN_PARTS` behind them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from snellen.core import lazy_re as re
from snellen.core.literals import load_json
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.choice import parse_choice
from snellen.extract.published.videos import VLMEVALKIT_RULE
from snellen.extract.unanswered import unparsed_answer
from snellen.extract.verdicts import parse_object

RESULT = "result"
IN_PARTS = " of its length"
RULE = "result"
_MOST_INTERVALS = 5
_OPEN_FENCE, _FENCE = "```json", "```"
_BARE_WORD = re.compile(r"(?<=:\s)([A-Za-z_]\w*)")
_LONE_LETTER = re.compile(r"\b[A-H]\b")
_NUMBER = re.compile(r"-?\d+\.?\d*")
_LIST = re.compile(r"\[\s*(?:\[[^\[\]]*\]\s*,?\s*)+\]|\[\s*-?[\d.]+\s*,\s*-?[\d.]+\s*\]")


def parse_result_choice(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option that the object's `result` names, with or without quotes, else the option of the
    reply."""
    found = parse_object(reply) or parse_object(_BARE_WORD.sub(r'"\1"', reply))
    if found is not None and RESULT in found:
        answer = parse_choice(str(found[RESULT]), options)
        if isinstance(answer, ParsedAnswer):
            return answer
    return parse_choice(reply, options, stop_reason=stop_reason)


def parse_clues(reply: str, stop_reason: str = "stop") -> Answer:
    """The first five intervals of the object's `result`, else of the last list in the reply."""
    found = parse_object(reply)
    result = found.get(RESULT) if found is not None else None
    if result is None:
        result = next(filter(None, map(_decode, reversed(_LIST.findall(reply)))), None)
    intervals = _pairs(result)
    if intervals is None:
        return unparsed_answer(reply, stop_reason)
    return _intervals_answer(intervals[:_MOST_INTERVALS], RULE)


def result_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """VLMEvalKit's parser of choices: a result that is not the gold letter is a wrong answer, and
    of several lone letters the gold counts."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        try:
            result = json.loads(_BARE_WORD.sub(r'"\1"', _fence_text(reply)))[RESULT]
        except (ValueError, LookupError, TypeError, RecursionError):
            letters = _LONE_LETTER.findall(reply)
            gold = next((label for label in golds if label in letters), None)
            if not letters:
                return unparsed_answer(reply, stop_reason)
            return ParsedAnswer(gold or letters[0], VLMEVALKIT_RULE)
        return ParsedAnswer(result if isinstance(result, str) else str(result), VLMEVALKIT_RULE)

    return parse


def parse_clues_vlmevalkit(reply: str, stop_reason: str = "stop") -> Answer:
    """VLMEvalKit's parser of intervals. A third end is ignored in parts of the length, and an error
    elsewhere."""
    try:
        result = json.loads(_fence_text(reply))[RESULT]
        if not isinstance(result, list):
            return unparsed_answer(reply, stop_reason)
        items = result if isinstance(result[0], list) else [result]
        spans = [(item[0] + 0.0, item[1] + 0.0) for item in items]
        answer = _intervals_answer(spans, VLMEVALKIT_RULE)
        is_pairs = answer.value.endswith(IN_PARTS) or all(len(item) == 2 for item in items)
        if is_pairs and all(map(_is_finite, spans)):
            return answer
    except (ValueError, LookupError, TypeError, OverflowError, RecursionError):
        pass
    numbers = list(filter(math.isfinite, map(float, _NUMBER.findall(reply))))
    if len(numbers) < 2:
        return unparsed_answer(reply, stop_reason)
    return ParsedAnswer(json.dumps(list(zip(numbers[0::2], numbers[1::2], strict=False))), VLMEVALKIT_RULE)


def _intervals_answer(pairs: Sequence[tuple[float, float]], rule: str) -> ParsedAnswer:
    parts = all(start <= 1 and end <= 1 for start, end in pairs)
    return ParsedAnswer(f"{json.dumps(pairs)}{IN_PARTS if parts else ''}", rule)


def _fence_text(reply: str) -> str:
    """The text of the first fence that is marked as JSON; empty if none is closed."""
    start = reply.find(_OPEN_FENCE)
    end = reply.find(_FENCE, start + len(_OPEN_FENCE))
    if start == -1 or end == -1:
        return ""
    return reply[start + len(_OPEN_FENCE) : end].strip()


def _decode(text: str) -> Any:
    try:
        return load_json(text)
    except ValueError:
        return None


def _pairs(value: Any) -> list[tuple[float, float]] | None:
    """Intervals of a decoded list of pairs, or of one pair; None for anything else."""
    if not isinstance(value, list) or not value:
        return None
    pairs = value if isinstance(value[0], list) else [value]
    if not all(isinstance(pair, list) and len(pair) == 2 for pair in pairs):
        return None
    try:
        ends = [(float(start), float(end)) for start, end in pairs]
    except (TypeError, ValueError, OverflowError):
        return None
    return ends if all(map(_is_finite, ends)) else None


def _is_finite(span: tuple[float, float]) -> bool:
    return math.isfinite(span[0]) and math.isfinite(span[1])
