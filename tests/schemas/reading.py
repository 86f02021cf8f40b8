"""What Snellen's reader makes of an example of a reply."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from snellen.core.errors import ModelError
from snellen.models.remote.anthropic import Anthropic
from snellen.models.remote.chat import Chat, Completions
from snellen.models.remote.converse import Converse
from snellen.models.remote.dialect import Dialect, RawReply, RemoteModelConfig, to_generated
from snellen.models.remote.errors import ReplyBlocked, error_from_status, error_in_body
from snellen.models.remote.google import Google
from snellen.models.remote.options import read_setup
from snellen.models.remote.profile import profiles

_PROVIDERS = {"chat": "openai", "anthropic": "anthropic", "converse": "bedrock", "google": "google"}
_READERS: dict[str, Dialect] = {"anthropic": Anthropic(""), "converse": Converse(""), "google": Google()}


def outcome_of(dialect: str, example: Mapping[str, Any]) -> dict[str, Any]:
    """The outcome of an example as `semantics.py` writes it: outcome, text, tokens."""
    if "error" in example:
        status = example.get("status", 200)
        found = error_in_body(example["error"])
        if status != 200:
            found = error_from_status(status, {}, msgspec.json.encode(example["error"]))
        return _error_outcome(found) if found else {"outcome": "answered"}
    reader = _reader(dialect, example)
    try:
        reply = example.get("reply") or reader.join_stream(example["stream"])
        return _reply_outcome(dialect, reader.parse_reply(reply))
    except (ModelError, ReplyBlocked) as error:
        return _error_outcome(error)


def _reader(dialect: str, example: Mapping[str, Any]) -> Dialect:
    if dialect in _READERS:
        return _READERS[dialect]
    chunks = example.get("stream") or [example["reply"]]
    is_text = any("text" in choice for chunk in chunks for choice in chunk.get("choices") or ())
    return Completions() if is_text else Chat()


def _reply_outcome(dialect: str, raw: RawReply) -> dict[str, Any]:
    profile = profiles()[_PROVIDERS[dialect]]
    config = RemoteModelConfig("some-model", profile, read_setup(dialect, profile, {}))
    output = to_generated(raw, config)
    outcome = {"refusal": "refused", "length": "truncated"}.get(output.stop_reason)
    found: dict[str, Any] = {"outcome": outcome or ("answered" if output.text else "empty"), "text": output.text}
    if output.usage:
        found["tokens"] = [output.usage.prompt_tokens, output.usage.completion_tokens, output.usage.cached_tokens]
    return found


def _error_outcome(error: ModelError | ReplyBlocked) -> dict[str, Any]:
    if isinstance(error, ModelError):
        return {"outcome": "failed", "kind": error.kind}
    return {"outcome": {"refusal": "refused", "length": "truncated"}[error.stop_reason]}
