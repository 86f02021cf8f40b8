"""What all dialects of servers share."""

from __future__ import annotations

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import msgspec

from snellen.core.errors import ModelError
from snellen.core.output import Generated, StopReason, Usage
from snellen.core.request import Draw, Generate, Generation, Message, Part, Text
from snellen.models.image_policy import first_image
from snellen.models.reasoning import end_before, split_reasoning
from snellen.models.remote.errors import error_in_body
from snellen.models.remote.http import ServerClient
from snellen.models.remote.json_reply import quote
from snellen.models.remote.media import EncodedMedia, encode_body
from snellen.models.remote.options import Setup
from snellen.models.remote.profile import ProviderProfile

Body = dict[str, Any]
Reply = Mapping[str, Any]
MediaByDigest = Mapping[str, EncodedMedia]
"""Media of a request by digest, encoded."""


class RemoteModelConfig(NamedTuple):
    """A model of a provider, with its profile and options."""

    model: str
    profile: ProviderProfile
    setup: Setup


class Call(NamedTuple):
    """Path and body of a POST."""

    path: str
    body: Body


class RawReply(NamedTuple):
    """What a reply holds, before reasoning in tags is split off."""

    text: str
    stop_reason: StopReason
    reasoning: str | None = None
    images: tuple[str, ...] = ()
    """Images as data URLs or URLs."""
    first_logprobs: Mapping[str, float] = {}
    usage: Usage | None = None


class Dialect(Protocol):
    """Wire format of one kind of server: bodies of requests and of replies."""

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call: ...

    def parse_reply(self, reply: Reply) -> RawReply:
        """Raises ModelError if the reply has no answer, ReplyBlocked if a filter blocked it."""
        ...

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """Join the chunks of a stream into the reply that would have come at once."""
        ...


def merge_texts(parts: Sequence[Part]) -> list[Part]:
    """Join adjacent texts by newlines, since some servers join them without."""
    merged: list[Part] = []
    for part in parts:
        last = merged[-1] if merged else None
        if isinstance(part, Text) and isinstance(last, Text):
            merged[-1] = Text(f"{last.text}\n{part.text}")
        else:
            merged.append(part)
    return merged


def schema_to_send(settings: Generation, config: RemoteModelConfig) -> Any:
    """The schema of the reply as a JSON value; None if there is none, or none is sent."""
    if settings.response_schema and config.setup.schema and config.profile.response_schema:
        return msgspec.json.decode(settings.response_schema)
    return None


def apply_image_policy(messages: Sequence[Message], images: str) -> Sequence[Message]:
    """Drop the images that the option `images` excludes."""
    return first_image(messages) if images == "first" else messages


def to_generated(reply: RawReply, config: RemoteModelConfig, stops: Sequence[str] = ()) -> Generated:
    """The model's output: reasoning in tags is split off, unless the server did, and the text ends
    before the first of `stops`, of which the server was not told."""
    text, stop, reasoning = reply.text, reply.stop_reason, reply.reasoning
    if not reasoning and config.setup.split_thoughts and stop != "refusal":
        text, reasoning, stop = split_reasoning(text, stop, config.setup.thought_opened)
    if stops and (end := end_before(text, stops)) != text:
        text, stop = end, "stop"
    return Generated(text.strip(), stop, reasoning or None, dict(reply.first_logprobs), reply.usage)


_MAX_EXACT_INT = 1 << 53
"""Largest integer that JSON holds exactly; no server counts as many tokens."""


def token_count(value: object) -> int:
    """A number of tokens; 0 for anything else."""
    return value if type(value) is int and 0 <= value < _MAX_EXACT_INT else 0


def finite_number(value: object) -> float | None:
    """A finite number, or None."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if -_MAX_EXACT_INT < value < _MAX_EXACT_INT else None


def dict_or_empty(value: object) -> Reply:
    """A JSON object; empty for anything else."""
    return value if isinstance(value, dict) else {}


def list_or_empty(value: object) -> list[Any]:
    """A JSON array; empty for anything else."""
    return value if isinstance(value, list) else []


def text_of(value: object, name: str) -> str:
    """Text of a field; "" if it is null. Raises ModelError (`server`) for anything else."""
    if value is None or isinstance(value, str):
        return value or ""
    raise unreadable_field(name, value)


def unreadable_field(name: str, value: object) -> ModelError:
    """Error for a field of an unexpected type."""
    return ModelError(f"the reply's {name} is unreadable: {quote(value, 120)}", "server")


def top_logprobs(steps: object, entries: str, value: str) -> dict[str, float]:
    """Likely first tokens with their log-probabilities: of the fields `token` and `value` of the
    list `entries` of the first step."""
    logprobs: dict[str, float] = {}
    for first in map(dict_or_empty, list_or_empty(steps)[:1]):
        for entry in map(dict_or_empty, list_or_empty(first.get(entries))):
            token, number = entry.get("token"), finite_number(entry.get(value))
            if isinstance(token, str) and number is not None:
                logprobs.setdefault(token, number)
    return logprobs


def receive_reply(
    client: ServerClient, dialect: Dialect, call: Call, media: MediaByDigest, config: RemoteModelConfig
) -> Awaitable[Reply]:
    """POST a call and wait for its reply, which may come as a stream. Raises ModelError."""
    body = encode_body(call.body, media)
    return _receive_stream(client, dialect, call.path, body) if config.setup.stream else client.post(call.path, body)


async def _receive_stream(client: ServerClient, dialect: Dialect, path: str, body: bytes) -> Reply:
    return dialect.join_stream([piece async for piece in client.events(path, body)])


def require_finish(reply: Reply, finish: object) -> None:
    """Check a reply without content.

    Raises ModelError or ReplyBlocked if it reports an error, and ModelError (`server`) if it gives
    no reason why the model stopped.
    """
    problem = error_in_body(reply)
    if problem is not None:
        raise problem
    if not finish:
        raise ModelError("the reply holds neither content nor a reason why it ended", "server")
