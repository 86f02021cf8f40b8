"""Google's Gemini API: `POST models/<model>:generateContent`."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import ModelError
from snellen.core.message import Message, Part, Text
from snellen.core.output import Generated, StopReason, Usage
from snellen.core.request import Draw, Generate
from snellen.models.remote.chat import with_extra
from snellen.models.remote.dialect import (
    Asked,
    Body,
    Call,
    Pictures,
    Reply,
    Said,
    finished,
    listed,
    mapping,
    merged,
    number,
    require_end,
    text_of,
    unreadable,
    whole_number,
    with_policy,
)
from snellen.models.remote.errors import Unanswered, reported
from snellen.models.remote.json_reply import quoted

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

    def call(self, request: Generate | Draw, pictures: Pictures, asked: Asked) -> Call:
        messages = with_policy(request.messages, asked.setup.images)
        system = "\n".join(one.text() for one in messages if one.role == "system")
        body: Body = {
            "contents": [_turn(one, pictures) for one in messages if one.role != "system"]
        }
        if system:
            body["systemInstruction"] = {"parts": [{"text": system}]}
        if isinstance(request, Generate):
            body["generationConfig"] = _config(request, asked)
        else:
            body["generationConfig"] = {"responseModalities": ["TEXT", "IMAGE"]}
        how = "streamGenerateContent?alt=sse" if asked.setup.stream else "generateContent"
        return Call(f"models/{asked.model}:{how}", with_extra(body, asked))

    def said(self, reply: Reply) -> Said:
        blocked = mapping(reply.get("promptFeedback")).get("blockReason")
        if blocked:
            raise Unanswered(f"the prompt is blocked: {quoted(blocked)}")
        candidates = reply.get("candidates")
        if not isinstance(candidates, list) or not candidates:
            raise reported(reply) or ModelError("the reply holds no candidates", "server")
        candidate = mapping(candidates[0])
        parts = _parts(candidate)
        texts = [text_of(one.get("text"), "text") for one in parts if not one.get("thought")]
        thoughts = [text_of(one.get("text"), "text") for one in parts if one.get("thought")]
        stop = _STOPS.get(quoted(candidate.get("finishReason")), "stop")
        images = [_data_url(mapping(one["inlineData"])) for one in parts if "inlineData" in one]
        if not any(texts) and not images:
            require_end(reply, candidate.get("finishReason"))
        return Said("".join(texts), stop, "".join(thoughts) or None, tuple(images))

    def generated(self, reply: Reply, asked: Asked) -> Generated:
        said = finished(self.said(reply), asked)
        usage = _usage(reply.get("usageMetadata"))
        first = _first_logprobs(reply)
        return Generated(said.text.strip(), said.stop_reason, said.reasoning, first, usage)

    def whole(self, pieces: Sequence[Reply]) -> Reply:
        """Each event is a reply of its own, whose parts follow those of the one before; the last
        says why it ended."""
        parts: list[object] = []
        whole: Body = {}
        candidate: Body = {}
        for piece in pieces:
            if piece.get("error"):
                return piece
            whole |= piece
            for one in map(mapping, listed(piece.get("candidates"))):
                parts += _parts(one)
                candidate |= one
        blocked = mapping(whole.get("promptFeedback")).get("blockReason")
        if not (blocked or candidate.get("finishReason")):
            raise ModelError("the stream broke off before the reply's end", "connection")
        if candidate:
            whole["candidates"] = [{**candidate, "content": {"parts": parts}}]
        return whole


def _parts(candidate: Reply) -> list[Reply]:
    """Raises ModelError (`server`) for content of an unknown shape."""
    content = candidate.get("content")
    if not isinstance(content, dict | None):
        raise unreadable("content", content)
    parts = mapping(content).get("parts")
    if not isinstance(parts, list | None):
        raise unreadable("parts", parts)
    for one in listed(parts):
        if not isinstance(one, dict):
            raise unreadable("parts", one)
    return listed(parts)


def _config(request: Generate, asked: Asked) -> Body:
    settings, setup = request.settings, asked.setup
    config: Body = {"maxOutputTokens": settings.max_new_tokens}
    if setup.sampling:
        config["temperature"] = settings.temperature
        if settings.top_p != 1:
            config["topP"] = settings.top_p
    if settings.seed is not None:
        config["seed"] = settings.seed
    if settings.stop:
        config["stopSequences"] = list(settings.stop)
    if setup.logprobs and settings.logprobs:
        config |= {"responseLogprobs": True, "logprobs": settings.logprobs}
    if setup.effort:
        tokens = setup.effort.isdecimal()
        thinking: Body = {"includeThoughts": True}
        thinking["thinkingBudget" if tokens else "thinkingLevel"] = (
            int(setup.effort) if tokens else setup.effort
        )
        config["thinkingConfig"] = thinking
        if tokens:
            # Thoughts count towards the longest output: the budget comes on top of the reply.
            config["maxOutputTokens"] += int(setup.effort)
    return config


def _turn(message: Message, pictures: Pictures) -> Body:
    role = "model" if message.role == "assistant" else "user"
    return {"role": role, "parts": [_part(part, pictures) for part in merged(message.parts)]}


def _part(part: Part, pictures: Pictures) -> Body:
    if isinstance(part, Text):
        return {"text": part.text}
    shown = pictures[part.digest]
    return {"inlineData": {"mimeType": shown.mime, "data": shown.base64()}}


def _data_url(data: Reply) -> str:
    return f"data:{data.get('mimeType', '')};base64,{data.get('data', '')}"


def _first_logprobs(reply: Reply) -> dict[str, float]:
    result = mapping(mapping(reply["candidates"][0]).get("logprobsResult"))
    found: dict[str, float] = {}
    for first in listed(result.get("topCandidates"))[:1]:
        for one in map(mapping, listed(mapping(first).get("candidates"))):
            token, value = one.get("token"), number(one.get("logProbability"))
            if isinstance(token, str) and value is not None:
                found[token] = value
    return found


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    thought = whole_number(usage.get("thoughtsTokenCount"))
    return Usage(
        whole_number(usage.get("promptTokenCount")),
        whole_number(usage.get("candidatesTokenCount")) + thought,
        thought,
        whole_number(usage.get("cachedContentTokenCount")),
    )
