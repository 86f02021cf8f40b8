r"""Parsing rules of the scripts published for benchmarks of texts alone.

`parse_gsm8k`        GSM8K's `dataset.py`: the number behind the first "#### ".
`parse_answer_line`  GPQA in OpenAI's simple-evals, the source of most quoted numbers: the first
                     letter A to D behind "Answer:".
`parse_mmlu_pro`     MMLU-Pro: the letter behind "answer is", else behind the last "answer:" of the
                     first line that has one, else the last letter A to J that stands alone.
`parse_math_box`     MATH's `eval_math_gpt.py`: the last \boxed{...}.
`parse_harness_box`  AIME in EleutherAI's lm-evaluation-harness: the last box, else what stands
                     between the first and the last dollar sign, else the whole reply.
`parse_braces`       ZEROBench, as its authors publish it: what stands in the last {curly braces} of a
                     line.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.clean import without_thinking
from snellen.extract.open_text import parse_open
from snellen.extract.unanswered import unparsed_answer

RULE = "official"
_AFTER_MARK = re.compile(r"#### (-?[0-9.,]+)")
_ANSWER_LINE = re.compile(r"Answer[ \t]*:[ \t]*\$?([A-D])\$?", re.IGNORECASE)
_ANSWER_IS = re.compile(r"answer is \(?([A-J])\)?")
_ANSWER_COLON = re.compile(r".*[aA]nswer:\s*([A-J])")
_LAST_LETTER = re.compile(r"\b[A-J]\b(?!.*\b[A-J]\b)", re.DOTALL)
_BRACES = re.compile(r"\{(.*?)\}")
_LONE_BRACES = re.compile(r"(?<![\w}\\])\{([^{}\n:\"]*)\}")
_BOX, _FRAMED_BOX = "\\boxed", "\\fbox"


def parse_gsm8k(reply: str, stop_reason: str = "stop") -> Answer:
    found = _AFTER_MARK.search(reply)
    return ParsedAnswer(found[1].replace(",", ""), RULE) if found else unparsed_answer(reply, stop_reason)


def parse_answer_line(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    found = _ANSWER_LINE.search(reply)
    return ParsedAnswer(found[1], RULE) if found else unparsed_answer(reply, stop_reason)


def parse_mmlu_pro(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The authors draw an option at random where they find none: such a reply is wrong here."""
    found = _ANSWER_IS.search(reply) or _ANSWER_COLON.search(reply)
    letter = found[1] if found else last[0] if (last := _LAST_LETTER.search(reply)) else ""
    return ParsedAnswer(letter, RULE) if letter else unparsed_answer(reply, stop_reason)


def parse_math_box(reply: str, stop_reason: str = "stop") -> Answer:
    """Its content if it is a \\boxed{...}: of others, \\boxed 5 and \\fbox{5}, nothing is taken."""
    box = last_box(reply)
    if box is None or not box.startswith(_BOX + "{"):
        return unparsed_answer(reply, stop_reason)
    return ParsedAnswer(box[len(_BOX) + 1 : -1], RULE)


def parse_harness_box(reply: str, stop_reason: str = "stop") -> Answer:
    if not reply.strip():
        return unparsed_answer(reply, stop_reason)
    first, last = reply.find("$"), reply.rfind("$")
    answer = reply[first + 1 : last] if last > first else reply
    spaced = reply.rpartition(f"{_BOX} ")
    if spaced[1]:
        return ParsedAnswer(spaced[2].split("$")[0], RULE)
    box = last_box(reply)
    if box is not None and box.startswith(_BOX + "{"):
        answer = box[len(_BOX) + 1 : -1]
    return ParsedAnswer(answer, RULE)


def parse_braces(reply: str, stop_reason: str = "stop") -> Answer:
    found = _BRACES.findall(reply)
    return ParsedAnswer(found[-1], RULE) if found else unparsed_answer(reply, stop_reason)


def parse_braces_or_open(reply: str, stop_reason: str = "stop") -> Answer:
    """The content of the last curly braces behind the thinking, unless it belongs to a LaTeX command;
    else as any open reply."""
    lone = _LONE_BRACES.findall(without_thinking(reply))
    return ParsedAnswer(lone[-1].strip(), "braces") if lone else parse_open(reply, stop_reason)


def last_box(text: str) -> str | None:
    """The last box with its command, up to the brace that closes the first one behind it; None
    without one, or where no brace closes."""
    start = text.rfind(_BOX)
    start = start if start >= 0 else text.rfind(_FRAMED_BOX)
    depth = 0
    for position in range(max(start, 0), len(text) if start >= 0 else 0):
        depth += (text[position] == "{") - (text[position] == "}")
        if text[position] == "}" and depth == 0:
            return text[start : position + 1]
    return None
