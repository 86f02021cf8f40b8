"""Wrong options written by a language model, with solved examples in the context.

MMT-Bench had GPT-4V write confusable options for most tasks, by prompts of their own with two or
three examples (Appendix I.2).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from snellen.core.flow import Steps
from snellen.core.media import Source
from snellen.core.request import Generation, Media, Message, Text, user
from snellen.core.sample import MediaRef
from snellen.curate.asking import ask_json
from snellen.curate.metadata.targets import QuestionTarget
from snellen.curate.metadata.templates import QuestionTemplate

WRITER = "writer"
INSTRUCTION = (
    "Write {count} wrong options for a multiple-choice question about a picture.\n"
    "Each must be of the same kind, style and length as the right answer, plausible to somebody "
    "who has not looked closely, and certainly false. No two may mean the same.\n"
    'Reply with JSON alone: {{"options": ["...", ...]}}.'
)
_SETTINGS = Generation(max_new_tokens=1024)
_MAX_TRUE = 50


class WriterSettings(Struct, frozen=True, forbid_unknown_fields=True):
    picture: bool = True
    """Whether the model is shown the picture."""
    extra: Annotated[int, Meta(ge=0)] = 2
    """Options asked for beyond those needed, because some may not be usable."""


class WrittenOptions(Struct, frozen=True):
    """The form of the reply."""

    options: tuple[str, ...]


def write_options(
    item: str,
    template: QuestionTemplate,
    question: str,
    target: QuestionTarget,
    media: Sequence[MediaRef],
    settings: WriterSettings,
) -> Steps[tuple[str, ...]]:
    """Ask the writer for wrong options. Raises NotJson and AskFailed."""
    count = template.max_options - 1
    number = count + settings.extra
    images = [ref for ref in media if ref.kind == "image"] if settings.picture else []
    sources: Mapping[str, Source] = {ref.digest: ref.source for ref in images}
    instruction = template.instruction or INSTRUCTION.format(count=number)
    parts = [instruction]
    for example in template.examples:
        reply = msgspec.json.encode(WrittenOptions(example.options)).decode()
        parts.append(_ask_for(example.question, example.answer, len(example.options)) + reply)
    others = [text for text in target.true if text != target.gold]
    parts.append(_ask_for(question, target.gold, number, others).rstrip())
    message: Message = user(
        *(Media("image", ref.digest) for ref in images), Text("\n\n".join(parts))
    )
    written = yield from ask_json(
        WRITER,
        [message],
        WrittenOptions,
        item,
        media=sources,
        settings=_SETTINGS,
        check=lambda reply: _problem(reply, count),
    )
    return written.options


def _ask_for(question: str, gold: str, number: int, true: Sequence[str] = ()) -> str:
    also = (
        f"\nAlso true of the picture, so not wrong: {'; '.join(true[:_MAX_TRUE])}" if true else ""
    )
    return f"Question: {question}\nRight answer: {gold}{also}\n{number} wrong options as JSON: "


def _problem(reply: WrittenOptions, count: int) -> str:
    if len(reply.options) < count:
        return f"it has {len(reply.options)} options; at least {count} are needed"
    return ""
