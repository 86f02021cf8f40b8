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
`phyx_choice_parser`  PhyX, choices: the first capital A to D behind the word "answer", "option" or
                    "correct", else the last before a colon, else the gold in bold or before a colon,
                    where a bare letter is none of these.
`parse_phyx`        PhyX, open questions: the content of the first box, else the text behind "final
                    answer" or "correct answer" and a colon, and the complete reply; `equal_phyx`
                    compares them. Replies that are a dictionary with `content` are parsed as they are.
`parse_spatial457`  Spatial457: the value behind the key Answer, else the complete reply;
                    `equal_spatial457` knows number words and the kinds of shapes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.core import lazy_re as re
from snellen.core.literals import digits_by_word
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.extract.boxes import closing_brace
from snellen.extract.phrases import API_FAILURE
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

_REPLY_SEPARATOR = "\0"
"""Between the answer of an open reply and the complete reply."""
_FINAL_ANSWER = re.compile(r"\b(?:final\s+answer|correct\s+answer)\b", re.IGNORECASE)
_COLON = re.compile(r"[:：]\s*")
_ANSWER_NOUN = re.compile(r"\b(?:[Cc]orrect|[Aa]nswer|[Oo]ption)\b")
_A_TO_D = re.compile("[A-D]")
_BEFORE_COLON = re.compile("([ABCD]):")
_ANSWER_FORMS = (re.compile(r"Answer': '(.*?)'"), re.compile(r'Answer": "(.*?)"'), re.compile(r"Answer': (\d)"))
_DIGITS = digits_by_word(10)
_SHAPES = {
    "car": ("suv", "wagon", "minivan", "sedan", "truck", "addi", "car"),
    "bus": ("articulated", "regular", "double", "school", "bus"),
    "motorbike": ("chopper", "dirtbike", "scooter", "cruiser", "motorbike"),
    "aeroplane": ("jet", "fighter", "biplane", "airliner", "aeroplane"),
    "bicycle": ("road", "utility", "mountain", "tandem", "bicycle"),
}
_KIND = {shape: kind for kind, shapes in _SHAPES.items() for shape in shapes}


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


def parse_phyx(reply: str, stop_reason: str = "stop") -> Answer:
    """Two lines: the answer, with pi as 3.14, and the complete reply."""
    text = reply.strip()
    if not text:
        return unparsed_answer(reply, stop_reason)
    answer = _box_content(text) or _text_after_colon(text)
    answer = answer.replace(r"\dfrac", r"\frac").replace(r"\pi", "3.14")
    return ParsedAnswer(f"{answer}{_REPLY_SEPARATOR}{text}", RULE)


def _text_after_colon(text: str) -> str:
    """The text behind the colon after the first "final answer", up to two empty lines."""
    announcement = _FINAL_ANSWER.search(text)
    colon = _COLON.search(text, announcement.end()) if announcement else None
    return text[colon.end() :].partition("\n\n\n")[0] if colon else ""


def _box_content(text: str) -> str:
    """The content of the first box; empty if there is none or it is not closed."""
    _, _, content = text.partition(_BOX)
    return content[: closing_brace(content) or 0]


def phyx_choice_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """The parser for questions with these right labels."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        text = reply.strip()
        if text == f"{API_FAILURE}.":
            return Unparsed()
        noun = _ANSWER_NOUN.search(text)
        letter = _A_TO_D.search(text, noun.end()) if noun else None
        before_colon = _BEFORE_COLON.findall(text)
        label = letter[0] if letter else before_colon[-1] if before_colon else ""
        for gold in golds:
            dressed = (f"{gold}:", f"{gold}**", f"**{gold}")
            if label == gold or any(mark in text for mark in dressed):
                return ParsedAnswer(gold, RULE)
        return ParsedAnswer(label, RULE) if label else unparsed_answer(reply, stop_reason)

    return parse


def equal_phyx(answer: str, golds: Sequence[str]) -> bool:
    """Whether the gold equals the extracted answer or the reply ignoring case, or occurs anywhere
    in the reply (a gold of 5 is in 15)."""
    extracted, _, reply = answer.rpartition(_REPLY_SEPARATOR)
    folded = (extracted.strip().lower(), reply.strip().lower())
    return any(gold.strip().lower() in folded or gold in reply for gold in golds)


def parse_spatial457(reply: str, stop_reason: str = "stop") -> Answer:
    """The answer in the form that the prompt asks for, else the complete reply."""
    answer = next((match for form in _ANSWER_FORMS if (match := form.search(reply))), None)
    return ParsedAnswer(answer[1] if answer else reply, RULE)


def equal_spatial457(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer matches a gold: the same word ignoring case, a number and its word, "none"
    or 0 for No, a count from 1 to 9 for yes, or shapes of one kind by their first words (a jet is
    an airliner)."""
    return any(_equal(answer, gold) for gold in golds)


def _equal(answer: str, gold: str) -> bool:
    answer_text, gold_text = "no" if answer.lower() == "none" else answer, gold.lower()
    return (
        answer_text.lower() == gold_text
        or (answer_text == "0" and gold == "No")
        or _DIGITS.get(answer_text.lower()) == gold
        or (gold_text == "yes" and answer_text in tuple("123456789"))
        or (_kind(answer_text) is not None and _kind(answer_text) == _kind(gold))
    )


def _kind(text: str) -> str | None:
    return _KIND.get(text.lower().split(" ")[0])
