"""Rules of TempCompass's own scripts for replies that need no language model.

Restated from `eval_*.py` of the authors' repository (Liu et al. 2024,
https://arxiv.org/abs/2403.00476).
"""

from __future__ import annotations

from collections.abc import Mapping

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Empty, ParsedAnswer, Unparsed

_NAMED_SENTENCE = re.compile(r"(?P<name>(?:Sentence|Caption|Option|Description)? ?[A-Z0-9])[:.)] ?(?P<text>.*)")


def parse_tempcompass_choice(reply: str, options: Mapping[str, str]) -> Answer:
    """The complete option, a bare letter, or a text that starts with "A." or "A)"."""
    text = reply.strip()
    if not text:
        return Empty()
    for label, option in options.items():
        if text in (f"{label}. {option}", f"{label}) {option}"):
            return ParsedAnswer(label, "whole option")
    if text in options:
        return ParsedAnswer(text, "bare label")
    if text[0] in options and text[1:2] in (".", ")"):
        return ParsedAnswer(text[0], "opening label")
    return Unparsed()


def parse_tempcompass_yes_no(reply: str) -> Answer:
    """The word that a reply starts with."""
    text = reply.strip().lower()
    if not text:
        return Empty()
    for word in ("yes", "no"):
        if text.startswith(word):
            return ParsedAnswer(word.capitalize(), "opening word")
    return Unparsed()


def sentences_by_name(question: str) -> dict[str, str]:
    """The sentences of a matching question by name: {"Sentence A": "A man ..."}."""
    matches = [_NAMED_SENTENCE.fullmatch(line.strip()) for line in question.splitlines()[1:]]
    return {match["name"].strip(): match["text"].strip() for match in matches if match}


def parse_sentence_match(reply: str, sentences: Mapping[str, str]) -> Answer:
    """The complete line, its sentence, the text behind a bracket, or its name, case-sensitively.

    The name is "Sentence A" or "A", with or without full stops.
    """
    text = reply.strip()
    if not text:
        return Empty()
    _, bracket, behind = text.partition(") ")
    behind = behind.split(") ")[0] if bracket else text
    for name in sentences:
        # A name takes precedence over a sentence, and that over a line.
        if {text, text.replace(".", "")} & {name, _name_without_noun(name)}:
            return ParsedAnswer(name, "name")
    for name, sentence in sentences.items():
        if sentence in (text, behind) or text == f"{name}: {sentence}":
            return ParsedAnswer(name, "sentence")
    return Unparsed()


def parse_sentence_match_any_case(reply: str, sentences: Mapping[str, str]) -> Answer:
    """As `parse_sentence_match`, but ignoring case, the sign behind a name and a final full stop.

    Text behind a bracket is not searched.
    """
    text = _normalise(reply)
    if not text:
        return Empty()
    for name, sentence in sentences.items():
        lines = (f"{name}: {sentence}", f"{name}. {sentence}", f"{name}) {sentence}")
        if text in map(_normalise, (*lines, sentence, name, name.split()[-1])):
            return ParsedAnswer(name, "sentence or name")
    return Unparsed()


def _name_without_noun(name: str) -> str:
    """A name without its noun: "A" for "Sentence A"."""
    for noun in ("Sentence ", "Option ", "Caption "):
        name = name.replace(noun, "")
    return name


def _normalise(text: str) -> str:
    return text.strip().lower().rstrip(".")
