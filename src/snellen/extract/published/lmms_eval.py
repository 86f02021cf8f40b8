"""lmms-eval's parsing rules of single benchmarks, as of its commit 75571cfe (2026).

`parse_listed`        LVBench, VideoMMMU, VideoEval-Pro: its common reader of choices, `mcq_extract`.
`parse_bounded`       PerceptionTest: the first capital A to D between word boundaries.
`parse_egoschema`     EgoSchema: of the labels that are written in one of three ways, the one whose
                      last occurrence is first in the reply; else an option's text, else a draw.
`parse_tomato`        TOMATO: the capital that occurs anywhere, of several the last in brackets;
                      A where nothing is found.
`parse_motionbench`   MotionBench: of the reply in capitals the first A to F between word
                      boundaries, before a sign, or anywhere.
`parse_tvbench`       TVBench: the first letter between word boundaries, or that opens the reply,
                      else the only option whose text is in it.
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import DRAWN, Answer, ParsedAnswer
from snellen.extract.published.mmmu import EDGES, between_blanks, contents_in, draw_option, last_content
from snellen.extract.unanswered import label_answer, unparsed_answer

RULE = "lmms-eval"
_PHRASES = (
    *("the answer is", "answer is", "the correct answer is", "correct answer is", "the best answer is"),
    *("best answer is", "the correct option is", "correct option is", "the best option is", "best option is"),
    *("the choice is", "choice is", "the correct choice is", "correct choice is", "i choose", "i select"),
    *("i pick", "my answer is", "my choice is", "옵션", "정답은", "답은", "답:", "答案是", "答案为", "选", "答えは"),
)
_FORMS = (("({})", 6), ("{}.", 5), ("{}:", 4), ("{})", 3), ("{} ", 2))
"""Ways of writing a label, each with its weight."""
_START, _END, _PHRASE = 10, 9, 7
_BOUNDED = re.compile(r"\b([A-D])\b")
_MOTION_PHRASES = ("THE BEST ANSWER IS", "THE CORRECT ANSWER IS", "THE ANSWER IS", "BEST ANSWER:", "ANSWER:")
_MOTION_FORMS = (re.compile(r"\b([A-F])\b"), re.compile(r"([A-F])[.):]"), re.compile(r"([A-F])"))
_TV_FORMS = (re.compile(r"\b([A-Z])\b"), re.compile(r"\A\s*[\(\[]?([A-Z])[\)\].:]?"))


def parse_listed(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The label in the weightiest way of writing: it opens the reply, ends it, follows a phrase, is
    in brackets or before a sign. Of several the last; without any, the last capital."""
    labels = list(options) or list("ABCDEFGH")
    text = between_blanks(reply.strip(), (*EDGES, '"'))
    found = [(weight, text.rfind(form.format(label)), label) for form, weight in _FORMS for label in labels]
    low = text.lower()
    behind = [low.find(phrase) + len(phrase) for phrase in _PHRASES if phrase in low]
    found += [(_PHRASE, text.find(label, start), label) for start in behind for label in labels]
    bare = text.strip()
    for label in labels:
        if bare.startswith(label) and not bare[1:2].isalpha():
            found.append((_START, 0, label))
        if bare.endswith(label) and not bare[-2:-1].isalpha():
            found.append((_END, len(text) - 1, label))
    found = [one for one in found if one[1] >= 0] or [
        (0, text.rfind(label), label) for label in labels if label in text
    ]
    if not found:
        return unparsed_answer(reply, stop_reason)
    # Of equal weight and place the first that was found counts, as a stable sort in reverse has it.
    return ParsedAnswer(max(found, key=lambda one: one[:2])[2], RULE)


def parse_bounded(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first capital A to D that is a word."""
    letter = _BOUNDED.search(reply.strip())
    return label_answer(letter and letter[1], RULE, reply, options, stop_reason)


def parse_egoschema(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """Of the labels "(A)", "A " and "A." that the reply has, the first in it; else the first option
    whose text it has; else one that is drawn."""
    text = between_blanks(reply)
    labels = list(options) or list("ABCDE")
    forms = [form.format(label) for form in ("({})", "{} ", "{}.") for label in labels]
    written = [form for form in forms if form in text]
    if written:
        # Each has the place where it occurs last.
        return ParsedAnswer(min(written, key=text.rfind).strip("(). "), RULE)
    # There the texts of the options begin with their labels.
    texts = {label: f"{label}. {option}" for label, option in options.items()}
    contained = contents_in(text, texts)
    if not contained:
        return draw_option(unparsed_answer(reply, stop_reason), reply, options)
    low = text.lower()
    return ParsedAnswer(min(contained, key=lambda label: low.rfind(texts[label].lower())), RULE)


def parse_tomato(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The label that occurs as a capital anywhere; of several the last in brackets, or the first of
    the alphabet if none is. Else the option whose text comes last, else A."""
    text = between_blanks(reply)
    labels = [label for label in options or "ABCDEF" if label in text]
    if labels:
        return ParsedAnswer(max(labels, key=lambda label: text.rfind(f"({label})")), RULE)
    label = last_content(text, options)
    return ParsedAnswer(label, RULE) if label else ParsedAnswer("A", DRAWN)


def parse_motionbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """Of the reply behind its thoughts, in capitals and without set phrases: the first A to F that
    is a word, that a sign follows, or that occurs at all."""
    text = reply.rpartition("</think>")[2].strip().upper()
    for phrase in _MOTION_PHRASES:
        text = text.replace(phrase, "")
    letter = next(filter(None, (form.search(text) for form in _MOTION_FORMS)), None)
    return label_answer(letter and letter[1], RULE, reply, options, stop_reason)


def parse_tvbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first letter that is a word, or opens the reply, if it is a label; else the only option
    whose text is in the reply."""
    labels = list(options) or list("ABCD")
    for form in _TV_FORMS:
        letter = form.search(reply.strip().upper())
        if letter is not None and letter[1] in labels:
            return ParsedAnswer(letter[1], RULE)
    text = _one_line(reply)
    contained = [label for label, option in options.items() if _one_line(option) and _one_line(option) in text]
    return label_answer(contained[0] if len(contained) == 1 else None, RULE, reply, options, stop_reason)


def _one_line(text: str) -> str:
    return " ".join(text.lower().split())
