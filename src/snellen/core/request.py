"""What is asked of a model, and the digest by which an answer is stored and found again."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Self, TypeVar

import msgspec
from msgspec import Struct, structs

from snellen.core.media import Source
from snellen.core.message import Media, Message, Messages, user

_encoder = msgspec.json.Encoder(order="sorted")
S = TypeVar("S", bound="_DigestedSettings")


class _DigestedSettings(Struct, frozen=True, omit_defaults=True):
    """A default is left out by what object it is, so that a copy sent to another process must
    have the very same objects where the original has them: else its digest is another."""

    def __reduce__(self) -> tuple[Callable[..., Self], tuple[type[Self], bytes]]:
        return _unpickle, (type(self), msgspec.json.encode(self))


def _unpickle(kind: type[S], data: bytes) -> S:
    return msgspec.json.decode(data, type=kind)


class Generation(_DigestedSettings, frozen=True, omit_defaults=True):
    """Settings that can change a reply. Defaults are left out of digests, so that a setting
    added later does not orphan stored replies."""

    max_new_tokens: int = 512
    temperature: float = 0.0
    top_p: float = 1.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    logprobs: int = 0
    """Of how many likeliest first tokens to report the log-probability."""


GREEDY = Generation()


class Sampling(_DigestedSettings, frozen=True, omit_defaults=True):
    """How replies are sampled, in place of what a benchmark asks for. None leaves a setting as the
    benchmark has it."""

    temperature: float | None = None
    top_p: float | None = None
    seed: int | None = None
    """Of the first draw; draw r, counted from 0, has seed + r."""

    def apply_to(self, settings: Generation, repeat: int = 0) -> Generation:
        """The settings of draw `repeat`."""
        return structs.replace(
            settings,
            temperature=settings.temperature if self.temperature is None else self.temperature,
            top_p=settings.top_p if self.top_p is None else self.top_p,
            seed=settings.seed if self.seed is None else self.seed + repeat,
        )


class Drawing(_DigestedSettings, frozen=True, omit_defaults=True):
    """Settings that can change a drawn picture; None leaves it to the model's own default.
    `width` and `height` are in pixels."""

    width: int | None = None
    height: int | None = None
    steps: int | None = None
    """Denoising steps; models that draw token by token have none."""
    guidance: float | None = None
    """Scale of classifier-free guidance."""
    seed: int = 0


class Ref(Struct, frozen=True, gc=False):
    """Which question a request belongs to: for replaying recorded predictions; not digested."""

    sample: str
    turn: int = 0
    row: str | None = None
    """Id of the data row asked, where rotations of a question are rows of their own."""


class Generate(Struct, frozen=True, kw_only=True):
    """Text out."""

    messages: Messages
    ref: Ref
    settings: Generation = GREEDY
    media: Mapping[str, Source] = {}
    choices: tuple[str, ...] = ()
    """Replies that would be valid, e.g. option labels; not shown to the model, not digested."""
    to: str = "model"
    """Who is asked: `model`, or a role such as `extractor` or `judge`."""
    attempt: int = 0
    repeat: int = 0
    """Which draw of the same question this is, from 0."""


class Rank(Struct, frozen=True, kw_only=True):
    """Log-likelihood of each candidate text as the reply after the shared context."""

    messages: Messages
    ref: Ref
    candidates: tuple[str, ...]
    media: Mapping[str, Source] = {}
    to: str = "model"
    attempt: int = 0


class Draw(Struct, frozen=True, kw_only=True):
    """A picture out, after messages whose text and images may be interleaved."""

    messages: Messages
    ref: Ref
    settings: Drawing = Drawing()
    media: Mapping[str, Source] = {}
    to: str = "model"
    attempt: int = 0
    repeat: int = 0
    """As of `Generate`."""


CLIP = "clip"
"""The role of the model that compares pictures."""


class Compare(Struct, frozen=True, kw_only=True):
    """How alike one picture is to each candidate picture: all named by the hash of their bytes."""

    picture: str
    candidates: tuple[str, ...]
    ref: Ref
    media: Mapping[str, Source] = {}
    to: str = CLIP
    attempt: int = 0

    @property
    def messages(self) -> tuple[Message, ...]:
        """The pictures as a message, the one that is compared first."""
        return (user(*(Media("image", digest) for digest in (self.picture, *self.candidates))),)


Request = Generate | Rank | Draw | Compare


def request_digest(request: Request, identity: str) -> bytes:
    """SHA-256 (32 bytes) of everything that can change the reply: canonical JSON of the model's
    identity digest, the messages with media as hashes, the settings and the attempt; of a repeated
    question the draw too. The first leaves it out: its reply is that of a question asked once."""
    wire: tuple[object, ...]
    if isinstance(request, Generate):
        wire = (identity, "generate", tuple(request.messages), request.settings, request.attempt)
    elif isinstance(request, Rank):
        wire = (identity, "rank", tuple(request.messages), request.candidates, request.attempt)
    elif isinstance(request, Draw):
        wire = (identity, "draw", tuple(request.messages), request.settings, request.attempt)
    else:
        wire = (identity, "compare", request.picture, request.candidates, request.attempt)
    repeat = 0 if isinstance(request, Rank | Compare) else request.repeat
    if repeat:
        wire = (*wire, ("repeat", repeat))
    return hashlib.sha256(_encoder.encode(wire)).digest()
