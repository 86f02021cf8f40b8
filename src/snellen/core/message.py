"""Prompts: messages whose parts are text and media, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, overload

from msgspec import Struct

from snellen.core.media import MediaKind

Role = Literal["system", "user", "assistant"]


class Text(Struct, frozen=True, gc=False, tag="text", tag_field="type"):
    """A text part of a message."""

    text: str


class Media(Struct, frozen=True, gc=False, tag="media", tag_field="type"):
    """A medium, named by the SHA-256 of its bytes, which `Request.media` locates."""

    kind: MediaKind
    digest: str


Part = Text | Media


class Message(Struct, frozen=True, gc=False):
    """A turn of a conversation."""

    role: Role
    parts: tuple[Part, ...]

    def text(self) -> str:
        """Concatenate the text parts, one per line, without media."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def media(self) -> tuple[Media, ...]:
        """The media parts, in order."""
        return tuple([part for part in self.parts if isinstance(part, Media)])


def user(*parts: Part) -> Message:
    """A message of the user."""
    return Message("user", parts)


Messages = Sequence[Message]


class LazyMessages(Sequence[Message]):
    """Messages that are built when they are first read, as recorded replies are scored without
    reading them. Equal to the tuple of these messages, and pickled as that tuple."""

    __slots__ = ("_build", "_built")

    def __init__(self, build: Callable[[], tuple[Message, ...]]) -> None:
        self._build = build
        self._built: tuple[Message, ...] | None = None

    def cached_messages(self) -> tuple[Message, ...]:
        """The messages if they were built already, else ()."""
        return () if self._built is None else self._built

    def _all(self) -> tuple[Message, ...]:
        if self._built is None:
            self._built = self._build()
        return self._built

    @overload
    def __getitem__(self, index: int) -> Message: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Message, ...]: ...

    def __getitem__(self, index: int | slice) -> Message | tuple[Message, ...]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all())

    def __iter__(self) -> Iterator[Message]:
        return iter(self._all())

    def __eq__(self, other: object) -> bool:
        return self._all() == (tuple(other) if isinstance(other, LazyMessages) else other)

    def __hash__(self) -> int:
        return hash(self._all())

    def __repr__(self) -> str:
        return repr(self._all())

    def __reduce__(self) -> tuple[type[tuple[Message, ...]], tuple[tuple[Message, ...]]]:
        return tuple, (self._all(),)
