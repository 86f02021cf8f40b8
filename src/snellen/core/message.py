"""What a model is shown: messages whose parts are text and media, in the order they stand."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

from snellen.core.media import MediaKind

Role = Literal["system", "user", "assistant"]


class Text(Struct, frozen=True, tag="text", tag_field="type"):
    text: str


class Media(Struct, frozen=True, tag="media", tag_field="type"):
    """A medium named by the SHA-256 of its bytes; the bytes travel beside (`Request.media`)."""

    kind: MediaKind
    digest: str


Part = Text | Media


class Message(Struct, frozen=True):
    role: Role
    parts: tuple[Part, ...]

    def text(self) -> str:
        """The text parts joined by newlines, media left out."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def media(self) -> tuple[Media, ...]:
        return tuple(part for part in self.parts if isinstance(part, Media))


def user(*parts: Part) -> Message:
    return Message("user", parts)
