"""Replies of odd shapes: each is what its protocol means by it, or a failure with its kind."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from typing import Any

import pytest
from asking_remote import ask, question
from hypothesis import given, settings
from hypothesis import strategies as st
from standin_server import StandIn, chat_reply

from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated
from snellen.models.naming.registry import open_model
from snellen.models.remote.anthropic import Anthropic
from snellen.models.remote.chat import Chat, Completions
from snellen.models.remote.dialect import Dialect, RemoteModelConfig, to_generated
from snellen.models.remote.errors import ReplyBlocked, error_details, error_from_status, error_in_body
from snellen.models.remote.google import Google
from snellen.models.remote.http import decode_object
from snellen.models.remote.options import read_setup
from snellen.models.remote.profile import profiles

DEAD = {"message": "upstream died", "code": 502}


def chat(content: object, finish: object = "stop", **more: Any) -> dict[str, Any]:
    return {"choices": [{"message": {"content": content}, "finish_reason": finish}], **more}


def claude(content: object, stop: object = "end_turn", **more: Any) -> dict[str, Any]:
    return {"content": content, "stop_reason": stop, **more}


def gemini(content: object, finish: object = "STOP", **more: Any) -> dict[str, Any]:
    return {"candidates": [{"content": content, "finishReason": finish}], **more}


ANSWERS: list[tuple[str, object, str]] = [
    ("openai", chat("A"), "A"),
    ("openai", chat("A", None), "A"),
    ("openai", chat("A", error=DEAD), "A"),
    ("openai", chat(["A", {"type": "text", "text": "B"}]), "AB"),
    ("openai", chat(""), ""),
    ("openai", chat("", None), ""),
    ("openai", chat(None), ""),
    ("openai", chat([]), ""),
    ("openai", {"choices": [{"finish_reason": "length"}]}, ""),
    ("openai", {"choices": [{"message": None, "finish_reason": "length"}]}, ""),
    ("openai:endpoint=completions", {"choices": [{"text": "A", "finish_reason": "stop"}]}, "A"),
    ("openai:endpoint=completions", {"choices": [{"text": None, "finish_reason": "stop"}]}, ""),
    ("anthropic", claude([{"type": "text", "text": "A"}]), "A"),
    ("anthropic", claude([{"type": "text", "text": "A"}], error=DEAD), "A"),
    ("anthropic", claude([]), ""),
    ("google", gemini({"parts": [{"text": "A"}]}), "A"),
    ("google", gemini({"parts": [{"text": "A"}]}, None), "A"),
    ("google", gemini({}, "MAX_TOKENS"), ""),
    ("google", gemini(None), ""),
]
FAILURES: list[tuple[str, object]] = [
    ("openai", chat("", error=DEAD)),
    ("openai", chat(None, error=DEAD)),
    ("openai", chat(5)),
    ("openai", chat(True)),
    ("openai", chat({"text": "A"})),
    ("openai", chat([5])),
    ("openai", chat([{"type": "text", "text": {"A": 1}}])),
    ("openai", chat(None, None)),
    ("openai", {"choices": [{"message": ["A"], "finish_reason": "stop"}]}),
    ("openai", {"choices": [{"message": "A", "finish_reason": "stop"}]}),
    ("openai", {"choices": [{"finish_reason": None}]}),
    ("openai", {"choices": ["A"]}),
    ("openai", {"choices": {"message": "A"}}),
    ("openai", {"choices": [{"message": {"content": ""}, "error": DEAD}]}),
    ("openai", {"base_resp": {"status_code": [1], "status_msg": "x"}}),
    ("openai:endpoint=completions", {"choices": [{"text": 5, "finish_reason": "stop"}]}),
    ("openai:endpoint=completions", {"choices": [{"text": None}]}),
    ("anthropic", claude([], error=DEAD)),
    ("anthropic", claude("A")),
    ("anthropic", claude(["A"])),
    ("anthropic", claude([{"type": "text", "text": 5}])),
    ("anthropic", claude([], None)),
    ("google", gemini({}, error=DEAD)),
    ("google", gemini("A")),
    ("google", gemini(["A"])),
    ("google", gemini({"parts": "A"})),
    ("google", gemini({"parts": ["A"]})),
    ("google", gemini({"parts": [{"text": 5}]})),
    ("google", gemini(None, None)),
]


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("ANTHROPIC_API_KEY", "GOOGLE_API_KEY", "OPENAI_API_KEY"):
        monkeypatch.setenv(name, "not-needed")


def spec(server: StandIn, provider: str) -> str:
    provider, _, options = provider.partition(":")
    return f"{provider}/tiny:base_url={server.url}" + (f",{options}" if options else "")


@pytest.mark.parametrize(("provider", "body", "text"), ANSWERS)
def test_shapes_that_are_answers(provider: str, body: object, text: str, server: StandIn) -> None:
    server.says(body)
    [output] = ask(spec(server, provider), question("?"))
    assert isinstance(output, Generated)
    assert output.text == text


@pytest.mark.parametrize(("provider", "body"), FAILURES)
@pytest.mark.attack("a reply of a wrong shape", "a failure, never an empty answer")
def test_invalid_reply_shapes_are_server_errors(provider: str, body: object, server: StandIn) -> None:
    server.says(body)
    with pytest.raises(ModelError) as caught:
        ask(spec(server, provider), question("?"))
    assert caught.value.kind == "server"


def deep(count: int) -> bytes:
    return b"[" * count


def with_logprobs(logprobs: object) -> bytes:
    choice = {"message": {"content": "A"}, "finish_reason": "stop", "logprobs": logprobs}
    return json.dumps({"choices": [choice]}).encode()


UNREADABLE: list[tuple[int, bytes, str]] = [
    (200, b'{"choices":[{"message":{"content":"\xff A"},"finish_reason":"stop"}]}', "server"),
    (200, b"\xff\xfe\x00", "server"),
    (200, deep(300_000), "server"),
    (200, b'{"choices":' + deep(300_000), "server"),
    (200, b'{"error":' * 300_000, "server"),
    (200, b'{"a":' + b"9" * 5000 + b"e" + b"9" * 5000 + b"}", "server"),
    (500, deep(300_000), "server"),
    (500, b"\xff\xfe", "server"),
    (429, b'{"error":{"message":"x","details":[{"retryDelay":"1.2.3s"}]}}', "rate_limit"),
    (429, b'{"error":{"message":"x","details":[{"retryDelay":[1]}]}}', "rate_limit"),
    (429, b'{"error":{"message":"x","details":{"retryDelay":"1s"}}}', "rate_limit"),
    (429, b"\xff", "rate_limit"),
    (429, deep(300_000), "rate_limit"),
    (429, b"x" * 3_000_000, "rate_limit"),
    (200, b'{"base_resp":{"status_code":[1],"status_msg":"x"}}', "server"),
    (200, b'{"error":{"message":{"a":[1]},"code":[429]}}', "server"),
]


@pytest.mark.parametrize(("status", "body", "kind"), UNREADABLE)
@pytest.mark.attack("bodies that are no JSON, no UTF-8, or nested without end", "a failure of a named kind")
def test_bodies_that_cannot_be_read(status: int, body: bytes, kind: str, server: StandIn) -> None:
    server.says(body, status)
    with pytest.raises(ModelError) as caught:
        ask(spec(server, "openai"), question("?"))
    assert caught.value.kind == kind
    assert len(str(caught.value)) < 400
    for word in ("Error", "Traceback", "codec", "recursion"):
        assert word not in str(caught.value)


@pytest.mark.parametrize(("status", "body", "kind"), UNREADABLE)
def test_the_same_as_the_first_reply(status: int, body: bytes, kind: str, server: StandIn) -> None:
    """A server that is merely busy passes: what it says of the first question will tell."""
    server.says(body, status)
    model: Any = open_model(spec(server, "openai"))
    asyncio.run(model.check())
    assert len(server.asked) == 1


@pytest.mark.attack("such a body as the very first reply", "one sentence, exit code 2")
def test_a_first_reply_that_no_server_gives(server: StandIn) -> None:
    server.says([1, 2])
    model: Any = open_model(spec(server, "openai"))
    with pytest.raises(UsageError, match="no JSON object"):
        asyncio.run(model.check())


@pytest.mark.parametrize(
    ("logprobs", "found"),
    [
        ({"content": [{"top_logprobs": [{"token": "A", "logprob": -0.5}]}]}, {"A": -0.5}),
        ({"content": [{"top_logprobs": 5}]}, {}),
        ({"content": [5]}, {}),
        ({"content": 5}, {}),
        ([5], {}),
        ({"content": [{"top_logprobs": [{"token": "A", "logprob": "x"}]}]}, {}),
        ({"content": [{"top_logprobs": [{"token": "A", "logprob": 10**400}]}]}, {}),
        ({"content": [{"top_logprobs": [{"token": "A", "logprob": float("nan")}]}]}, {}),
    ],
)
def test_odd_logprobs_are_none(logprobs: object, found: dict[str, float], server: StandIn) -> None:
    server.says(with_logprobs(logprobs))
    [output] = ask(spec(server, "openai"), question("?", logprobs=5))
    assert isinstance(output, Generated)
    assert (output.text, output.first_logprobs) == ("A", found)


WORDS = [
    "choices",
    "message",
    "content",
    "finish_reason",
    "delta",
    "text",
    "logprobs",
    "top_logprobs",
    "token",
    "logprob",
    "error",
    "code",
    "type",
    "status",
    "detail",
    "details",
    "retryDelay",
    "base_resp",
    "status_code",
    "status_msg",
    "usage",
    "prompt_tokens",
    "completion_tokens",
    "candidates",
    "parts",
    "finishReason",
    "promptFeedback",
    "blockReason",
    "inlineData",
    "logprobsResult",
    "topCandidates",
    "usageMetadata",
    "stop_reason",
    "thinking",
    "content_block",
    "images",
    "image_url",
    "url",
    "refusal",
    "reasoning_content",
]
LEAVES = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=5)
    | st.sampled_from(["stop", "error", "text", "thinking", "1.2.3s", "1s", "message_delta", "A"])
    | st.sampled_from([429, 500, 1002, 1027, 10**30])
)
ANY = st.recursive(
    LEAVES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(WORDS), inner, max_size=4),
    max_leaves=12,
)
REPLY = st.dictionaries(st.sampled_from(WORDS), ANY, max_size=5) | ANY.map(chat) | ANY.map(claude)
REPLIES = REPLY | ANY.map(gemini) | ANY.map(lambda one: {"choices": [one]}) | ANY.map(lambda one: {"candidates": [one]})
_PROFILE = profiles()["openai"]
ASKED = RemoteModelConfig("tiny", _PROFILE, read_setup("openai", _PROFILE, {}))
DIALECTS: list[Callable[[], Dialect]] = [Chat, Completions, Google, lambda: Anthropic("")]


@settings(max_examples=300, deadline=None)
@given(REPLIES, st.sampled_from(DIALECTS))
@pytest.mark.attack("any JSON as a reply", "an answer or a typed failure")
def test_any_reply_is_an_answer_or_a_typed_failure(reply: dict[str, Any], dialect: Callable[[], Dialect]) -> None:
    try:
        generated = to_generated(dialect().parse_reply(reply), ASKED)
    except (ModelError, ReplyBlocked):
        return
    assert generated.text == generated.text.strip()


@settings(max_examples=300, deadline=None)
@given(st.lists(REPLIES, max_size=4), st.sampled_from(DIALECTS))
@pytest.mark.attack("any stream of events", "an answer or a typed failure")
def test_any_stream_is_an_answer_or_a_typed_failure(
    pieces: list[dict[str, Any]], dialect: Callable[[], Dialect]
) -> None:
    try:
        generated = to_generated(dialect().parse_reply(dialect().join_stream(pieces)), ASKED)
    except (ModelError, ReplyBlocked):
        return
    assert generated.text == generated.text.strip()


@settings(max_examples=300, deadline=None)
@given(
    st.binary(max_size=60) | ANY.map(lambda one: json.dumps(one).encode()),
    st.integers(400, 599),
    st.dictionaries(
        st.sampled_from(["Retry-After", "retry-after-ms", "x-ratelimit-reset-requests"]),
        st.text(max_size=12) | st.sampled_from(["1e999", "9" * 400 + "s", "0001-01-01", "99999h"]),
    ),
)
@pytest.mark.attack("any body of an error", "a failure with a kind")
def test_any_complaint_has_a_kind(body: bytes, status: int, headers: dict[str, str]) -> None:
    meant = error_from_status(status, headers, body)
    assert isinstance(meant, ModelError | ReplyBlocked)
    if isinstance(meant, ModelError) and meant.retry_after is not None:
        assert 0 <= meant.retry_after < float("inf")
    assert "\n" not in error_details(body).message
    with contextlib.suppress(ModelError):
        assert isinstance(error_in_body(decode_object(body)), ModelError | ReplyBlocked | None)


def test_a_reply_in_pieces_of_odd_shapes(server: StandIn) -> None:
    pieces = [{"choices": [{"delta": {"content": "A"}}]}, {"choices": [{"delta": {"content": 5}}]}]
    body = b"".join(b"data: " + json.dumps(one).encode() + b"\n\n" for one in pieces)
    server.says(body)
    with pytest.raises(ModelError) as caught:
        ask(f"{spec(server, 'openai')},stream=yes", question("?"))
    assert caught.value.kind == "server"


def test_counts_that_no_server_means(server: StandIn) -> None:
    usage = {"prompt_tokens": 10**30, "completion_tokens": -3}
    server.says({**chat_reply("A"), "usage": usage})
    [output] = ask(spec(server, "openai"), question("?"))
    assert isinstance(output, Generated)
    assert output.usage is not None
    assert (output.usage.prompt_tokens, output.usage.completion_tokens) == (0, 0)
