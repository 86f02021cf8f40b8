"""Requests to a model: messages of text and media in order, settings, and the digest under which
an output is stored."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, Self, TypeVar, overload

import msgspec
from msgspec import Struct, structs

from snellen.core.errors import MediaError
from snellen.core.media import MediaKind, Source, decode_image

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

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


T = TypeVar("T")


class LazyTuple(Sequence[T]):
    """Values that are made when they are first read, as recorded replies are scored without reading
    prompts, and frames of a video take seconds. Equal to the tuple of them, and pickled as that tuple."""

    __slots__ = ("_build", "_built")

    def __init__(self, build: Callable[[], tuple[T, ...]]) -> None:
        self._build = build
        self._built: tuple[T, ...] | None = None

    @property
    def is_built(self) -> bool:
        """Whether they were read already."""
        return self._built is not None

    def build(self) -> tuple[T, ...]:
        """The values, built if they were not read before."""
        if self._built is None:
            self._built = self._build()
        return self._built

    @overload
    def __getitem__(self, index: int) -> T: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[T, ...]: ...

    def __getitem__(self, index: int | slice) -> T | tuple[T, ...]:
        return self.build()[index]

    def __len__(self) -> int:
        return len(self.build())

    def __iter__(self) -> Iterator[T]:
        return iter(self.build())

    def __eq__(self, other: object) -> bool:
        return self.build() == (tuple(other) if isinstance(other, LazyTuple) else other)

    def __hash__(self) -> int:
        return hash(self.build())

    def __repr__(self) -> str:
        return repr(self.build())

    def __reduce__(self) -> tuple[type[tuple[T, ...]], tuple[tuple[T, ...]]]:
        return tuple, (self.build(),)


class LazyMessages(LazyTuple[Message]):
    """Messages that are built when they are first read."""

    __slots__ = ()

    def cached_messages(self) -> tuple[Message, ...]:
        """The messages if they were built already, else ()."""
        return () if self._built is None else self._built


_encoder = msgspec.json.Encoder(order="sorted")
S = TypeVar("S", bound="_DigestedSettings")


class _DigestedSettings(Struct, frozen=True, omit_defaults=True):
    """Base of settings that enter digests.

    msgspec omits a default by identity of the object. A copy in another process must hold the very
    same default objects, or its digest differs; so it is pickled as JSON and decoded there.
    """

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[type[Self], bytes]]:
        return _unpickle, (type(self), msgspec.json.encode(self))


def _unpickle(kind: type[S], data: bytes) -> S:
    return msgspec.json.decode(data, type=kind)


class Generation(_DigestedSettings, frozen=True, omit_defaults=True):
    """Decoding settings. Defaults are left out of digests, so that a setting added later does not
    invalidate stored replies."""

    max_new_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int = 0
    """Number of likeliest first tokens whose log-probabilities are requested."""
    top_k: int = 0
    """Draw among this many likeliest tokens; 0: among all."""
    repetition_penalty: float = 1.0
    """Divides the scores of tokens that prompt or reply hold already; 1: none."""
    presence_penalty: float = 0.0
    """Subtracted from the scores of tokens that the reply holds already; 0: none."""
    response_schema: str = ""
    """JSON Schema that the server or the decoder is asked to hold the reply to, as canonical JSON;
    empty: free text. Whether it did is seen from the reply."""


GREEDY = Generation()


class Sampling(_DigestedSettings, frozen=True, omit_defaults=True):
    """Sampling settings that override those of a benchmark. None leaves a setting to the
    benchmark."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    """Seed of the first draw; draw r, counted from 0, has seed + r."""
    top_k: int | None = None
    repetition_penalty: float | None = None
    presence_penalty: float | None = None

    def apply_to(self, settings: Generation, repeat: int = 0) -> Generation:
        """The settings of a benchmark with these overrides, for draw `repeat`."""
        changes = {name: value for name, value in structs.asdict(self).items() if value is not None}
        for name in ("top_k", "repetition_penalty", "presence_penalty"):
            # An equal value of another object would count as set in the digest.
            if name in changes and changes[name] == getattr(settings, name):
                del changes[name]
        if self.seed is not None:
            changes["seed"] = self.seed + repeat
        return structs.replace(settings, **changes) if changes else settings


class Drawing(_DigestedSettings, frozen=True, omit_defaults=True):
    """Settings of image generation; None leaves a setting to the model.
    `width` and `height` are in pixels."""

    width: int | None = None
    height: int | None = None
    steps: int | None = None
    """Denoising steps; autoregressive models have none."""
    guidance: float | None = None
    """Scale of classifier-free guidance."""
    seed: int = 0


class Ref(Struct, frozen=True, gc=False):
    """The question that a request belongs to, for replaying recorded predictions; not digested."""

    sample: str
    turn: int = 0
    row: str | None = None
    """Id of the data row, if rotations of a question are separate rows."""


class _Question(Struct, frozen=True):
    """Access for user-defined models to the text, images and videos of a request."""

    def text(self) -> str:
        """The text of all messages, one part per line, without media."""
        return "\n".join(filter(None, (message.text() for message in _messages_of(self))))

    def images(self) -> list[PILImage]:
        """The images of all messages in order, decoded to RGB and upright, as Snellen's own models
        get them. Raises MediaError. Each call decodes them again."""
        # Without a limit of pixels: it was checked before the model was asked.
        return [decode_image(data, sys.maxsize) for data in self._media_bytes("image")]

    def videos(self) -> list[bytes]:
        """The original bytes of the videos of all messages, in order. Raises MediaError."""
        return list(self._media_bytes("video"))

    def _media_bytes(self, kind: MediaKind) -> Iterator[bytes]:
        media: Mapping[str, Source] = getattr(self, "media", {})
        for message in _messages_of(self):
            for part in message.media():
                if part.kind != kind:
                    continue
                if part.digest not in media:
                    raise MediaError(f"the bytes of {kind} {part.digest[:12]} did not come with the request")
                yield media[part.digest].read()


def _messages_of(request: object) -> Messages:
    messages: Messages = getattr(request, "messages", ())
    return messages


class Generate(_Question, frozen=True, kw_only=True):
    """Request for text."""

    messages: Messages
    ref: Ref
    settings: Generation = GREEDY
    media: Mapping[str, Source] = {}
    choices: Sequence[str] = ()
    """Valid replies, e.g. option labels; not part of the prompt, not digested."""
    to: str = "model"
    """Role of the model that is asked: `model`, `extractor`, `judge`, ..."""
    attempt: int = 0
    repeat: int = 0
    """Index of the draw of the same question, from 0."""


class Rank(_Question, frozen=True, kw_only=True):
    """Request for the log-likelihood of each candidate text as the reply to a shared context."""

    messages: Messages
    ref: Ref
    candidates: tuple[str, ...]
    media: Mapping[str, Source] = {}
    to: str = "model"
    attempt: int = 0


class Draw(_Question, frozen=True, kw_only=True):
    """Request for an image, after messages whose text and images may be interleaved."""

    messages: Messages
    ref: Ref
    settings: Drawing = Drawing()
    media: Mapping[str, Source] = {}
    to: str = "model"
    attempt: int = 0
    repeat: int = 0
    """Index of the draw, as in `Generate`."""


MAIN = "model"
"""Role of the measured model; other roles are e.g. `extractor` and `judge`."""

CLIP = "clip"
"""Role of the model that compares images."""


DRAWER = "drawer"
"""Role of the model that draws for a joined model, whose text model is asked everything else."""


class Compare(_Question, frozen=True, kw_only=True):
    """Request for the similarity of one image to each candidate image, all named by their hash."""

    picture: str
    candidates: tuple[str, ...]
    ref: Ref
    media: Mapping[str, Source] = {}
    to: str = CLIP
    attempt: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The images as a message, the compared one first."""
        return (user(*(Media("image", digest) for digest in (self.picture, *self.candidates))),)


Request = Generate | Rank | Draw | Compare


def request_digest(request: Request, identity: str) -> bytes:
    """SHA-256 (32 bytes) of everything that can change the reply.

    That is the canonical JSON of the model's identity digest, the messages with media as hashes,
    the settings, the attempt, and the index of the draw. The first draw leaves the index out, so
    that it shares its reply with a question that is asked once.
    """
    content: tuple[object, ...]
    repeat = 0
    if isinstance(request, Generate):
        messages, repeat = request.messages, request.repeat
        messages = messages.build() if isinstance(messages, LazyMessages) else tuple(messages)
        content = (identity, "generate", messages, request.settings, request.attempt)
    elif isinstance(request, Rank):
        content = (identity, "rank", tuple(request.messages), request.candidates, request.attempt)
    elif isinstance(request, Draw):
        repeat = request.repeat
        content = (identity, "draw", tuple(request.messages), request.settings, request.attempt)
    else:
        content = (identity, "compare", request.picture, request.candidates, request.attempt)
    if repeat:
        content = (*content, ("repeat", repeat))
    return hashlib.sha256(_encoder.encode(content)).digest()
