"""Ask a language model to extract the choice from an unparsed reply: MMBench's second step (Sec.
4.1).

A flow that asks the role `extractor`. The prompt is the paper's Figure 21, verbatim, or its Chinese
translation for questions with Chinese characters; letters are listed as far as the question has
options. The pseudo choice Z means that no option fits.
"""

from __future__ import annotations

import functools
from collections.abc import Mapping
from importlib.resources import files

from msgspec import Struct

from snellen.core import lazy_re as re
from snellen.core.output import Answer, Failure, Generated, NoMatch, Output, ParsedAnswer, Unparsed
from snellen.core.record import Steps
from snellen.core.request import Generate, Generation, Ref, Text, user
from snellen.extract.choice import parse_choice

EXTRACTOR = "extractor"
RULE = "extractor"
NONE_FITS = "Z"
SETTINGS = Generation(max_new_tokens=64)

_LABEL = re.compile(r"\b[A-Z]\b")
_MAX_WORDS = 5
"""A verdict of up to this many words that names one label means it: it was asked for a letter."""
_CHINESE_CHARACTER = re.compile(r"[\u4e00-\u9fff]")


class Extraction(Struct, frozen=True):
    """The extractor's output and the answer in it; None if the extractor failed."""

    output: Output
    answer: Answer | None


def is_unmatched(output: Generated, answer: Answer | None) -> bool:
    """Whether the extractor should see a reply: the model wrote it and the rules found no
    answer."""
    return not isinstance(answer, ParsedAnswer) and not output.is_refusal and bool(output.text.strip())


def resolve_answer(by_rules: Answer | None, extracted: Answer | None) -> Answer | None:
    """Combine the rules' answer with the extractor's; None if the extractor failed.

    If the extractor finds no answer either, a reply that the rules classified as refused, cut off
    or without an option keeps that kind.
    """
    if extracted is None or isinstance(extracted, ParsedAnswer):
        return extracted
    return extracted if isinstance(by_rules, ParsedAnswer | Unparsed | None) else by_rules


def extract_choice(question: str, options: Mapping[str, str], reply: str, ref: Ref) -> Steps[Extraction]:
    """Ask the extractor which option a reply means. A failure of the extractor is no answer."""
    output = yield Generate(
        messages=(user(Text(extraction_prompt(question, options, reply))),),
        ref=ref,
        settings=SETTINGS,
        choices=(*options, NONE_FITS),
        to=EXTRACTOR,
    )
    return Extraction(output, parse_extractor_reply(output, options))


def extraction_prompt(question: str, options: Mapping[str, str], reply: str) -> str:
    """Figure 21 of the paper, filled in."""
    language = "zh" if _CHINESE_CHARACTER.search(question) else "en"
    labels = ", ".join(options)
    listed = " ".join(f"{label}. {text}" for label, text in options.items())
    filled = {"{labels}": labels, "{question}": question, "{options}": listed, "{answer}": reply}
    # One pass, so braces in a question or reply are never replaced as fields.
    return re.sub(r"\{(?:labels|question|options|answer)\}", lambda match: filled[match[0]], _load_template(language))


def parse_extractor_reply(output: Output, options: Mapping[str, str]) -> Answer | None:
    """Parse the extractor's reply. None if it failed; never a guess."""
    if isinstance(output, Failure) or not isinstance(output, Generated):
        return None
    if output.is_refusal:
        return Unparsed()
    labels = {label: label for label in (*options, NONE_FITS)}
    answer = parse_choice(output.text, labels, stop_reason=output.stop_reason)
    mentioned = set(_LABEL.findall(output.text)) & labels.keys()
    if isinstance(answer, Unparsed) and len(mentioned) == 1 and len(output.text.split()) <= _MAX_WORDS:
        answer = ParsedAnswer(mentioned.pop(), RULE)
    if not isinstance(answer, ParsedAnswer):
        return NoMatch(RULE) if isinstance(answer, NoMatch) else Unparsed()
    return NoMatch(RULE) if answer.value == NONE_FITS else ParsedAnswer(answer.value, RULE)


@functools.cache
def _load_template(language: str) -> str:
    folder = files("snellen.extract") / "prompts"
    return (folder / f"choice_extraction_{language}.txt").read_text(encoding="utf-8").rstrip("\n")
