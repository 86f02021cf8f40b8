"""What a model is shown: messages whose parts are text and media, in the order they stand."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Literal, overload

from msgspec import Struct

from snellen.core.media import MediaKind

Role = Literal["system", "user", "assistant"]


class Text(Struct, frozen=True, gc=False, tag="text", tag_field="type"):
    text: str


class Media(Struct, frozen=True, gc=False, tag="media", tag_field="type"):
    """A medium named by the SHA-256 of its bytes; the bytes travel beside (`Request.media`)."""

    kind: MediaKind
    digest: str


Part = Text | Media


class Message(Struct, frozen=True, gc=False):
    role: Role
    parts: tuple[Part, ...]

    def text(self) -> str:
        """The text parts joined by newlines, media left out."""
        return "\n".join(part.text for part in self.parts if isinstance(part, Text))

    def media(self) -> tuple[Media, ...]:
        return tuple([part for part in self.parts if isinstance(part, Media)])


def user(*parts: Part) -> Message:
    return Message("user", parts)


Messages = Sequence[Message]


class LazyMessages(Sequence[Message]):
    """Messages that are made when somebody looks at them: recorded replies are scored without.

    Equal to the tuple of what it makes, and pickled as that.
    """

    __slots__ = ("_build", "_built")

    def __init__(self, build: Callable[[], tuple[Message, ...]]) -> None:
        self._build = build
        self._built: tuple[Message, ...] | None = None

    def cached_messages(self) -> tuple[Message, ...]:
        """The messages if anybody looked at them, else none."""
        return () if self._built is None else self._built

    def _all(self) -> tuple[Message, ...]:
        if self._built is None:
            self._built = self._build()
        return self._built

    @overload
    def __getitem__(self, place: int) -> Message: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Message, ...]: ...

    def __getitem__(self, place: int | slice) -> Message | tuple[Message, ...]:
        return self._all()[place]

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
