"""VLMEvalKit's parsing rules of single benchmarks of pictures, as of its commit e8e78f05 (August
2026), without a judge and faults included:

`parse_visulogic`   VisuLogic: the complete reply or the content of the last box, if it is a letter
                    A to D; else a letter at the end of the reply, or alone at its beginning; else
                    what stands behind "the answer is" and the like.
`parse_visulogic_official`  The same in the authors' repository (VisuLogic-Eval, commit 00fba6dd),
                    where a reply without a box is taken whole only if it has one or two signs. What
                    this does not find their script has a judge extract.
`parse_vmcbench`    VMCBench: a label in parentheses or before a full stop, else between blanks,
                    else (in replies of more than five words) the text of an option; of several,
                    the last. If nothing is found, VLMEvalKit draws an option at random: so does
                    this rule, by a seed from the options and the reply.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.mmmu import RULE as OFFICIAL_RULE
from snellen.extract.published.mmmu import between_blanks, draw_option, last_content
from snellen.extract.published.vlmevalkit import RULE
from snellen.extract.unanswered import unparsed_answer

_FOUR_LABELS = ("A", "B", "C", "D")
_BOX_PART = re.compile(r"\\boxed\{|[^\\]\}")
_BOX = r"\boxed{"
_MARKUP = (r"\text{", r"\rm{", r"\mathbf{", "$", "}")
_MAX_LABEL_LENGTH = 2
_END_OF_TEXT = "<|endoftext|>"
_LEAD_INS = (
    "answer:",
    *(
        f"the {noun}{colon}"
        for colon in (":", "")
        for noun in (
            *("final answer is", "answer is option", "answer is"),
            *("correct answer is option", "correct answer is", "answer should be"),
        )
    ),
)


def parse_visulogic(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The letter in the last box, else the one at an edge or behind a lead-in. The options, which
    stand in the picture, are not read."""
    return _parse_box_or_prose(_boxed_text(reply), reply, stop_reason, RULE)


def parse_visulogic_official(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """As `parse_visulogic`, but without a box only a reply of one or two signs is its label."""
    has_text = len(reply) <= _MAX_LABEL_LENGTH or _last_box(reply) is not None
    boxed = _boxed_text(reply) if has_text else ""
    return _parse_box_or_prose(boxed, reply, stop_reason, OFFICIAL_RULE)


def _parse_box_or_prose(boxed: str, reply: str, stop_reason: str, rule: str) -> Answer:
    for label in (boxed.strip(), _label_in_prose(reply)):
        if label in _FOUR_LABELS:
            return ParsedAnswer(label, rule)
    return unparsed_answer(reply, stop_reason)


def _boxed_text(reply: str) -> str:
    """The text of the last box without its markup; the complete reply if there is no box, or more
    than a label in it."""
    content = _last_box(reply)
    if not content:
        return reply
    for mark in _MARKUP:
        content = content.replace(mark, "")
    return content if len(content) <= _MAX_LABEL_LENGTH and content != "or" else reply


def _last_box(reply: str) -> str | None:
    """What stands in the last box that is closed."""
    starts: list[int] = []
    content = None
    for part in _BOX_PART.finditer(reply):
        if part[0] == _BOX:
            starts.append(part.end())
        elif starts:
            start = starts.pop()
            if not starts:
                content = reply[start : part.start() + 1]
    return content


def _label_in_prose(reply: str) -> str:
    text = reply.replace(_END_OF_TEXT, "")
    for label in _FOUR_LABELS:
        if text.endswith((f" {label}.", f" ({label}).")) or text.startswith(
            (f"{label}\n", f"({label})\n", f"({label}) {label}\n")
        ):
            return label
    rest = text.lower()
    for lead_in in _LEAD_INS:
        if lead_in in rest:
            # What is cut off for one lead-in stays off for the next.
            rest = rest.split(lead_in)[-1].strip().split("\n")[0].split(".")[0]
            if rest.upper() in _FOUR_LABELS:
                return rest.upper()
    return text


def parse_vmcbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option that the reply names last, in the first form that names any; else one drawn."""
    text = between_blanks(reply)
    marked = [label for label in options if f"({label})" in text or f"{label}. " in text]
    if marked:
        return ParsedAnswer(max(marked, key=lambda label: text.rfind(f"({label})")), RULE)
    spaced = [label for label in options if f" {label} " in text]
    if spaced:
        return ParsedAnswer(max(spaced, key=lambda label: text.rfind(f" {label} ")), RULE)
    label = last_content(text, options)
    if label:
        return ParsedAnswer(label, RULE)
    return draw_option(unparsed_answer(reply, stop_reason), reply, options)
