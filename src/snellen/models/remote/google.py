"""Google's Gemini API: `POST models/<model>:generateContent`."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import ModelError
from snellen.core.message import Message, Part, Text
from snellen.core.output import Generated, StopReason, Usage
from snellen.core.request import Draw, Generate
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
    finite_number,
    list_or_empty,
    merge_texts,
    require_finish,
    separate_reasoning,
    text_of,
    token_count,
    unreadable_field,
)
from snellen.models.remote.errors import ReplyBlocked, error_in_body
from snellen.models.remote.json_reply import quote

_STOPS: dict[str, StopReason] = {
    "MAX_TOKENS": "length",
    "SAFETY": "refusal",
    "RECITATION": "refusal",
    "BLOCKLIST": "refusal",
    "PROHIBITED_CONTENT": "refusal",
    "SPII": "refusal",
    "IMAGE_SAFETY": "refusal",
    "IMAGE_PROHIBITED_CONTENT": "refusal",
}


class Google:
    """Contents of parts; the system's words stand apart, and the assistant is called model."""

    def build_call(
        self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig
    ) -> Call:
        messages = apply_image_policy(request.messages, config.setup.images)
        system = "\n".join(one.text() for one in messages if one.role == "system")
        body: Body = {
            "contents": [_content(one, media) for one in messages if one.role != "system"]
        }
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
        texts = [text_of(one.get("text"), "text") for one in parts if not one.get("thought")]
        thoughts = [text_of(one.get("text"), "text") for one in parts if one.get("thought")]
        stop = _STOPS.get(quote(candidate.get("finishReason")), "stop")
        images = [
            _data_url(dict_or_empty(one["inlineData"])) for one in parts if "inlineData" in one
        ]
        if not any(texts) and not images:
            require_finish(reply, candidate.get("finishReason"))
        return RawReply("".join(texts), stop, "".join(thoughts) or None, tuple(images))

    def to_generated(self, reply: Reply, config: RemoteModelConfig) -> Generated:
        parsed = separate_reasoning(self.parse_reply(reply), config)
        usage = _usage(reply.get("usageMetadata"))
        first = _first_logprobs(reply)
        return Generated(parsed.text.strip(), parsed.stop_reason, parsed.reasoning, first, usage)

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        """Each event is a reply of its own, whose parts follow those of the one before; the last
        says why it ended."""
        parts: list[object] = []
        reply: Body = {}
        candidate: Body = {}
        for piece in chunks:
            if piece.get("error"):
                return piece
            reply |= piece
            for one in map(dict_or_empty, list_or_empty(piece.get("candidates"))):
                parts += _parts(one)
                candidate |= one
        blocked = dict_or_empty(reply.get("promptFeedback")).get("blockReason")
        if not (blocked or candidate.get("finishReason")):
            raise ModelError("the stream broke off before the reply's end", "connection")
        if candidate:
            reply["candidates"] = [{**candidate, "content": {"parts": parts}}]
        return reply


def _parts(candidate: Reply) -> list[Reply]:
    """Raises ModelError (`server`) for content of an unknown shape."""
    content = candidate.get("content")
    if not isinstance(content, dict | None):
        raise unreadable_field("content", content)
    parts = dict_or_empty(content).get("parts")
    if not isinstance(parts, list | None):
        raise unreadable_field("parts", parts)
    for one in list_or_empty(parts):
        if not isinstance(one, dict):
            raise unreadable_field("parts", one)
    return list_or_empty(parts)


def _generation_config(request: Generate, config: RemoteModelConfig) -> Body:
    settings, setup = request.settings, config.setup
    body: Body = {"maxOutputTokens": settings.max_new_tokens}
    if setup.sampling:
        body["temperature"] = settings.temperature
        if settings.top_p != 1:
            body["topP"] = settings.top_p
    if settings.seed is not None:
        body["seed"] = settings.seed
    if settings.stop:
        body["stopSequences"] = list(settings.stop)
    if setup.logprobs and settings.logprobs:
        body |= {"responseLogprobs": True, "logprobs": settings.logprobs}
    if setup.effort:
        tokens = setup.effort.isdecimal()
        thinking: Body = {"includeThoughts": True}
        thinking["thinkingBudget" if tokens else "thinkingLevel"] = (
            int(setup.effort) if tokens else setup.effort
        )
        body["thinkingConfig"] = thinking
        if tokens:
            # Thoughts count towards the longest output: the budget comes on top of the reply.
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


def _data_url(data: Reply) -> str:
    return f"data:{data.get('mimeType', '')};base64,{data.get('data', '')}"


def _first_logprobs(reply: Reply) -> dict[str, float]:
    result = dict_or_empty(dict_or_empty(reply["candidates"][0]).get("logprobsResult"))
    logprobs: dict[str, float] = {}
    for first in list_or_empty(result.get("topCandidates"))[:1]:
        for one in map(dict_or_empty, list_or_empty(dict_or_empty(first).get("candidates"))):
            token, value = one.get("token"), finite_number(one.get("logProbability"))
            if isinstance(token, str) and value is not None:
                logprobs[token] = value
    return logprobs


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    thought = token_count(usage.get("thoughtsTokenCount"))
    return Usage(
        token_count(usage.get("promptTokenCount")),
        token_count(usage.get("candidatesTokenCount")) + thought,
        thought,
        token_count(usage.get("cachedContentTokenCount")),
    )
