"""What the dialects of servers have in common."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Protocol

from snellen.core.errors import ModelError
from snellen.core.message import Message, Part, Text
from snellen.core.output import Generated, StopReason
from snellen.core.request import Draw, Generate
from snellen.models.image_policy import first_image
from snellen.models.reasoning import split_reasoning
from snellen.models.remote.errors import error_in_body
from snellen.models.remote.json_reply import quote
from snellen.models.remote.media import EncodedMedia
from snellen.models.remote.options import Setup
from snellen.models.remote.profile import ProviderProfile

Body = dict[str, Any]
Reply = Mapping[str, Any]
MediaByDigest = Mapping[str, EncodedMedia]
"""Media of a request by digest, encoded."""


class RemoteModelConfig(NamedTuple):
    """One model of one provider, and how it is asked."""

    model: str
    profile: ProviderProfile
    setup: Setup


class Call(NamedTuple):
    """One POST."""

    path: str
    body: Body


class RawReply(NamedTuple):
    """What a reply holds, before thoughts in tags are split off."""

    text: str
    stop_reason: StopReason
    reasoning: str | None = None
    images: tuple[str, ...] = ()
    """Pictures as data URLs or addresses."""


class Dialect(Protocol):
    """How one kind of server is asked for text, and how its replies are read."""

    def build_call(
        self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig
    ) -> Call: ...

    def parse_reply(self, reply: Reply) -> RawReply:
        """Raises ModelError for a reply without an answer, Unanswered where a filter spoke."""
        ...

    def to_generated(self, reply: Reply, config: RemoteModelConfig) -> Generated: ...

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """The pieces of a stream as the reply that would have come at once."""
        ...


def merge_texts(parts: Sequence[Part]) -> list[Part]:
    """Neighbouring texts as one, a line each: some servers run them together."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(f"{last.text}\n{part.text}")
        else:
            merged.append(part)
    return merged


def apply_image_policy(messages: Sequence[Message], images: str) -> tuple[Message, ...]:
    """The messages with the pictures that the option `images` lets through."""
    return first_image(messages) if images == "first" else tuple(messages)


def separate_reasoning(reply: RawReply, config: RemoteModelConfig) -> RawReply:
    """The reply with its thoughts split off, by tags where the server did not do it."""
    if reply.reasoning or not config.setup.split_thoughts or reply.stop_reason == "refusal":
        return reply
    split = split_reasoning(reply.text, reply.stop_reason, config.setup.thought_opened)
    return RawReply(split.text, split.stop_reason, split.reasoning, reply.images)


_MAX_EXACT_INT = 1 << 53
"""No server counts so many tokens, and JSON holds no larger number exactly."""


def token_count(value: object) -> int:
    return value if type(value) is int and 0 <= value < _MAX_EXACT_INT else 0


def finite_number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_MAX_EXACT_INT < value < _MAX_EXACT_INT else None


def dict_or_empty(value: object) -> Reply:
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


def text_of(value: object, name: str) -> str:
    """A field of a reply that is text wherever it is not null. Raises ModelError (`server`)."""
    if value is None or isinstance(value, str):
        return value or ""
    raise unreadable_field(name, value)


def unreadable_field(name: str, value: object) -> ModelError:
    """A reply whose shape no protocol knows: the server's fault, and no answer."""
    return ModelError(f"the reply's {name} is unreadable: {quote(value, 120)}", "server")


def require_finish(reply: Reply, finish: object) -> None:
    """To be called for a reply without content. Raises ModelError and Unanswered where it reports
    an error, and ModelError (`server`) where nothing says that the model came to an end."""
    problem = error_in_body(reply)
    if problem is not None:
        raise problem
    if not finish:
        raise ModelError("the reply holds neither content nor a reason why it ended", "server")
