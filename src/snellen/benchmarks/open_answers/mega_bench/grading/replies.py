"""How MEGA-Bench's tasks read a reply: as one answer behind "Answer:", or as a JSON object.

The parsers are those of the authors (megabench/metrics/parsing), by the names in the data. In the
words "**Answer:** B" nothing stands between the colon and the stars, so the answer is empty; and
behind "Answer:" an object counts only as far as its first line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.literals import unquote
from snellen.benchmarks.open_answers.mega_bench.grading.objects import last_object

JSON, DUMMY = "json", "dummy"
_SINGLE = {"answer_string": True, "ascii_answer_string": False, "verbatim_answer_string": False}
"""Parsers of a single answer, and whether blanks around it, and whatever follows it, are cut."""
PARSERS = (*_SINGLE, JSON, DUMMY)
_TRIMMED_ANSWER = re.compile(r"\*\*?Answer:\s*(.*?)\*\*?|\bAnswer:\s*(.*)", re.DOTALL)
_WHOLE_ANSWER = re.compile(r"\*\*?Answer:(.*?)\*\*?|\bAnswer:(.*)", re.DOTALL)
_BLOCK = re.compile(r"```\w*+(?>(?:\s*\n)?)(.*?)```", re.DOTALL)
_BLANK_LINES = re.compile(r"^\s*$(\n^\s*$)+", re.MULTILINE)
_BLANK_END = re.compile(r"(\n\s*)+$")
_BLANK_START = re.compile(r"^(\s*\n)+")
_SHORT_ANSWER = re.compile(r"(?:[a-zA-Z0-9_-]+)(?:,\s*[a-zA-Z0-9_-]+)*|(?:[a-zA-Z0-9_-]+)\.|\((?:[a-zA-Z0-9_-]+)\)$")
_LONGEST_BLANK = 10_000
"""Characters above which the blanks at the end of a drawing are cut first."""


def parse_reply(reply: str, parser: str, gold: Mapping[str, Any]) -> Any:
    """The fields of a reply by name, or its text for the parser `dummy`. A reply without an object
    is itself the value of every field of the gold."""
    if parser == DUMMY:
        return reply.strip()
    if parser in _SINGLE:
        field = single_field(gold)
        several_lines = "\n" in str(gold[field])
        return {field: _single_answer(reply, parser, several_lines)}
    found = last_object(reply)
    if not isinstance(found, dict) or not found:
        return dict.fromkeys(gold, reply)
    return {key: unquote(value) for key, value in found.items()}


def single_field(gold: Mapping[str, Any]) -> str:
    """The field that a parser of single answers fills: the first whose name does not begin with
    `##`, or the first of all."""
    return next((name for name in gold if not name.startswith("##")), next(iter(gold)))


def is_single(parser: str) -> bool:
    return parser in _SINGLE


def _single_answer(reply: str, parser: str, several_lines: bool) -> str:
    is_text = _SINGLE[parser]
    verbatim = parser == "verbatim_answer_string"
    answer = _behind_mark(reply, _TRIMMED_ANSWER if is_text else _WHOLE_ANSWER)
    answer = answer.strip() if is_text else _without_blank_lines(answer, verbatim)
    if not is_text and (not answer.strip() or len(answer) > _LONGEST_BLANK):
        answer = answer.rstrip()
    block = _block(answer, is_text, verbatim)
    if block is not None:
        answer = block
    elif is_text and not several_lines:
        answer = _first_paragraph(answer)
    if not answer.startswith(("{", "[")):
        return str(unquote(answer))
    found = last_object(answer)
    if found in ({}, []) and str(found) not in answer:
        return answer
    return str(found)


def _behind_mark(reply: str, mark: re.Pattern[str]) -> str:
    """What stands behind the last "Answer:"; the reply if there is none."""
    reply = reply.replace("answer:", "Answer:")
    last = reply.rfind("Answer:")
    if last < 0:
        return reply
    reply = reply[:last].replace("Answer:", "") + reply[last:]
    found = mark.search(reply)
    return reply if found is None else found[1] or found[2] or ""


def _without_blank_lines(text: str, verbatim: bool) -> str:
    """A drawing or an output without blank lines around it, and with one where there are more."""
    text = _BLANK_LINES.sub("", text)
    return _BLANK_START.sub("", _BLANK_END.sub("", text) if verbatim else text.rstrip())


def _block(text: str, is_text: bool, verbatim: bool) -> str | None:
    """The content of the first block of code, without white space around it or, of a drawing,
    without blank lines; None if there is none."""
    found = _BLOCK.search(text)
    if found is None:
        return None
    content = found[1]
    if not verbatim:
        return content.strip() if is_text else content.rstrip()
    body = content.rstrip()
    line_end = content.find("\n", len(body))
    return content if line_end < 0 else content[:line_end]


def _first_paragraph(answer: str) -> str:
    """The first paragraph if it begins with a short answer and no line follows it directly."""
    first = answer.split("\n\n")[0].strip()
    is_short = _SHORT_ANSWER.match(first) is not None
    return first if is_short and not _continues(answer) else answer


def _continues(text: str) -> bool:
    """Whether a line with text follows the first one, or none at all."""
    lines = text.splitlines()
    for number, line in enumerate(lines, start=1):
        if line.strip():
            return number >= len(lines) or bool(lines[number].strip())
    return False
