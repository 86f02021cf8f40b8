"""Replies of providers: each body, whole or as a stream, is an answer or a failure with a kind."""

from __future__ import annotations

import json
from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypeVar, cast

from tests.fuzz.target import Target

from snellen.core.errors import MediaError, ModelError
from snellen.core.request import Draw, Message, Rank, Ref, Text
from snellen.models.remote import drawing
from snellen.models.remote import logprobs as server_logprobs
from snellen.models.remote.anthropic import Anthropic
from snellen.models.remote.chat import Chat, Completions
from snellen.models.remote.dialect import Dialect, RemoteModelConfig, to_generated
from snellen.models.remote.errors import ReplyBlocked, error_from_status, error_in_body
from snellen.models.remote.google import Google
from snellen.models.remote.http import HttpClient, decode_object
from snellen.models.remote.options import read_setup
from snellen.models.remote.probe import list_models
from snellen.models.remote.profile import profiles

T = TypeVar("T")
_PROFILE = profiles()["openai"]
ASKED = RemoteModelConfig("tiny", _PROFILE, read_setup("openai", _PROFILE, {}))
_REF = Ref("1")
_ASKS = (Message("user", (Text("Which?"),)),)
_PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAIAAACQd1PeAAAADElEQVR4nGNg+M8AAAICAQCqKp4nAAAAAElFTkSuQmCC"


class _Body(NamedTuple):
    """In the place of the connection: every request gets the same body."""

    data: bytes

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        return decode_object(self.data)

    async def get(self, path: str) -> dict[str, Any]:
        return decode_object(self.data)

    async def fetch(self, url: str) -> bytes:
        return self.data


def _done(steps: Coroutine[Any, Any, T]) -> T:
    """The value of what never waits."""
    try:
        steps.send(None)
    except StopIteration as stop:
        return cast(T, stop.value)
    raise AssertionError("it waits for something")


def _whole(dialect: Callable[[], Dialect]) -> Callable[[bytes], object]:
    def read(data: bytes) -> object:
        reply = decode_object(data)
        found = to_generated(dialect().parse_reply(reply), ASKED)
        assert found.text == found.text.strip()
        return found, error_in_body(reply)

    return read


def _stream(dialect: Callable[[], Dialect]) -> Callable[[bytes], object]:
    """Every line is an event."""

    def read(data: bytes) -> object:
        pieces = [decode_object(line) for line in data.split(b"\n") if line.strip()]
        return to_generated(dialect().parse_reply(dialect().join_stream(pieces)), ASKED)

    return read


def _error(data: bytes) -> object:
    """The first two bytes choose the status and where to wait is said."""
    waits = ("", "1", "-1", "1e999", "nan", "Wed, 21 Oct 2099 07:28:00 GMT", "9" * 400, "²")
    status = 400 + data[0] % 200 if data else 500
    header = waits[data[1] % len(waits)] if len(data) > 1 else ""
    meant = error_from_status(status, {"Retry-After": header} if header else {}, data[2:])
    wait = getattr(meant, "retry_after", None)
    assert wait is None or 0 <= wait < float("inf")
    # A date is told as the seconds until then.
    return type(meant).__name__, str(meant), wait if wait is None or wait < 1e6 else None


def _with(ask: Callable[[HttpClient], Coroutine[Any, Any, Any]]) -> Callable[[bytes], object]:
    return lambda data: _done(ask(cast(HttpClient, _Body(data))))


def _drawn(wire: HttpClient) -> Coroutine[Any, Any, Any]:
    return drawing.draw_by_images(wire, Chat(), Draw(messages=_ASKS, ref=_REF), {}, ASKED)


def _drawn_in_chat(wire: HttpClient) -> Coroutine[Any, Any, Any]:
    return drawing.draw_by_chat(wire, Chat(), Draw(messages=_ASKS, ref=_REF), {}, ASKED)


def _ranked(wire: HttpClient) -> Coroutine[Any, Any, Any]:
    request = Rank(messages=_ASKS, ref=_REF, candidates=("A", "B"))
    return server_logprobs.rank(wire, request, {}, ASKED)


def _json(*values: object) -> tuple[bytes, ...]:
    return tuple(json.dumps(value).encode() for value in values)


def _events(*values: object) -> bytes:
    return b"\n".join(_json(*values))


_USAGE = {"prompt_tokens": 5, "completion_tokens": 2, "prompt_tokens_details": {"cached_tokens": 1}}
_LOGPROBS = {"content": [{"token": "A", "logprob": -0.5, "top_logprobs": [{"token": "A", "logprob": -0.5}]}]}
_SAID = {"content": "A", "reasoning_content": "B"}
_CHAT = {"choices": [{"message": _SAID, "finish_reason": "stop", "logprobs": _LOGPROBS}], "usage": _USAGE}
_PARTS = {"choices": [{"message": {"content": [{"type": "text", "text": "A"}]}, "finish_reason": "length"}]}
_REFUSAL = {"choices": [{"message": {"content": None, "refusal": "No."}, "finish_reason": "content_filter"}]}
_TEXT = {
    "choices": [
        {
            "text": "A",
            "finish_reason": "stop",
            "logprobs": {"tokens": ["A"], "token_logprobs": [-1.0], "top_logprobs": [{"A": -1.0}], "text_offset": [0]},
        }
    ],
    "usage": _USAGE,
}
_CLAUDE = {
    "content": [{"type": "thinking", "thinking": "B"}, {"type": "text", "text": "A"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 5, "output_tokens": 2},
}
_TOP = {"topCandidates": [{"candidates": [{"token": "A", "logProbability": -0.5}]}]}
_GOOGLE = {
    "candidates": [
        {
            "content": {"parts": [{"text": "B", "thought": True}, {"text": "A"}]},
            "finishReason": "STOP",
            "logprobsResult": _TOP,
        }
    ],
    "usageMetadata": {"promptTokenCount": 5, "candidatesTokenCount": 2},
}
_BLOCKED = {"promptFeedback": {"blockReason": "SAFETY"}}
_ERROR = {"error": {"message": "slow down", "code": 429, "type": "rate_limit", "details": [{"retryDelay": "1.5s"}]}}
_PICTURES = {"data": [{"b64_json": _PIXEL}], "usage": {"input_tokens": 3, "output_tokens": 4}}
_IN_CHAT = {
    "choices": [
        {
            "message": {
                "content": "",
                "images": [{"type": "image_url", "image_url": {"url": f"data:image/png;base64,{_PIXEL}"}}],
            },
            "finish_reason": "stop",
        }
    ]
}
_MODELS = {"data": [{"id": "tiny"}, {"id": "large"}], "models": [{"name": "models/x"}]}
_STREAM = _events(
    {"choices": [{"delta": {"role": "assistant", "content": "A"}}]},
    {"choices": [{"delta": {"content": "B", "reasoning_content": "C"}, "finish_reason": "stop"}]},
    {"choices": [], "usage": _USAGE},
)
_CLAUDE_STREAM = _events(
    {"type": "message_start", "message": {"usage": {"input_tokens": 5}}},
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "A"}},
    {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 2}},
    {"type": "message_stop"},
)
_NAMES = (
    "choices",
    "message",
    "content",
    "finish_reason",
    "delta",
    "text",
    "logprobs",
    "type",
    "top_logprobs",
    "token",
    "logprob",
    "error",
    "code",
    "index",
    "status",
    "detail",
    "details",
    "retryDelay",
    "base_resp",
    "status_code",
    "usage",
    "prompt_tokens",
    "candidates",
    "parts",
    "finishReason",
    "promptFeedback",
    "inlineData",
    "stop_reason",
    "images",
    "image_url",
    "url",
    "refusal",
    "data",
    "id",
    "b64_json",
    "models",
    "has_more",
    "last_id",
    "nextPageToken",
)
_WORDS = (
    *(f'"{name}":'.encode() for name in _NAMES),
    *(b"null", b"true", b"[]", b"{}", b"[[]]", b'"stop"', b"1e999", b"-1", b"1" * 40),
    b'"\\ud800"',
)
_RAISES = (ModelError, ReplyBlocked, MediaError)


def _anthropic() -> Dialect:
    return Anthropic("")


_ONES: tuple[tuple[str, Callable[[bytes], object], tuple[bytes, ...]], ...] = (
    ("provider-chat", _whole(Chat), _json(_CHAT, _PARTS, _REFUSAL, _ERROR)),
    ("provider-completions", _whole(Completions), _json(_TEXT, _ERROR)),
    ("provider-anthropic", _whole(_anthropic), _json(_CLAUDE, _ERROR)),
    ("provider-google", _whole(Google), _json(_GOOGLE, _BLOCKED, _ERROR)),
    ("provider-chat-stream", _stream(Chat), (_STREAM,)),
    ("provider-completions-stream", _stream(Completions), _json(_TEXT)),
    ("provider-anthropic-stream", _stream(_anthropic), (_CLAUDE_STREAM,)),
    ("provider-google-stream", _stream(Google), (_events(_GOOGLE, _GOOGLE),)),
    ("provider-error", _error, tuple(b"\x1d\x01" + one for one in _json(_ERROR, {"detail": "x"}))),
    ("provider-pictures", _with(_drawn), _json(_PICTURES, _ERROR)),
    ("provider-chat-pictures", _with(_drawn_in_chat), _json(_IN_CHAT, _CHAT)),
    ("provider-ranks", _with(_ranked), _json(_TEXT, _CHAT)),
    ("provider-models", _with(list_models), _json(_MODELS)),
)
TARGETS: tuple[Target, ...] = tuple(Target(name, read, seeds, _WORDS, _RAISES) for name, read, seeds in _ONES)
