"""Parsing rules of scripts published with benchmarks about videos, and of VLMEvalKit's copies.

`parse_video_holmes`  Video-Holmes: the text of the last <answer>, or the complete reply; in it
                      the first letter of the alphabet that a blank, a colon or a bracket marks,
                      else the first that occurs at all.
`parse_video_holmes_vlmevalkit`  The same, but a reply without <answer> has no answer.
`quality_parser`      Q-Bench-Video in VLMEvalKit: the label alone or in a line of its own, the
                      label and a dot anywhere, or the option's text up to its first dot.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.unanswered import unparsed_answer

RULE = "official"
VLMEVALKIT_RULE = "vlmevalkit"
_HOLMES_LABELS = "ABCDEF"
_OPENING, _CLOSING = "<answer>", "</answer>"


def parse_video_holmes(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option of the last <answer>, or of the complete reply.

    Letters are tried in the order of the alphabet, not of the text: "B, not A " is A. A letter that
    opens a word counts, so that "Boat" is B.
    """
    tagged = _last_tagged(reply)
    return _first_letter(reply if tagged is None else tagged, reply, options, stop_reason)


def parse_video_holmes_vlmevalkit(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The option of the last <answer>; without <answer> there is none."""
    return _first_letter(_last_tagged(reply) or "", reply, options, stop_reason)


def quality_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """Q-Bench-Video's parser, which tries the gold first: a reply that names several options in
    its forms is right if the gold is one of them."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        for label in (*golds, *(label for label in options if label not in golds)):
            text = options.get(label, "").partition(".")[0].strip()
            if reply in (label, text) or f"{label}." in reply or label in reply.split("\n"):
                return ParsedAnswer(label, VLMEVALKIT_RULE)
        return unparsed_answer(reply, stop_reason)

    return parse


def _last_tagged(reply: str) -> str | None:
    """The text of the last <answer> that is closed; None without one. Takes one pass, however often
    a tag is repeated."""
    last = None
    start = reply.find(_OPENING)
    while start >= 0:
        start += len(_OPENING)
        end = reply.find(_CLOSING, start)
        if end < 0:
            break
        last = reply[start:end].strip()
        start = reply.find(_OPENING, end + len(_CLOSING))
    return last


def _first_letter(text: str, reply: str, options: Mapping[str, str], stop_reason: str) -> Answer:
    marked = (
        label for label in _HOLMES_LABELS if any(form in text for form in (f"{label} ", f"{label}:", f"[{label}"))
    )
    contained = (label for label in _HOLMES_LABELS if label in text)
    label = next(marked, None) or next(contained, None)
    if label is not None and (not options or label in options):
        return ParsedAnswer(label, RULE)
    return unparsed_answer(reply, stop_reason)
