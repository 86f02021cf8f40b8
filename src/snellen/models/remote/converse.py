"""Amazon Bedrock's Converse API: `POST model/<model>/converse`."""

from __future__ import annotations

from collections.abc import Sequence
from urllib.parse import quote as quote_url

from snellen.core.errors import ModelError
from snellen.core.output import StopReason, Usage
from snellen.core.request import Draw, Generate, Message, Part, Text
from snellen.models.remote.anthropic import thinking_fields
from snellen.models.remote.chat import SCHEMA_NAME, with_extra
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
    "guardrail_intervened": "refusal",
    "content_filtered": "refusal",
}
_FORMATS = {"quicktime": "mov", "x-matroska": "mkv", "3gpp": "three_gp"}
"""Names of video formats that differ from their media types."""


class Converse:
    """The Converse API: content in blocks without types, the system prompt separate from the conversation."""

    def __init__(self, effort: str, adaptive: bool = False) -> None:
        """Raises UsageError if the model does not support this effort."""
        self._think, self._budget = thinking_fields(effort, adaptive)

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call:
        messages = apply_image_policy(request.messages, config.setup.images)
        system = "\n".join(message.text() for message in messages if message.role == "system")
        body: Body = {"messages": [_message(message, media) for message in messages if message.role != "system"]}
        if system:
            body["system"] = [{"text": system}]
        if isinstance(request, Generate):
            body |= self._settings(request, config)
            if schema_to_send(request.settings, config) is not None:
                # The schema is text here, not an object.
                form = {"jsonSchema": {"name": SCHEMA_NAME, "schema": request.settings.response_schema}}
                body["outputConfig"] = {"textFormat": {"type": "json_schema", "structure": form}}
        return Call(f"model/{quote_url(config.model, safe='')}/converse", with_extra(body, config))

    def parse_reply(self, reply: Reply) -> RawReply:
        """Text and thoughts of a reply. Raises ModelError if it has no answer."""
        blocks = dict_or_empty(dict_or_empty(reply.get("output")).get("message")).get("content")
        if not isinstance(blocks, list):
            raise error_in_body(reply) or ModelError("the reply holds no content", "server")
        for block in blocks:
            if not isinstance(block, dict):
                raise unreadable_field("content", block)
        texts = [text_of(block.get("text"), "text") for block in blocks]
        reasoning = [
            dict_or_empty(dict_or_empty(block.get("reasoningContent")).get("reasoningText")) for block in blocks
        ]
        thoughts = [text_of(each.get("text"), "text") for each in reasoning]
        if not any(texts):
            require_finish(reply, reply.get("stopReason"))
        reason = quote(reply.get("stopReason"))
        if reason == "malformed_model_output":
            raise ModelError(f"the reply ended with {reason}", "server")
        stop = _STOPS.get(reason, "stop")
        return RawReply(
            "".join(texts), stop, "\n".join(filter(None, thoughts)) or None, usage=_usage(reply.get("usage"))
        )

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """Never called: `stream=yes` is refused, since these streams are no server-sent events."""
        raise ModelError("Converse's streams are not read", "request")

    def _settings(self, request: Generate, config: RemoteModelConfig) -> Body:
        """Decoding settings, and the reasoning of Claude's models, by fields of their own."""
        settings = request.settings
        inference: Body = {"maxTokens": settings.max_new_tokens + self._budget}
        if settings.stop:
            inference["stopSequences"] = list(settings.stop)
        if self._think:
            return {"inferenceConfig": inference, "additionalModelRequestFields": self._think}
        if config.setup.sampling and not has_fixed_sampling(config.profile, config.model):
            # Newer models of Anthropic's accept only one of the two.
            use_top_p = settings.temperature and settings.top_p != 1
            inference["topP" if use_top_p else "temperature"] = settings.top_p if use_top_p else settings.temperature
        return {"inferenceConfig": inference}


def _message(message: Message, media: MediaByDigest) -> Body:
    return {"role": message.role, "content": [_block(part, media) for part in merge_texts(message.parts)]}


def _block(part: Part, media: MediaByDigest) -> Body:
    if isinstance(part, Text):
        return {"text": part.text}
    encoded = media[part.digest]
    kind, _, format = encoded.mime.partition("/")
    return {kind: {"format": _FORMATS.get(format, format), "source": {"bytes": encoded.base64()}}}


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    cached = token_count(usage.get("cacheReadInputTokens"))
    prompt = token_count(usage.get("inputTokens")) + cached + token_count(usage.get("cacheWriteInputTokens"))
    return Usage(prompt, token_count(usage.get("outputTokens")), cached_tokens=cached)
