"""Anthropic's Messages API and Google's generateContent."""

from __future__ import annotations

import base64
import json
from typing import Any

import pytest
from asking_remote import REF, ask, picture, question
from standin_server import StandIn

from snellen.core.errors import ModelError, UsageError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.output import Generated, Usage
from snellen.core.request import Generate, Generation, Media, Message, Text, user
from snellen.models.naming.registry import open_model

DATA = picture()
CONVERSATION = Generate(
    messages=(
        Message("system", (Text("Be brief."),)),
        user(Media("image", digest_bytes(DATA)), Text("Which colour?")),
        Message("assistant", (Text("Red."),)),
        user(Text("Sure?")),
    ),
    ref=REF,
    settings=Generation(max_new_tokens=9, stop=("\n",)),
    media={digest_bytes(DATA): InlineSource(DATA)},
)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant")
    monkeypatch.setenv("GEMINI_API_KEY", "AIza")


def claude(server: StandIn, options: str = "", request: Generate = CONVERSATION) -> Generated:
    [output] = ask(f"anthropic/claude-x:base_url={server.url}{options}", request)
    assert isinstance(output, Generated)
    return output


def gemini(server: StandIn, options: str = "", request: Generate = CONVERSATION) -> Generated:
    [output] = ask(f"google/gemini-x:base_url={server.url}{options}", request)
    assert isinstance(output, Generated)
    return output


def message(*blocks: dict[str, str], stop_reason: str = "end_turn") -> dict[str, Any]:
    return {
        "type": "message",
        "role": "assistant",
        "content": list(blocks),
        "stop_reason": stop_reason,
        "usage": {"input_tokens": 20, "cache_read_input_tokens": 60, "output_tokens": 5},
    }


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def test_a_conversation_with_claude(server: StandIn) -> None:
    server.says(message(text("Yes.")))
    output = claude(server)
    assert (output.text, output.stop_reason) == ("Yes.", "stop")
    assert output.usage == Usage(80, 5, 0, 60)
    assert server.paths == ["/v1/messages"]
    assert server.headers[0]["x-api-key"] == "sk-ant"
    assert server.headers[0]["anthropic-version"] == "2023-06-01"
    body = server.asked[0]
    assert body["system"] == "Be brief."
    assert body["max_tokens"] == 9
    assert body["temperature"] == 0.0
    assert body["stop_sequences"] == ["\n"]
    assert [one["role"] for one in body["messages"]] == ["user", "assistant", "user"]
    image, words = body["messages"][0]["content"]
    assert image["source"]["media_type"] == "image/png"
    assert base64.b64decode(image["source"]["data"]) == DATA
    assert words == text("Which colour?")


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (message(text("The"), stop_reason="max_tokens"), ("The", "length", None)),
        (message(stop_reason="refusal"), ("", "refusal", None)),
        (message(), ("", "stop", None)),
        (message({"type": "thinking", "thinking": "hm"}, text("B")), ("B", "stop", "hm")),
    ],
)
def test_replies_of_claude(server: StandIn, reply: object, expected: tuple[str, str, str | None]) -> None:
    server.says(reply)
    output = claude(server)
    assert (output.text, output.stop_reason, output.reasoning) == expected


@pytest.mark.parametrize(("effort", "budget"), [("high", 16384), ("2000", 2000)])
def test_claude_thinks_beside_its_answer(server: StandIn, effort: str, budget: int) -> None:
    server.says(message(text("B")))
    claude(server, f",reasoning_effort={effort}")
    body = server.asked[0]
    assert body["thinking"] == {"type": "enabled", "budget_tokens": budget}
    assert body["max_tokens"] == budget + 9
    assert "temperature" not in body


@pytest.mark.parametrize("effort", ["low", "xhigh", "max"])
def test_newer_claude_models_get_the_effort_as_a_word(server: StandIn, effort: str) -> None:
    server.says(message(text("B")))
    ask(f"anthropic/claude-opus-4-8:base_url={server.url},reasoning_effort={effort}", CONVERSATION)
    body = server.asked[0]
    assert body["thinking"] == {"type": "adaptive", "display": "summarized"}
    assert body["output_config"] == {"effort": effort}
    assert body["max_tokens"] == 9
    assert "temperature" not in body


def test_newer_claudes_take_no_number_of_tokens() -> None:
    with pytest.raises(UsageError, match=r"this model takes low, .*, max, and no number of tokens"):
        open_model("anthropic/claude-haiku-5-5:reasoning_effort=2000")


@pytest.mark.parametrize(
    ("name", "sampled"),
    [
        ("claude-3-opus-20240229", True),
        ("claude-opus-4-5", True),
        ("claude-sonnet-4-5-20250929", True),
        ("claude-haiku-4-5", True),
        ("claude-opus-4-6", True),
        ("claude-opus-4-7-20260416", False),
        ("claude-opus-4-8", False),
        ("claude-opus-5", False),
        ("claude-sonnet-5-5", False),
        ("claude-haiku-5-5", False),
        ("claude-fable-5-1", False),
        ("claude-mythos-preview", False),
    ],
)
def test_newer_claudes_refuse_a_temperature(server: StandIn, name: str, sampled: bool) -> None:
    server.says(message(text("B")))
    ask(f"anthropic/{name}:base_url={server.url}", CONVERSATION)
    assert ("temperature" in server.asked[0]) is sampled


def test_claude_in_a_stream(server: StandIn) -> None:
    server.says(message({"type": "thinking", "thinking": "hm"}, text("Yes.")))
    once = claude(server)
    events = [
        {"type": "message_start", "message": {"usage": {"input_tokens": 20, "cache_read_input_tokens": 60}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "thinking", "thinking": ""}},
        {"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "hm"}},
        {"type": "content_block_start", "index": 1, "content_block": text("")},
        {"type": "ping"},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "Ye"}},
        {"type": "content_block_delta", "delta": {"type": "text_delta", "text": "s."}},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 5}},
        {"type": "message_stop"},
    ]
    stream = "".join(f"event: {one['type']}\ndata: {json.dumps(one)}\n\n" for one in events)
    server.says(stream.encode())
    piecewise = claude(server, ",stream=yes")
    assert server.asked[-1]["stream"] is True
    assert (piecewise.text, piecewise.reasoning) == (once.text, once.reasoning)
    assert (piecewise.stop_reason, piecewise.usage) == (once.stop_reason, once.usage)


def test_faults_of_claude(server: StandIn) -> None:
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    server.says(error, 529)
    with pytest.raises(ModelError, match="529: Overloaded") as caught:
        claude(server)
    assert caught.value.kind == "server"
    server.says(f"event: error\ndata: {json.dumps(error)}\n\n".encode())
    with pytest.raises(ModelError, match="Overloaded"):
        claude(server, ",stream=yes")


def test_refuses_unknown_effort_of_claude() -> None:
    with pytest.raises(UsageError, match="expected low, medium, high or a number of tokens"):
        open_model("anthropic/claude-x:reasoning_effort=much")


def candidate(*parts: dict[str, Any], finish: str = "STOP") -> dict[str, Any]:
    return {
        "candidates": [{"content": {"role": "model", "parts": list(parts)}, "finishReason": finish}],
        "usageMetadata": {
            "promptTokenCount": 270,
            "candidatesTokenCount": 4,
            "thoughtsTokenCount": 30,
            "totalTokenCount": 304,
        },
    }


def test_a_conversation_with_gemini(server: StandIn) -> None:
    server.says(candidate({"text": "Yes."}))
    output = gemini(server, ",reasoning_effort=512")
    assert (output.text, output.stop_reason) == ("Yes.", "stop")
    assert output.usage == Usage(270, 34, 30)
    assert server.paths == ["/v1/models/gemini-x:generateContent"]
    assert server.headers[0]["x-goog-api-key"] == "AIza"
    body = server.asked[0]
    assert body["systemInstruction"] == {"parts": [{"text": "Be brief."}]}
    assert [one["role"] for one in body["contents"]] == ["user", "model", "user"]
    image, words = body["contents"][0]["parts"]
    assert image["inlineData"]["mimeType"] == "image/png"
    assert base64.b64decode(image["inlineData"]["data"]) == DATA
    assert words == {"text": "Which colour?"}
    assert body["generationConfig"] == {
        # The budget comes on top of the reply: thoughts count towards the longest output.
        "maxOutputTokens": 9 + 512,
        "temperature": 0.0,
        "stopSequences": ["\n"],
        "thinkingConfig": {"includeThoughts": True, "thinkingBudget": 512},
    }


@pytest.mark.parametrize(
    ("reply", "expected"),
    [
        (candidate({"text": "The"}, finish="MAX_TOKENS"), ("The", "length", None)),
        (candidate(finish="SAFETY"), ("", "refusal", None)),
        ({"candidates": [{"finishReason": "SAFETY"}]}, ("", "refusal", None)),
        (
            {"promptFeedback": {"blockReason": "PROHIBITED_CONTENT"}},
            ("the prompt is blocked: PROHIBITED_CONTENT", "refusal", None),
        ),
        (candidate({"text": "hm", "thought": True}, {"text": "B"}), ("B", "stop", "hm")),
        (candidate({"text": "hm", "thought": True}, finish="MAX_TOKENS"), ("", "length", "hm")),
    ],
)
def test_replies_of_gemini(server: StandIn, reply: object, expected: tuple[str, str, str | None]) -> None:
    server.says(reply)
    output = gemini(server)
    assert (output.text, output.stop_reason, output.reasoning) == expected


def test_gemini_in_a_stream(server: StandIn) -> None:
    pieces = [candidate({"text": "hm", "thought": True}), candidate({"text": "Ye"}), candidate({"text": "s."})]
    server.says("".join(f"data: {json.dumps(one)}\r\n\r\n" for one in pieces).encode())
    output = gemini(server, ",stream=yes")
    assert server.paths == ["/v1/models/gemini-x:streamGenerateContent?alt=sse"]
    assert (output.text, output.reasoning, output.usage) == ("Yes.", "hm", Usage(270, 34, 30))


@pytest.mark.parametrize("last", [None, {"error": {"code": 503, "message": "The model is busy"}}])
def test_incomplete_gemini_stream_is_an_error(server: StandIn, last: dict[str, Any] | None) -> None:
    half: dict[str, Any] = {"candidates": [{"content": {"parts": [{"text": "The answer is A"}]}}]}
    pieces = [half, *([last] if last else [])]
    server.says("".join(f"data: {json.dumps(one)}\r\n\r\n" for one in pieces).encode())
    with pytest.raises(ModelError, match="busy" if last else "the stream broke off") as caught:
        gemini(server, ",stream=yes")
    assert caught.value.kind == ("server" if last else "connection")


def test_a_blocked_prompt_in_a_stream_of_gemini(server: StandIn) -> None:
    blocked = {"promptFeedback": {"blockReason": "SAFETY"}}
    server.says(f"data: {json.dumps(blocked)}\r\n\r\n".encode())
    assert gemini(server, ",stream=yes").stop_reason == "refusal"


def test_gemini_watches_a_whole_video(server: StandIn) -> None:
    video = b"\x00\x00\x00\x18ftypmp42 frames"
    film = Media("video", digest_bytes(video))
    about = Generate(messages=(user(film, Text("Who wins?")),), ref=REF, media={film.digest: InlineSource(video)})
    server.says(candidate({"text": "She."}))
    assert gemini(server, ",video=native", about).text == "She."
    shown, _ = server.asked[0]["contents"][0]["parts"]
    data = base64.b64encode(video).decode()
    assert shown == {"inlineData": {"mimeType": "video/mp4", "data": data}}
    with pytest.raises(UsageError, match="anthropic takes no whole videos, only frames"):
        open_model("anthropic/claude-x:video=native")


def test_log_probabilities_of_gemini(server: StandIn) -> None:
    reply = candidate({"text": "B"})
    top = {"candidates": [{"token": "B", "logProbability": -0.2}]}
    reply["candidates"][0]["logprobsResult"] = {"topCandidates": [top]}
    server.says(reply)
    output = gemini(server, request=question("?", logprobs=1))
    assert output.first_logprobs == {"B": -0.2}
    assert server.asked[0]["generationConfig"]["logprobs"] == 1


def test_a_wait_in_googles_words(server: StandIn) -> None:
    details = [{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "12s"}]
    error = {"code": 429, "message": "Quota", "status": "RESOURCE_EXHAUSTED", "details": details}
    server.says([{"error": error}], 429)
    with pytest.raises(ModelError, match="429: Quota") as caught:
        gemini(server)
    assert (caught.value.kind, caught.value.retry_after) == ("rate_limit", 12.0)
