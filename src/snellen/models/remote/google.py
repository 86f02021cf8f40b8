"""Google's Gemini API: `POST models/<model>:generateContent`."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import ModelError
from snellen.core.output import FailureKind, StopReason, Usage
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
    list_or_empty,
    merge_texts,
    require_finish,
    schema_to_send,
    text_of,
    token_count,
    top_logprobs,
    unreadable_field,
)
from snellen.models.remote.errors import ReplyBlocked, error_in_body
from snellen.models.remote.json_reply import quote

_STOPS: dict[str, StopReason] = {
    "MAX_TOKENS": "length",
    "CONTINUATION": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
    "IMAGE_RECITATION": "refusal",
    "LANGUAGE": "refusal",
    "MODEL_ARMOR": "refusal",
    "ESCALATION": "refusal",
}
_ERROR_FINISHES: dict[str, FailureKind] = {"MALFORMED_RESPONSE": "server", "PUP_LIMITED_DISABLED": "authentication"}
"""Finish reasons that stand for an error of the server, or for a blocked account."""


class Google:
    """The Gemini API: contents of parts, a separate system instruction, the role `model`."""

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call:
        messages = apply_image_policy(request.messages, config.setup.images)
        system = "\n".join(message.text() for message in messages if message.role == "system")
        body: Body = {"contents": [_content(message, media) for message in messages if message.role != "system"]}
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if isinstance(request, Generate):
            body["generationConfig"] = _generation_config(request, config)
        else:
            body["generationConfig"] = {"responseModalities": ["TEXT", "IMAGE"]}
        method = "streamGenerateContent?alt=sse" if config.setup.stream else "generateContent"
        return Call(f"models/{config.model}:{method}", with_extra(body, config))

    def parse_reply(self, reply: Reply) -> RawReply:
        blocked = dict_or_empty(reply.get("promptFeedback")).get("blockReason")
        if blocked:
            raise ReplyBlocked(f"the prompt is blocked: {quote(blocked)}")
        candidates = reply.get("candidates")
        if not isinstance(candidates, list) or not candidates:
            raise error_in_body(reply) or ModelError("the reply holds no candidates", "server")
        candidate = dict_or_empty(candidates[0])
        parts = _parts(candidate)
        texts = [text_of(part.get("text"), "text") for part in parts if not part.get("thought")]
        thoughts = [text_of(part.get("text"), "text") for part in parts if part.get("thought")]
        finish = quote(candidate.get("finishReason"))
        if finish in _ERROR_FINISHES:
            raise ModelError(f"the reply ended with {finish}", _ERROR_FINISHES[finish])
        stop = _STOPS.get(finish, "stop")
        drawn = [dict_or_empty(part["inlineData"]) for part in parts if "inlineData" in part]
        images = [f"data:{data.get('mimeType', '')};base64,{data.get('data', '')}" for data in drawn]
        if not any(texts) and not images:
            require_finish(reply, candidate.get("finishReason"))
        steps = dict_or_empty(candidate.get("logprobsResult")).get("topCandidates")
        first, usage = top_logprobs(steps, "candidates", "logProbability"), _usage(reply.get("usageMetadata"))
        return RawReply("".join(texts), stop, "".join(thoughts) or None, tuple(images), first, usage)

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """Join the events of a stream: each is a reply with the next parts; the last one has the
        finish reason."""
        parts: list[object] = []
        reply: Body = {}
        candidate: Body = {}
        for event in chunks:
            if event.get("error"):
                return event
            reply |= event
            for next_candidate in map(dict_or_empty, list_or_empty(event.get("candidates"))):
                parts += _parts(next_candidate)
                candidate |= next_candidate
        blocked = dict_or_empty(reply.get("promptFeedback")).get("blockReason")
        if not (blocked or candidate.get("finishReason")):
            raise ModelError("the stream broke off before the reply's end", "connection")
        if candidate:
            reply["candidates"] = [{**candidate, "content": {"parts": parts}}]
        return reply


def _parts(candidate: Reply) -> list[Reply]:
    """The parts of a candidate. Raises ModelError (`server`) for content of unexpected type."""
    content = candidate.get("content")
    if not isinstance(content, dict | None):
        raise unreadable_field("content", content)
    parts = dict_or_empty(content).get("parts")
    if not isinstance(parts, list | None):
        raise unreadable_field("parts", parts)
    for part in list_or_empty(parts):
        if not isinstance(part, dict):
            raise unreadable_field("parts", part)
    return list_or_empty(parts)


def _generation_config(request: Generate, config: RemoteModelConfig) -> Body:
    """Decoding settings and reasoning in the API's format."""
    settings, setup = request.settings, config.setup
    body: Body = {"maxOutputTokens": settings.max_new_tokens}
    if setup.sampling:
        body["temperature"] = settings.temperature
        if settings.top_p != 1:
            body["topP"] = settings.top_p
        if settings.top_k:
            body["topK"] = settings.top_k
        if settings.presence_penalty:
            body["presencePenalty"] = settings.presence_penalty
    if settings.seed is not None:
        body["seed"] = settings.seed
    if settings.stop:
        body["stopSequences"] = list(settings.stop)
    schema = schema_to_send(settings, config)
    if schema is not None:
        body |= {"responseMimeType": "application/json", "responseJsonSchema": schema}
    if setup.logprobs and settings.logprobs:
        body |= {"responseLogprobs": True, "logprobs": settings.logprobs}
    if setup.effort:
        tokens = setup.effort.isdecimal()
        thinking: Body = {"includeThoughts": True}
        thinking["thinkingBudget" if tokens else "thinkingLevel"] = int(setup.effort) if tokens else setup.effort
        body["thinkingConfig"] = thinking
        if tokens:
            # Reasoning counts as output: the budget is added to that of the reply.
            body["maxOutputTokens"] += int(setup.effort)
    return body


def _content(message: Message, media: MediaByDigest) -> Body:
    role = "model" if message.role == "assistant" else "user"
    return {"role": role, "parts": [_part(part, media) for part in merge_texts(message.parts)]}


def _part(part: Part, media: MediaByDigest) -> Body:
    if isinstance(part, Text):
        return {"text": part.text}
    encoded = media[part.digest]
    return {"inlineData": {"mimeType": encoded.mime, "data": encoded.base64()}}


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    reasoning = token_count(usage.get("thoughtsTokenCount"))
    return Usage(
        token_count(usage.get("promptTokenCount")),
        token_count(usage.get("candidatesTokenCount")) + reasoning,
        reasoning,
        token_count(usage.get("cachedContentTokenCount")),
    )
