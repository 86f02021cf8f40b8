"""Parsing rules of the scripts published with single benchmarks.

`parse_mmbench`  MMBench's first evaluation script, the step before its LLM: the reply's words are
                 compared, unchanged, with the labels A to E and the ways to write them.
`parse_equal`    SEED-Bench: the prediction is the label.
`parse_blink`    BLINK: the prediction is the label in parentheses, and nothing else.
`parse_mme_realworld`  MME-RealWorld: the first capital A to E, after set phrases are removed; else
                 the first option that contains the complete reply.
`parse_mmstar`   MMStar: the letter that opens the reply, or follows one of three lead-ins there.
`parse_cvbench`  CV-Bench: the first sign of the reply, or of the text behind "answer is".
`parse_before_bracket`  MLVU: the sign before the first closing bracket, or the complete reply.
`opening_parser`  MVBench: the first word of the reply is part of "(x)", x being the gold, or
                 contains it: an empty reply is right.
`parse_scienceqa`     ScienceQA, as LLaVA scores it (eval_science_qa.py), the source of published
                 numbers: a label, "B. text", or one "The answer is B" and a sign behind it.
`parse_mmsi`     MMSI-Bench: the text between backquotes, then the first letter A to D that is alone
                 and not before a word.
`parse_medxpertqa`  MedXpertQA, direct answers: the text behind the lead-in that its prompt ends
                 with, or behind "answer is"; then the first label.
`parse_first_word`  VSI-Bench: the first word, without dots behind it, is the label in either case.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from snellen.core import lazy_re as re
from snellen.core.output import Answer, NoMatch, ParsedAnswer
from snellen.extract.choice import NO_MATCH_LABEL
from snellen.extract.phrases import API_FAILURE
from snellen.extract.published.first_capital import JOINED, without_phrases
from snellen.extract.unanswered import unparsed_answer

RULE = "official"
_LABELS = "ABCDE"
_LETTERS = frozenset(_LABELS)
_NO_OPTION = "E"
"""MMBench's pseudo choice at the time: options end at D."""
_BACKQUOTED = (re.compile(r"``([^`]*)``"), re.compile(r"`([^`]*)`"))
_LONE_LABEL = re.compile(r"\b[A-D]\b(?!\s[a-zA-Z])")
_LABEL_RANGES = ("I understand", "A through J", "A through E", "A through D")
_ARTICLE_WORDS = 3
"""In replies of more words, a lone A may be the article."""
_LABEL_FORMS = (
    *(("", after) for after in (".", ",", ":", ")", ").")),
    ("(", ")"),
    ("(", ")."),
    *((":", after) for after in ("", ",", ".", ")", ").")),
)


def parse_mmbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """Exactly one lone label, else exactly one in one way of writing, else the only option whose
    text is in the reply."""
    label = _find_label(reply) or _find_text(reply, options)
    if label is None:
        return unparsed_answer(reply, stop_reason)
    if label == _NO_OPTION and label not in options:
        return NoMatch(RULE)
    return ParsedAnswer(label, RULE)


def parse_equal(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The reply, without surrounding white space, is a label."""
    label = reply.strip()
    if label == NO_MATCH_LABEL and label not in options:
        return NoMatch(RULE)
    is_label = label in options if options else len(label) == 1 and "A" <= label <= "Z"
    return ParsedAnswer(label, RULE) if is_label else unparsed_answer(reply, stop_reason)


def parse_first_word(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first word of the reply is a label."""
    return parse_equal(reply.split(" ")[0].rstrip(".").strip().upper(), options, stop_reason)


def parse_blink(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The reply is a label in parentheses, such as "(A)"; "(A) left" is not."""
    if len(reply) == 3 and reply[0] == "(" and reply[2] == ")":
        return parse_equal(reply[1], options, stop_reason)
    return unparsed_answer(reply, stop_reason)


_LETTER = re.compile(f"[{_LABELS}]")
_MAX_WORDS = 10
"""Words of the longest reply that is searched in the options."""


def parse_mme_realworld(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first capital A to E, else the first option, "(A) text", that contains the complete
    reply.

    An empty reply is A.
    """
    text = without_phrases(reply, JOINED)
    letter = _LETTER.search(text)
    if letter is not None and (not options or letter[0] in options):
        return ParsedAnswer(letter[0], RULE)
    if letter is None and len(text.split()) <= _MAX_WORDS:
        option_lines = {label: f"({label}) {option}".lower() for label, option in options.items()}
        label = next((label for label, line in option_lines.items() if text.lower() in line), None)
        if label is not None:
            return ParsedAnswer(label, RULE)
    return unparsed_answer(reply, stop_reason)


def parse_mmstar(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The letter that opens the reply, or follows "(", "option " or "the answer is " there.

    In either case and whatever follows: "Because" is B.
    """
    text = reply.strip().replace("\n", " ").lower()
    for lead_in in ("", "(", "option ", "the answer is "):
        letter = text[len(lead_in) :][:1].upper()
        if text.startswith(lead_in) and letter in (options or _LETTERS) and letter:
            return ParsedAnswer(letter, RULE)
    return unparsed_answer(reply, stop_reason)


def parse_cvbench(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first sign of the reply, or of the text behind the last "answer is", then "answer:", in
    either case."""
    text = reply.lower().strip()
    for lead_in in ("answer is", "answer is:", "answer:"):
        text = text.rpartition(lead_in)[2]
    letter = text.strip().rstrip(".").lstrip("(").rstrip(")")[:1].upper()
    if letter and letter in (options or _LETTERS):
        return ParsedAnswer(letter, RULE)
    return unparsed_answer(reply, stop_reason)


def parse_before_bracket(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The sign before the first closing bracket, or the complete reply if there is none."""
    sign = sign_before_bracket(reply)
    return ParsedAnswer(sign, RULE) if sign in (options or _LETTERS) else unparsed_answer(reply, stop_reason)


def sign_before_bracket(reply: str) -> str:
    """The sign before the first closing bracket, or the complete reply if there is none."""
    index = reply.find(")")
    # For a bracket at index 0 the slice [-1:0] is empty, as in the published script.
    return reply if index < 0 else reply[index - 1 : index]


def opening_parser(golds: Sequence[str]) -> Callable[[str, Mapping[str, str], str], Answer]:
    """MVBench's parser, which compares the first word with the gold in its brackets."""

    def parse(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
        word = reply.lower().split(" ")[0]
        for gold in golds:
            dressed = f"({gold.lower()})"
            if word.replace(".", "") in dressed or dressed in word:
                return ParsedAnswer(gold, RULE)
        return unparsed_answer(reply, stop_reason)

    return parse


_STATED_LABEL = re.compile(r"The answer is ([A-Z]).")


def parse_scienceqa(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The label that is the reply, or is before ". " at its start, or is stated once.

    If none is, or two are, no option is drawn at random, as ScienceQA's own script would.
    """
    stated = _STATED_LABEL.findall(reply)
    if reply in _LETTERS:
        label = reply
    elif len(reply) >= 3 and reply[0] in _LETTERS and reply[1:3] == ". ":
        label = reply[0]
    else:
        label = stated[0] if len(stated) == 1 else ""
    if label not in (options or _LETTERS):
        return unparsed_answer(reply, stop_reason)
    return ParsedAnswer(label, RULE)


def _find_label(reply: str) -> str | None:
    if API_FAILURE in reply:
        return None
    words = reply.split()
    bare = [label for label in _LABELS if label in words]
    if len(bare) == 1 and ("A" not in words or len(words) <= _ARTICLE_WORDS):
        return bare[0]
    for before, after in _LABEL_FORMS:
        matching = [label for label in _LABELS if f"{before}{label}{after}" in words]
        if len(matching) == 1:
            return matching[0]
    return None


def _find_text(reply: str, options: Mapping[str, str]) -> str | None:
    low = reply.lower()
    contained = [label for label, text in options.items() if text.lower() in low]
    return contained[0] if len(contained) == 1 else None


def parse_mmsi(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first lone capital, in the quoted text if there is any."""
    text = reply
    for quoted in _BACKQUOTED:
        inside = quoted.search(text)
        text = inside[1] if inside else text
    label = _LONE_LABEL.search(text)
    if label is None or (options and label[0] not in options):
        return unparsed_answer(reply, stop_reason)
    return ParsedAnswer(label[0], RULE)


def parse_medxpertqa(reply: str, options: Mapping[str, str], stop_reason: str = "stop") -> Answer:
    """The first label that is a word by itself, behind the lead-in if there is one."""
    labels = list(options) or list("ABCDE")
    text = reply
    for lead_in in (f"Among A through {labels[-1]}, the answer is", " answer is "):
        parts = reply.split(lead_in)
        if len(parts) > 1:
            text = parts[1].strip()
            break
    for phrase in _LABEL_RANGES:
        text = text.replace(phrase, "")
    label = re.search(rf"\b({'|'.join(labels)})\b", text)
    return ParsedAnswer(label[1], RULE) if label else unparsed_answer(reply, stop_reason)
