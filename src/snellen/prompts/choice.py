"""Multiple choice, yes/no and open questions as messages.

The default template is the one behind most published numbers for these question types: images,
hint, question, options, one closing line. Other templates are `PromptTemplate` values; those of
papers and tools are stored as files (`stored`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from snellen.core import lazy_re as re
from snellen.core.request import Media, Message, Part, Text
from snellen.core.sample import MediaRef, Sample

_PLACEHOLDER = re.compile(r"<image ?(\d*)>")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_FRAME_CELL = re.compile(r"\{(?:question|choices|letters)\}")
_YES_NO_REQUEST = re.compile(r"answer\W+(?:\w+\W+){0,3}?yes or no", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PromptTemplate:
    """The fixed strings of a prompt."""

    hint: str = "Hint: {hint}"
    """Empty where hints are not shown."""
    question: str = "Question: {question}"
    options: str = "Options:"
    option: str = "{label}. {text}"
    choose: str = "Please select the correct answer from the options above."
    yes_no: str = "Please answer yes or no."
    open: str = "Answer the question using a single word or phrase."
    place: str = ""
    """The closing line of a question for a place: its form and its coordinate space."""
    fields: str = "Answer with one JSON object and nothing else."
    page: str = "Write the page as Markdown, in reading order: tables as HTML, formulas as LaTeX between $$."
    chinese: PromptTemplate | None = None
    """The template for questions with Chinese characters, if there is another one for them."""
    lead: str = ""
    """Text right before the first word of the prompt."""
    hint_after: bool = False
    """Whether the hint of a multiple-choice question comes after the question."""
    always: bool = False
    """Whether `yes_no` is added even if the question and `yes_no` both ask for yes or no."""
    steps: bool = False
    """Whether the closing lines ask for steps and a conclusion. If so, they are added even if the
    question itself asks for yes or no."""
    listed: bool = True
    """Whether the options of a multiple-choice question are written out, with `choose`. False if
    they are in the image."""
    unlisted: str = ""
    """The closing line of a multiple-choice question without options, which stand in the image."""
    system: str = ""
    """A system message before the question."""
    frame: str = ""
    """The whole text in place of the lines above, with `{question}`, `{choices}` (a line for each
    option, "A) text") and `{letters}` ("A,B"); other braces are text."""


DEFAULT_TEMPLATE = PromptTemplate()


def prompt(
    sample: Sample, options: Mapping[str, str] | None = None, template: PromptTemplate = DEFAULT_TEMPLATE
) -> tuple[Message, ...]:
    """The prompt for a sample, as one user message. `options` replaces the sample's options, for a
    rotation."""
    displayed = sample.options if options is None else options
    if template.chinese is not None and _is_chinese(sample, displayed):
        template = template.chinese
    write = _framed_text if template.frame else _TEXT_OF_KIND[sample.kind]
    text = template.lead + write(sample, displayed, template)
    asked = Message("user", tuple(_interleave(text, sample.media)))
    return (Message("system", (Text(template.system),)), asked) if template.system else (asked,)


def _is_chinese(sample: Sample, options: Mapping[str, str]) -> bool:
    texts = (sample.question, sample.hint, *options.values())
    return not all(map(str.isascii, texts)) and any(map(_CHINESE.search, texts))


def _hint_lines(sample: Sample, template: PromptTemplate) -> list[str]:
    """The line with the hint, if there is one and the template shows it."""
    return [template.hint.format(hint=sample.hint)] if sample.hint and template.hint else []


def _choice_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    lines = _hint_lines(sample, template)
    lines.append(template.question.format(question=sample.question))
    if template.hint_after:
        lines.reverse()
    if options and template.listed:
        lines += [template.options] if template.options else []
        lines += [template.option.format(label=k, text=v) for k, v in options.items()]
        lines += [template.choose] if template.choose else []
    elif template.unlisted and not options:
        lines.append(template.unlisted)
    return "\n".join(lines)


def _yes_no_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    lines = _hint_lines(sample, template)
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
    lines = _hint_lines(sample, template)
    lines.append(sample.question)
    closing = {"place": template.place, "fields": template.fields, "page": template.page}.get(
        sample.kind, template.open
    )
    return "\n".join([*lines, closing] if closing else lines)


def _framed_text(sample: Sample, options: Mapping[str, str], template: PromptTemplate) -> str:
    cells = {
        "{question}": sample.question,
        "{choices}": "\n".join(f"{label}) {text}" for label, text in options.items()),
        "{letters}": ",".join(options),
    }
    # In a single pass, so that placeholders inside a question are not replaced.
    return _FRAME_CELL.sub(lambda match: cells[match[0]], template.frame)


_TEXT_OF_KIND = {
    "choice": _choice_text,
    "yes_no": _yes_no_text,
    "open": _open_text,
    "place": _open_text,
    "fields": _open_text,
    "page": _open_text,
}


def _interleave(text: str, media: Sequence[MediaRef]) -> Iterator[Part]:
    """Media come before the text, except those that the text names (`<image 2>`): they come where
    it names them."""
    if not media:
        if text.strip():
            yield Text(text)
        return
    placeholders = _named_media(text, len(media))
    for position, ref in enumerate(media):
        if position not in placeholders.values():
            yield Media(ref.kind, ref.digest)
    start = 0
    for (begin, end), position in placeholders.items():
        if text[start:begin].strip():
            yield Text(text[start:begin])
        yield Media(media[position].kind, media[position].digest)
        start = end
    if text[start:].strip():
        yield Text(text[start:])


def _named_media(text: str, count: int) -> dict[tuple[int, int], int]:
    """The spans of placeholders that name an existing medium, with the medium's index."""
    if "<image" not in text:
        return {}
    positions: dict[tuple[int, int], int] = {}
    for order, match in enumerate(_PLACEHOLDER.finditer(text)):
        position = int(match[1]) - 1 if match[1] else order
        if 0 <= position < count and position not in positions.values():
            positions[match.span()] = position
    return positions
