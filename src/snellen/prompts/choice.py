"""Multiple choice, yes/no and open questions as messages.

The default wording is the one most published numbers of these question types were made with
(images, hint, question, options, one closing line); others come in through `PromptTemplate`, those of
papers and tools from `stored`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snellen.core.message import Media, Message, Part, Text
from snellen.core.sample import MediaRef, Sample

_PLACEHOLDER = re.compile(r"<image ?(\d*)>")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_YES_NO_REQUEST = re.compile(r"answer\W+(?:\w+\W+){0,3}?yes or no", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The fixed strings of a prompt."""

    hint: str = "Hint: {hint}"
    question: str = "Question: {question}"
    options: str = "Options:"
    option: str = "{label}. {text}"
    choose: str = "Please select the correct answer from the options above."
    yes_no: str = "Please answer yes or no."
    open: str = "Answer the question using a single word or phrase."
    chinese: PromptTemplate | None = None
    """The wording for questions with Chinese characters, where it is another one."""
    lead: str = ""
    """What stands before the text, right before its first word."""
    hint_after: bool = False
    """Whether the hint of a choice stands after its question."""
    always: bool = False
    """Whether a question that asks for yes or no by itself gets `yes_no` although that asks for
    it too."""
    steps: bool = False
    """Whether the closing lines ask for steps and a conclusion: a question that asks for yes or
    no by itself gets them too."""
    listed: bool = True
    """Whether the options of a choice are written, with `choose`; not where they stand in the
    picture."""


DEFAULT_TEMPLATE = PromptTemplate()


def prompt(
    sample: Sample,
    options: Mapping[str, str] | None = None,
    template: PromptTemplate = DEFAULT_TEMPLATE,
) -> tuple[Message, ...]:
    """One user message for a sample; `options` replaces its options (a rotation)."""
    shown = sample.options if options is None else options
    if template.chinese is not None and _is_chinese(sample, shown):
        template = template.chinese
    text = template.lead + _TEXT_OF_KIND[sample.kind](sample, shown, template)
    return (Message("user", tuple(_interleave(text, sample.media))),)


def _is_chinese(sample: Sample, options: Mapping[str, str]) -> bool:
    return any(map(_CHINESE.search, (sample.question, sample.hint, *options.values())))


def _choice_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    lines = [template.hint.format(hint=sample.hint)] if sample.hint else []
    lines.append(template.question.format(question=sample.question))
    if template.hint_after:
        lines.reverse()
    if options and template.listed:
        lines += [template.options] if template.options else []
        lines += [template.option.format(label=k, text=v) for k, v in options.items()]
        lines += [template.choose] if template.choose else []
    return "\n".join(lines)


def _yes_no_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    lines = [template.hint.format(hint=sample.hint)] if sample.hint else []
    between = "" if template.yes_no.startswith("\n") else " "
    ask = "" if _already_asks_yes_no(sample.question, template) else between + template.yes_no
    lines.append((sample.question + ask).rstrip())
    return "\n".join(lines)


def _already_asks_yes_no(question: str, template: PromptTemplate) -> bool:
    """Whether the closing line would ask for yes or no a second time."""
    if template.steps or template.always:
        return False
    return all(map(_YES_NO_REQUEST.search, (question, template.yes_no)))


def _open_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    lines = [template.hint.format(hint=sample.hint)] if sample.hint else []
    lines.append(sample.question)
    return "\n".join([*lines, template.open] if template.open else lines)


_TEXT_OF_KIND = {"choice": _choice_text, "yes_no": _yes_no_text, "open": _open_text}


def _interleave(text: str, media: Sequence[MediaRef]) -> Iterator[Part]:
    """Media before the text, but those that the text names (`<image 2>`) where it names them."""
    named = _named_media(text, len(media))
    for position, ref in enumerate(media):
        if position not in named.values():
            yield Media(ref.kind, ref.digest)
    start = 0
    for (begin, end), position in named.items():
        if text[start:begin].strip():
            yield Text(text[start:begin])
        yield Media(media[position].kind, media[position].digest)
        start = end
    if text[start:].strip():
        yield Text(text[start:])


def _named_media(text: str, count: int) -> dict[tuple[int, int], int]:
    """Spans of the placeholders that name an existing medium, with its position from 0."""
    if "<image" not in text:
        return {}
    found: dict[tuple[int, int], int] = {}
    for order, match in enumerate(_PLACEHOLDER.finditer(text)):
        position = int(match[1]) - 1 if match[1] else order
        if 0 <= position < count and position not in found.values():
            found[match.span()] = position
    return found
