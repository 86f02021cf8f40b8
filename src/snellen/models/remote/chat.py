"""OpenAI's chat completions, as many servers speak them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from snellen.core.errors import ModelError
from snellen.core.message import Message, Part, Text
from snellen.core.output import Generated, StopReason, Usage
from snellen.core.request import Draw, Generate, Generation
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
from snellen.models.remote.errors import reported
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.options import put
from snellen.models.remote.profile import fixed_sampling

PATH = "chat/completions"
_THOUGHTS = ("reasoning_content", "reasoning", "thinking", "thoughts")
"""Fields of a message that hold thoughts: DeepSeek, vLLM and most others; OpenRouter, Groq,
Together and Ollama; others."""
_STOPS: dict[str, StopReason] = {
    "length": "length",
    "max_tokens": "length",
    "model_length": "length",
    "content_filter": "refusal",
    "sensitive": "refusal",
    "safety": "refusal",
    "refusal": "refusal",
}
_BROKEN = frozenset({"error", "network_error", "abort", "insufficient_system_resource"})
"""Ends that are the server's own fault."""


class Chat:
    """`POST chat/completions`."""

    def call(self, request: Generate | Draw, pictures: Pictures, asked: Asked) -> Call:
        body: Body = {"model": asked.model, "messages": messages_of(request, pictures, asked)}
        if isinstance(request, Generate):
            body |= generation_of(request.settings, asked)
        else:
            body["modalities"] = ["image", "text"]
        if asked.setup.effort:
            _think(body, asked)
        if asked.setup.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return Call(PATH, with_extra(body, asked))

    def said(self, reply: Reply) -> Said:
        choice = _choice(reply)
        message = choice.get("message")
        if not isinstance(message, dict | None):
            raise unreadable("message", message)
        message = mapping(message)
        ended = quoted(choice.get("finish_reason") or "stop").lower()
        if ended in _BROKEN:
            raise reported({"error": choice.get("error") or ended}) or ModelError(ended, "server")
        text, thoughts, images = _content(message.get("content"))
        thoughts = next(filter(None, (message.get(name) for name in _THOUGHTS)), thoughts)
        images += _images(message.get("images"))
        stop = _STOPS.get(ended, "stop")
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal and not text:
            text, stop = refusal, "refusal"
        if not text and not images:
            end = choice.get("finish_reason") or message.get("content") is not None
            require_end({**reply, "error": reply.get("error") or choice.get("error")}, end)
        return Said(text, stop, thoughts if isinstance(thoughts, str) else None, tuple(images))

    def generated(self, reply: Reply, asked: Asked) -> Generated:
        said = finished(self.said(reply), asked)
        return Generated(
            said.text.strip(),
            said.stop_reason,
            said.reasoning or None,
            _first_logprobs(_choice(reply)),
            usage_of(reply.get("usage")),
        )

    def whole(self, pieces: Sequence[Reply]) -> Reply:
        return joined(pieces)


def messages_of(request: Any, pictures: Pictures, asked: Asked) -> list[Body]:
    """The conversation in OpenAI's form; a message of text alone is a plain string."""
    messages = with_policy(request.messages, asked.setup.images)
    return [{"role": one.role, "content": _parts(one, pictures)} for one in messages]


def with_extra(body: Body, asked: Asked) -> Body:
    """The body with the fields of the options `body.<field>`, which win."""
    return _laid_over(body, asked.setup.body)


def _laid_over(below: Body, above: Reply) -> Body:
    merged_ = dict(below)
    for name, value in above.items():
        both = isinstance(value, dict) and isinstance(merged_.get(name), dict)
        merged_[name] = _laid_over(merged_[name], value) if both else value
    return merged_


def _parts(message: Message, pictures: Pictures) -> str | list[Body]:
    if not message.media():
        return message.text()
    return [_part(part, pictures) for part in merged(message.parts)]


def _part(part: Part, pictures: Pictures) -> Body:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = {"url": pictures[part.digest].data_url()}
    name = "video_url" if part.kind == "video" else "image_url"
    return {"type": name, name: url}


def generation_of(settings: Generation, asked: Asked) -> Body:
    profile, setup = asked.profile, asked.setup
    body: Body = {profile.token_limit: settings.max_new_tokens}
    if setup.sampling and not fixed_sampling(profile, asked.model):
        if profile.temperature:
            body["temperature"] = settings.temperature
        if profile.top_p and settings.top_p != 1:
            body["top_p"] = settings.top_p
    if profile.seed and settings.seed is not None:
        body["seed"] = settings.seed
    if profile.stop and settings.stop:
        body["stop"] = list(settings.stop)
    if setup.logprobs and settings.logprobs:
        body |= {"logprobs": True, "top_logprobs": settings.logprobs}
    return body


def _think(body: Body, asked: Asked) -> None:
    effort = asked.setup.effort
    put(body, asked.profile.effort, int(effort) if effort.isdecimal() else effort)
    body |= asked.profile.effort_with


def _choice(reply: Reply) -> Reply:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    problem = reported(reply)
    if problem is not None:
        raise problem
    raise ModelError(f"the reply holds no choices: {quoted(dict(reply), 120)}", "server")


def _content(content: object) -> tuple[str, str | None, list[str]]:
    """Text, thoughts and pictures of a message whose content is a string, null or a list of parts.
    Raises ModelError (`server`) for anything else."""
    if not isinstance(content, list):
        return text_of(content, "content"), None, []
    texts, thoughts, images = [], [], []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, dict):
            raise unreadable("content", part)
        elif part.get("type") == "thinking":
            thoughts.append(_thoughts(part.get("thinking")))
        elif part.get("type") == "image_url":
            images += _images([part])
        else:
            texts.append(text_of(part.get("text"), "content"))
    return "".join(texts), "".join(thoughts) or None, images


def _thoughts(thinking: object) -> str:
    """Mistral's thoughts: text, or a list of parts of text."""
    if isinstance(thinking, str):
        return thinking
    texts = [mapping(part).get("text") for part in listed(thinking)]
    return "".join(text for text in texts if isinstance(text, str))


def _images(found: object) -> list[str]:
    images = []
    for one in listed(found):
        url = mapping(mapping(one).get("image_url")).get("url") or mapping(one).get("url")
        if isinstance(url, str):
            images.append(url)
    return images


def _first_logprobs(choice: Reply) -> dict[str, float]:
    found: dict[str, float] = {}
    for first in listed(mapping(choice.get("logprobs")).get("content"))[:1]:
        for one in listed(mapping(first).get("top_logprobs")):
            token, value = mapping(one).get("token"), number(mapping(one).get("logprob"))
            if isinstance(token, str) and value is not None:
                found.setdefault(token, value)
    return found


def usage_of(usage: object) -> Usage | None:
    """Token counts. Of the providers that keep thoughts out of `completion_tokens` (xAI), the
    total gives them away: all that was written is counted."""
    if not isinstance(usage, dict):
        return None
    prompt = whole_number(usage.get("prompt_tokens"))
    written = whole_number(usage.get("completion_tokens"))
    details = mapping(usage.get("completion_tokens_details"))
    thought = whole_number(details.get("reasoning_tokens") or usage.get("reasoning_tokens"))
    cached = (
        mapping(usage.get("prompt_tokens_details")).get("cached_tokens")
        or usage.get("prompt_cache_hit_tokens")
        or usage.get("cached_tokens")
    )
    if thought and whole_number(usage.get("total_tokens")) == prompt + written + thought:
        written += thought
    return Usage(prompt, written, thought, whole_number(cached))


def joined(pieces: Iterable[Reply]) -> Reply:
    """The chunks of a stream as one reply."""
    message: Body = {"content": ""}
    choice: Body = {"message": message}
    reply: Body = {"choices": [choice]}
    logprobs: list[Any] = []
    for piece in pieces:
        if piece.get("error"):
            return piece
        if piece.get("usage"):
            reply["usage"] = piece["usage"]
        for part in map(mapping, listed(piece.get("choices"))):
            _join(message, mapping(part.get("delta")))
            logprobs += listed(mapping(part.get("logprobs")).get("content"))
            choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    if choice.get("finish_reason") is None:
        raise ModelError("the stream broke off before the reply's end", "connection")
    return reply


def _join(message: Body, delta: Reply) -> None:
    for name, value in delta.items():
        if name == "role" or value is None:
            continue
        before = message.get(name)
        if isinstance(value, list) and isinstance(before, str):
            before = [{"type": "text", "text": before}] if before else []
        elif isinstance(value, str) and isinstance(before, list):
            value = [{"type": "text", "text": value}]
        if before is None:
            message[name] = value
        elif isinstance(before, str) and isinstance(value, str):
            message[name] = before + value
        elif isinstance(before, list) and isinstance(value, list):
            message[name] = [*before, *value]
        elif name == "content":
            raise unreadable(name, value)
