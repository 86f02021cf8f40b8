"""The options of one item: which of the proposed texts stand beside the right one; and those that a
language model writes, with solved examples in the context.

MMT-Bench had GPT-4V write confusable options for most tasks, by prompts of their own with two or
three examples (Appendix I.2).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from random import Random
from typing import Annotated

import msgspec
from msgspec import Meta, Struct

from snellen.core.flow import Steps
from snellen.core.media import Source
from snellen.core.request import Generation, Media, Message, Text, user
from snellen.core.sample import MediaRef
from snellen_curate.asking import ask_json
from snellen_curate.metadata.spaces import option_key
from snellen_curate.metadata.targets import QuestionTarget
from snellen_curate.metadata.templates import QuestionTemplate

_MAX_PROPOSALS = 2_000
"""Proposals looked at for one item, of strategies that would go on for ever."""
_POOL = 3
"""Wrong options proposed per place where those alike in length are chosen."""


@dataclass(frozen=True, slots=True)
class OptionFilter:
    """What a wrong option must not be: the right one, another option, or true of the picture."""

    taken: set[str]
    groups: dict[str, str]
    """Keys of labels that say the same, with one of them for all."""

    @classmethod
    def for_target(cls, gold: str, true: Sequence[str], same: Sequence[Sequence[str]] = ()) -> OptionFilter:
        groups = {option_key(name): option_key(names[0]) for names in same for name in names}
        wrong = cls(set(), groups)
        for text in (gold, *true):
            wrong.accept(text)
        return wrong

    def accept(self, text: str) -> bool:
        """Whether the text says something that no text before it said; it is then taken."""
        key = option_key(text)
        key = self.groups.get(key, key)
        if not text.strip() or key in self.taken:
            return False
        self.taken.add(key)
        return True


def choose_options(
    gold: str, proposals: Iterator[str], wrong: OptionFilter, most: int, *, alike_length: bool, rng: Random
) -> list[str]:
    """Up to `most` wrong options; fewer if the proposals end.

    With `alike_length`, three times as many are collected and those chosen whose lengths are next
    to the right one's, with the right one at a random place in the order of lengths: then neither
    the longest nor the shortest option is right more often than another.
    """
    wanted = _POOL * most if alike_length else most
    pool: list[str] = []
    for _, text in zip(range(_MAX_PROPOSALS), proposals, strict=False):
        if wrong.accept(text):
            pool.append(text.strip())
        if len(pool) == wanted:
            break
    if alike_length and len(pool) > most:
        return _alike_in_length(gold, pool, most, rng)
    return pool[:most]


def _alike_in_length(gold: str, pool: Sequence[str], most: int, rng: Random) -> list[str]:
    """Options around the right one's length: a random number of them shorter, the rest longer, each
    as near as there are."""
    length = len(gold)
    by_difference = sorted(pool, key=lambda text: abs(len(text) - length))
    equal = [text for text in by_difference if len(text) == length]
    below = [text for text in by_difference if len(text) < length]
    above = [text for text in by_difference if len(text) > length]
    if len(equal) >= most:
        return equal[:most]
    # Options of the same length count for neither side.
    rest = most - len(equal)
    from_below = min(len(below), max(rng.randint(0, rest), rest - len(above)))
    return [*equal, *below[:from_below], *above[: rest - from_below]]


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
    message: Message = user(*(Media("image", ref.digest) for ref in images), Text("\n\n".join(parts)))
    written = yield from ask_json(
        WRITER,
        [message],
        WrittenOptions,
        item,
        media=sources,
        settings=_SETTINGS,
        check=lambda reply: (
            "" if len(reply.options) >= count else f"it has {len(reply.options)} options; at least {count} are needed"
        ),
    )
    return written.options


def _ask_for(question: str, gold: str, number: int, true: Sequence[str] = ()) -> str:
    also = f"\nAlso true of the picture, so not wrong: {'; '.join(true[:_MAX_TRUE])}" if true else ""
    return f"Question: {question}\nRight answer: {gold}{also}\n{number} wrong options as JSON: "
