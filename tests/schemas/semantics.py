"""What a reply means by the published descriptions, read independently of Snellen's reader.

The outcomes of `expected_of` are stored with the examples (`replies/`); a person reads each of them.
Sources: OpenAI's description of `finish_reason`, `refusal` and `usage`; Anthropic's of `stop_reason`
and `usage` (input tokens exclude those of the cache); Google's of `FinishReason`, `blockReason` and
`usageMetadata`. A model that called a tool, which nobody offered, gave no answer: the reply is empty.
"""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

REFUSED, EMPTY, ANSWERED, FAILED = "refused", "empty", "answered", "failed"
_TABLE = tomllib.loads((Path(__file__).parent / "outcomes.toml").read_text(encoding="utf-8"))


def expected_of(dialect: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of an example, its text and its numbers of tokens (prompt, completion, cached)."""
    if "error" in example:
        return {"outcome": FAILED}
    reading = {"chat": _chat, "anthropic": _anthropic, "google": _google}[dialect]
    chunks = example.get("stream") or [example["reply"]]
    if "stream" in example and any(each.get("type") == "error" for each in chunks):
        return {"outcome": FAILED}
    return reading(chunks, "stream" in example)


def _outcome(dialect: str, text: str, finish: str | None) -> str:
    """By the table of `outcomes.toml`; a reason that it lacks, or none, ended nothing early."""
    with_text, without = _TABLE[dialect].get(finish, (ANSWERED, EMPTY))
    return str(with_text if text.strip() else without)


def _chat(chunks: list[dict[str, Any]], is_stream: bool) -> dict[str, Any]:
    text = refusal = ""
    finish: str | None = None
    usage: Mapping[str, Any] | None = None
    for chunk in chunks:
        usage = chunk.get("usage") or usage
        for choice in [each for each in chunk.get("choices") or [] if each.get("index", 0) == 0][:1]:
            said = choice.get("delta" if is_stream else "message") or {}
            content = choice["text"] if "text" in choice else said.get("content")
            text += _text_of(content)
            refusal += said.get("refusal") or ""
            finish = choice.get("finish_reason") or finish
    if is_stream and finish is None:
        return {"outcome": FAILED}
    outcome = REFUSED if refusal and not text else _outcome("chat", text, finish)
    if usage is None:
        return {"outcome": outcome, "text": text or refusal}
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens") or 0
    tokens = [usage.get("prompt_tokens", 0), usage.get("completion_tokens", 0), cached]
    return {"outcome": outcome, "text": text or refusal, "tokens": tokens}


def _text_of(content: Any) -> str:
    """A string, or a list of parts, of which those of type `text`, or of none, are the answer."""
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content if part.get("type", "text") == "text")
    return content or ""


def _anthropic(chunks: list[dict[str, Any]], is_stream: bool) -> dict[str, Any]:
    if not is_stream:
        [message] = chunks
        text = "".join(block.get("text", "") for block in message["content"] if block.get("type") == "text")
        return _anthropic_outcome(text, message.get("stop_reason"), message.get("usage") or {})
    text, stop, usage = "", None, {}
    for event in chunks:
        if event.get("type") == "message_start":
            usage |= event["message"].get("usage") or {}
        elif event.get("type") == "content_block_start":
            text += event["content_block"].get("text") or ""
        elif event.get("type") == "content_block_delta" and event["delta"].get("type") == "text_delta":
            text += event["delta"]["text"]
        elif event.get("type") == "message_delta":
            stop = event["delta"].get("stop_reason") or stop
            usage |= {name: value for name, value in (event.get("usage") or {}).items() if value is not None}
    if stop is None:
        return {"outcome": FAILED}
    return _anthropic_outcome(text, stop, usage)


def _anthropic_outcome(text: str, stop: str | None, usage: Mapping[str, Any]) -> dict[str, Any]:
    outcome = _outcome("anthropic", text, stop)
    if not usage:
        return {"outcome": outcome, "text": text}
    cached = usage.get("cache_read_input_tokens") or 0
    prompt = (usage.get("input_tokens") or 0) + cached + (usage.get("cache_creation_input_tokens") or 0)
    return {"outcome": outcome, "text": text, "tokens": [prompt, usage.get("output_tokens") or 0, cached]}


def _google(chunks: list[dict[str, Any]], is_stream: bool) -> dict[str, Any]:
    text, finish, usage = "", None, {}
    for chunk in chunks:
        if (chunk.get("promptFeedback") or {}).get("blockReason"):
            return {"outcome": REFUSED}
        usage = chunk.get("usageMetadata") or usage
        for candidate in (chunk.get("candidates") or [])[:1]:
            parts = (candidate.get("content") or {}).get("parts") or []
            text += "".join(part.get("text") or "" for part in parts if not part.get("thought"))
            finish = candidate.get("finishReason") or finish
    if not any(chunk.get("candidates") for chunk in chunks) or (is_stream and finish is None) or not (text or finish):
        return {"outcome": FAILED}
    found: dict[str, Any] = {"outcome": _outcome("google", text, finish), "text": text}
    if usage:
        spent = (usage.get("candidatesTokenCount") or 0) + (usage.get("thoughtsTokenCount") or 0)
        found["tokens"] = [usage.get("promptTokenCount") or 0, spent, usage.get("cachedContentTokenCount") or 0]
    return found
