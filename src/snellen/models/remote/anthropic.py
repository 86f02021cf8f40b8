"""Anthropic's Messages API (`POST messages`), as of version 2023-06-01."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import ModelError, UsageError
from snellen.core.output import StopReason, Usage
from snellen.core.request import Draw, Generate, Message, Part, Text
from snellen.models.remote.chat import with_extra
from snellen.models.remote.dialect import (
    Body,
    Call,
    MediaByDigest,
    RawReply,
    RemoteModelConfig,
    Reply,
    apply_image_policy,
    dict_or_empty,
    merge_texts,
    require_finish,
    schema_to_send,
    text_of,
    token_count,
    unreadable_field,
)
from snellen.models.remote.errors import error_in_body
from snellen.models.remote.json_reply import quote
from snellen.models.remote.profile import has_fixed_sampling

_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
BUDGETS = {"low": 1024, "medium": 4096, "high": 16384}
"""Thinking budget in tokens for each value of the option `reasoning_effort`."""
EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""Values of `reasoning_effort` for models with adaptive thinking."""


class Anthropic:
    """The Messages API: content in blocks, system prompt separate from the conversation."""

    def __init__(self, effort: str, adaptive: bool = False) -> None:
        """Raises UsageError if the model does not support this effort."""
        self._think, self._budget = thinking_fields(effort, adaptive)

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call:
        """The POST for a request."""
        messages = apply_image_policy(request.messages, config.setup.images)
        system = "\n".join(message.text() for message in messages if message.role == "system")
        in_path = config.profile.model_in_path
        body: Body = {
            **({"anthropic_version": config.profile.anthropic_version} if in_path else {"model": config.model}),
            "max_tokens": 4096,
            "messages": [_message(message, media) for message in messages if message.role != "system"],
        }
        if system:
            body["system"] = system
        if isinstance(request, Generate):
            settings = request.settings
            body["max_tokens"] = settings.max_new_tokens
            if settings.stop:
                body["stop_sequences"] = list(settings.stop)
            if self._think:
                body |= self._think
                body["max_tokens"] += self._budget
            elif config.setup.sampling and not has_fixed_sampling(config.profile, config.model):
                # Newer models accept only one of the two.
                use_top_p = settings.temperature and settings.top_p != 1
                name = "top_p" if use_top_p else "temperature"
                body[name] = settings.top_p if use_top_p else settings.temperature
                if settings.top_k:
                    body["top_k"] = settings.top_k
            schema = schema_to_send(settings, config)
            if schema is not None:
                form = {"type": "json_schema", "schema": schema}
                body["output_config"] = {**body.get("output_config", {}), "format": form}
        if config.setup.stream:
            body["stream"] = True
        method = "streamRawPredict" if config.setup.stream else "rawPredict"
        return Call(f"models/{config.model}:{method}" if in_path else "messages", with_extra(body, config))

    def parse_reply(self, reply: Reply) -> RawReply:
        """Text and thoughts of a reply. Raises ModelError if it has no answer."""
        blocks = reply.get("content")
        if not isinstance(blocks, list):
            raise error_in_body(reply) or ModelError("the reply holds no content", "server")
        for block in blocks:
            if not isinstance(block, dict):
                raise unreadable_field("content", block)
        texts = [text_of(block.get("text"), "text") for block in blocks if block.get("type") == "text"]
        thoughts = [text_of(block.get("thinking"), "thinking") for block in blocks if block.get("type") == "thinking"]
        if not any(texts):
            require_finish(reply, reply.get("stop_reason"))
        stop = _STOPS.get(quote(reply.get("stop_reason")), "stop")
        usage = _usage(reply.get("usage"))
        return RawReply("".join(texts), stop, "\n".join(thoughts) or None, usage=usage)

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """Join the events of a stream: message_start, content_block_*, message_delta."""
        message: Body = {"content": [], "usage": {}}
        ended = False
        for event in chunks:
            kind, delta = event.get("type"), dict_or_empty(event.get("delta"))
            if kind == "error":
                return event
            if kind == "message_start":
                message["usage"] |= dict_or_empty(dict_or_empty(event.get("message")).get("usage"))
            elif kind == "content_block_start":
                message["content"].append(dict(dict_or_empty(event.get("content_block"))))
            elif kind == "content_block_delta" and message["content"]:
                block = message["content"][-1]
                for name in ("text", "thinking"):
                    if name in delta:
                        block[name] = text_of(block.get(name), name) + text_of(delta[name], name)
            elif kind == "message_delta":
                message["stop_reason"] = delta.get("stop_reason")
                message["usage"] |= dict_or_empty(event.get("usage"))
                ended = True
        if not ended:
            raise ModelError("the stream broke off before the reply's end", "connection")
        return message


def thinking_fields(effort: str, adaptive: bool) -> tuple[Body, int]:
    """Fields that ask for reasoning, and its budget in tokens, which the limit of the reply includes. Raises
    UsageError if the model does not support this effort."""
    if not effort:
        return {}, 0
    if adaptive:
        return _adaptive(effort), 0
    budget = _budget_of(effort)
    return {"thinking": {"type": "enabled", "budget_tokens": budget}}, budget


def _budget_of(effort: str) -> int:
    """Thinking budget in tokens. Raises UsageError."""
    if effort.isdecimal():
        return int(effort)
    if effort not in BUDGETS:
        raise UsageError(f"option reasoning_effort={effort!r}: expected {', '.join(BUDGETS)} or a number of tokens")
    return BUDGETS[effort]


def _adaptive(effort: str) -> Body:
    """Fields for adaptive thinking, with summarised thoughts: by default such models send none."""
    if effort not in EFFORTS:
        raise UsageError(
            f"option reasoning_effort={effort!r}: this model takes {', '.join(EFFORTS)}, and no number of tokens"
        )
    thinking = {"type": "adaptive", "display": "summarized"}
    return {"thinking": thinking, "output_config": {"effort": effort}}


def _message(message: Message, media: MediaByDigest) -> Body:
    parts = merge_texts(message.parts)
    return {"role": message.role, "content": [_block(part, media) for part in parts]}


def _block(part: Part, media: MediaByDigest) -> Body:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    encoded = media[part.digest]
    source = {"type": "base64", "media_type": encoded.mime, "data": encoded.base64()}
    return {"type": "image", "source": source}


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    cached = token_count(usage.get("cache_read_input_tokens"))
    cache_writes = token_count(usage.get("cache_creation_input_tokens"))
    prompt = token_count(usage.get("input_tokens")) + cached + cache_writes
    thinking = token_count(dict_or_empty(usage.get("output_tokens_details")).get("thinking_tokens"))
    return Usage(prompt, token_count(usage.get("output_tokens")), thinking, cached)
