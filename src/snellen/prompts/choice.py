"""Multiple choice, yes/no and open questions as messages.

The default wording is the one most published numbers of these question types were made with
(images, hint, question, options, one closing line); others come in through `Wording`, those of
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
_ASKS_YES_NO = re.compile(r"answer\W+(?:\w+\W+){0,3}?yes or no", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Wording:
    """The fixed strings of a prompt."""

    hint: str = "Hint: {hint}"
    question: str = "Question: {question}"
    options: str = "Options:"
    option: str = "{label}. {text}"
    choose: str = "Please select the correct answer from the options above."
    yes_no: str = "Please answer yes or no."
    open: str = "Answer the question using a single word or phrase."
    chinese: Wording | None = None
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


DEFAULT = Wording()


def prompt(
    sample: Sample, options: Mapping[str, str] | None = None, wording: Wording = DEFAULT
) -> tuple[Message, ...]:
    """One user message for a sample; `options` replaces its options (a rotation)."""
    shown = sample.options if options is None else options
    if wording.chinese is not None and _is_chinese(sample, shown):
        wording = wording.chinese
    text = wording.lead + _TEXT_OF_KIND[sample.kind](sample, shown, wording)
    return (Message("user", tuple(_interleave(text, sample.media))),)


def _is_chinese(sample: Sample, options: Mapping[str, str]) -> bool:
    return any(map(_CHINESE.search, (sample.question, sample.hint, *options.values())))


def _choice(sample: Sample, options: Mapping[str, str], wording: Wording) -> str:
    lines = [wording.hint.format(hint=sample.hint)] if sample.hint else []
    lines.append(wording.question.format(question=sample.question))
    if wording.hint_after:
        lines.reverse()
    if options and wording.listed:
        lines += [wording.options] if wording.options else []
        lines += [wording.option.format(label=k, text=v) for k, v in options.items()]
        lines += [wording.choose] if wording.choose else []
    return "\n".join(lines)


def _yes_no(sample: Sample, options: Mapping[str, str], wording: Wording) -> str:
    lines = [wording.hint.format(hint=sample.hint)] if sample.hint else []
    between = "" if wording.yes_no.startswith("\n") else " "
    ask = "" if _asked_already(sample.question, wording) else between + wording.yes_no
    lines.append((sample.question + ask).rstrip())
    return "\n".join(lines)


def _asked_already(question: str, wording: Wording) -> bool:
    """Whether the closing line would ask for yes or no a second time."""
    if wording.steps or wording.always:
        return False
    return all(map(_ASKS_YES_NO.search, (question, wording.yes_no)))


def _open(sample: Sample, options: Mapping[str, str], wording: Wording) -> str:
    lines = [wording.hint.format(hint=sample.hint)] if sample.hint else []
    lines.append(sample.question)
    return "\n".join([*lines, wording.open] if wording.open else lines)


_TEXT_OF_KIND = {"choice": _choice, "yes_no": _yes_no, "open": _open}


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
