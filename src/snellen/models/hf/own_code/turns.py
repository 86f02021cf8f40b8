"""A request's messages as turns: texts with marks where pictures stand, and the pictures."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.request import Media, Message
from snellen.models.hf.own_code.adapter import CodeAdapter
from snellen.models.split_batch import Unsupported

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage


class Turn(NamedTuple):
    """What one side said: the parts in their order, pictures and texts."""

    role: str
    parts: tuple[Any, ...]
    """Strings and PIL images."""

    @property
    def images(self) -> list[PILImage]:
        """Its pictures."""
        return [part for part in self.parts if not isinstance(part, str)]


class Conversation(NamedTuple):
    """A conversation that ends with a question."""

    system: str
    turns: tuple[Turn, ...]

    @property
    def images(self) -> list[PILImage]:
        """All pictures, in their order."""
        return [image for turn in self.turns for image in turn.images]

    def texts(self, adapter: CodeAdapter, files: Sequence[str] = ()) -> list[str]:
        """The text of each turn, with the adapter's marks where pictures stand. `files` are the
        paths of all pictures, for marks that name them."""
        mark = adapter.one if len(self.images) == 1 else adapter.several or adapter.one
        texts, number = [], 0
        for turn in self.turns:
            lines, after_text = "", False
            for part in turn.parts:
                if isinstance(part, str):
                    # Consecutive texts stand on lines of their own, as everywhere in Snellen.
                    lines += f"\n{part}" if after_text and not lines.endswith("\n") else part
                else:
                    number += 1
                    starts_line = not lines or lines.endswith("\n") or not mark.endswith("\n")
                    named = mark.replace("{n}", str(number))
                    if "{file}" in mark:
                        named = named.replace("{file}", files[number - 1])
                    lines += ("" if starts_line else "\n") + named
                after_text = isinstance(part, str)
            texts.append(lines)
        return texts

    def with_system_first(self) -> Conversation:
        """The system's text in front of the first question, for code that takes none."""
        if not self.system:
            return self
        first = self.turns[0]
        return Conversation("", (first._replace(parts=(f"{self.system}\n", *first.parts)), *self.turns[1:]))


def read_turns(messages: Sequence[Message], images: Sequence[PILImage], adapter: CodeAdapter) -> Conversation:
    """The turns of a request, whose pictures were decoded in their order. Raises Unsupported as
    `as_conversation` does."""
    remaining = iter(images)
    return as_conversation(
        [
            (message.role, [next(remaining) if isinstance(part, Media) else part.text for part in message.parts])
            for message in messages
        ],
        adapter,
    )


def as_conversation(messages: Sequence[tuple[str, Sequence[Any]]], adapter: CodeAdapter) -> Conversation:
    """The conversation of messages, each a role with its strings and PIL images in their order.

    Raises Unsupported for more pictures than the model takes or none where it needs one, texts that
    contain a mark of a picture, and conversations that do not alternate.
    """
    images = sum(not isinstance(part, str) for _, parts in messages for part in parts)
    if not images and not adapter.words_alone:
        raise Unsupported("the model's code takes a picture with each question, this one has none")
    if adapter.max_images is not None and images > adapter.max_images:
        raise Unsupported(
            f"the model takes {adapter.max_images} image in a prompt, this one has {images}; "
            "take images=first, or have the benchmark stitch them"
        )
    system: list[str] = []
    turns: list[Turn] = []
    for role, parts in messages:
        text = "\n".join(part for part in parts if isinstance(part, str))
        for mark in adapter.reserved:
            if mark in text:
                raise Unsupported(f"the text contains {mark}, a mark of the model's pictures")
        if role == "system":
            system.append(text)
        else:
            turns.append(Turn(role, tuple(parts)))
    roles = [turn.role for turn in turns]
    if roles != ["user", "assistant"] * (len(roles) // 2) + ["user"]:
        raise Unsupported(
            "the model's code takes questions and answers in turn, ending with a question; this "
            f"conversation has {', '.join(roles) or 'no turns'}"
        )
    return Conversation("\n".join(system), tuple(turns))
