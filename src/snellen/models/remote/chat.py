"""OpenAI's chat completions, the dialect of most servers, and its older text completions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Any

import msgspec

from snellen.core.errors import ModelError
from snellen.core.output import StopReason, Usage
from snellen.core.request import GREEDY, Draw, Generate, Generation, Media, Message, Part, Text
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
from snellen.models.remote.errors import error_in_body
from snellen.models.remote.json_reply import quote
from snellen.models.remote.media import frames_url
from snellen.models.remote.options import set_field
from snellen.models.remote.profile import has_fixed_sampling

PATH = "chat/completions"
SCHEMA_NAME = "answer"
"""Name of the schema of a reply, which some servers require."""
_REASONING_FIELDS = ("reasoning_content", "reasoning", "thinking", "thoughts")
"""Fields of a message that hold reasoning: DeepSeek, vLLM and most others; OpenRouter, Groq,
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
_ERROR_FINISHES = frozenset({"error", "network_error", "abort", "insufficient_system_resource"})
"""Finish reasons that stand for an error of the server."""


class Chat:
    """`POST chat/completions`."""

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call:
        """The POST for a request."""
        body: Body = {"model": config.model, "messages": messages_of(request, media, config)}
        if isinstance(request, Generate):
            body |= generation_fields(request.settings, config)
        else:
            body["modalities"] = ["image", "text"]
        if config.setup.effort:
            _set_effort(body, config)
        return Call(PATH, with_extra(body | stream_fields(config), config))

    def parse_reply(self, reply: Reply) -> RawReply:
        """Text, reasoning and images of the first choice. Raises ModelError and ReplyBlocked."""
        choice = first_choice(reply)
        message = choice.get("message")
        if not isinstance(message, dict | None):
            raise unreadable_field("message", message)
        message = dict_or_empty(message)
        finish = choice.get("finish_reason") or "stop"
        finish = finish if finish == "stop" else quote(finish).lower()
        if finish in _ERROR_FINISHES:
            raise error_in_body({"error": choice.get("error") or finish}) or ModelError(finish, "server")
        content = message.get("content")
        text, thoughts, images = (content, None, []) if isinstance(content, str) else _content(content)
        for name in _REASONING_FIELDS:
            if message.get(name):
                thoughts = message[name]
                break
        images += _image_urls(message["images"]) if message.get("images") else []
        stop = _STOPS.get(finish, "stop")
        refusal = message.get("refusal")
        if isinstance(refusal, str) and refusal and not text:
            text, stop = refusal, "refusal"
        if not text and not images:
            end = choice.get("finish_reason") or message.get("content") is not None
            require_finish({**reply, "error": reply.get("error") or choice.get("error")}, end)
        reasoning = thoughts if isinstance(thoughts, str) else None
        logprobs = choice.get("logprobs")
        first = _first_logprobs(logprobs) if isinstance(logprobs, dict) else {}
        return RawReply(text, stop, reasoning, tuple(images), first, usage_of(reply.get("usage")))

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        return join_chunks(chunks)


def messages_of(request: Any, media: MediaByDigest, config: RemoteModelConfig) -> list[Body]:
    """The conversation in OpenAI's format; a message without media is a plain string."""
    messages = apply_image_policy(request.messages, config.setup.images)
    max_frames = config.setup.video_frames if config.setup.images == "video" else 0
    return [{"role": message.role, "content": _parts(message, media, max_frames)} for message in messages]


def stream_fields(config: RemoteModelConfig) -> Body:
    """Fields that ask for a stream which ends with the usage; none without the option `stream`."""
    if not config.setup.stream:
        return {}
    return {"stream": True} | ({"stream_options": {"include_usage": True}} if config.profile.stream_options else {})


def with_extra(body: Body, config: RemoteModelConfig) -> Body:
    """Add the fields of the options `body.<field>`, which take precedence."""
    return _deep_merge(body, config.setup.body) if config.setup.body else body


def _deep_merge(base: Body, override: Reply) -> Body:
    merged = dict(base)
    for name, value in override.items():
        both = isinstance(value, dict) and isinstance(merged.get(name), dict)
        merged[name] = _deep_merge(merged[name], value) if both else value
    return merged


def _parts(message: Message, media: MediaByDigest, max_frames: int) -> str | list[Body]:
    """The parts of a message; images that follow each other are one video of up to `max_frames`
    frames if this is not 0. Raises MediaError for more."""
    merged = merge_texts(message.parts)
    if not merged or (len(merged) == 1 and isinstance(merged[0], Text)):
        return message.text()
    if not max_frames:
        return [_part(part, media) for part in merged]
    parts: list[Body] = []
    for is_image, group in groupby(merged, _is_image):
        members = list(group)
        if is_image and len(members) > 1:
            frames = [media[part.digest] for part in members if isinstance(part, Media)]
            url = frames_url(frames, max_frames)
            parts.append({"type": "video_url", "video_url": {"url": url}})
        else:
            parts += [_part(part, media) for part in members]
    return parts


def _is_image(part: Part) -> bool:
    return isinstance(part, Media) and part.kind == "image"


def _part(part: Part, media: MediaByDigest) -> Body:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    url = {"url": media[part.digest].data_url()}
    name = "video_url" if part.kind == "video" else "image_url"
    return {"type": name, name: url}


def generation_fields(settings: Generation, config: RemoteModelConfig) -> Body:
    """Fields of the decoding settings that this provider and model accept."""
    profile, setup = config.profile, config.setup
    body: Body = {profile.token_limit: settings.max_new_tokens}
    if setup.sampling and not has_fixed_sampling(profile, config.model):
        if profile.temperature:
            body["temperature"] = settings.temperature
        if profile.top_p and settings.top_p != 1:
            body["top_p"] = settings.top_p
        if profile.top_k and settings.top_k:
            body["top_k"] = settings.top_k
        if profile.repetition_penalty and settings.repetition_penalty != GREEDY.repetition_penalty:
            body["repetition_penalty"] = settings.repetition_penalty
        if profile.presence_penalty and settings.presence_penalty != GREEDY.presence_penalty:
            body["presence_penalty"] = settings.presence_penalty
    if profile.seed and settings.seed is not None:
        body[profile.seed_field] = settings.seed
    if profile.stop and settings.stop:
        body["stop"] = list(settings.stop)
    schema = schema_to_send(settings, config) if settings.response_schema else None
    if schema is not None:
        # Not `strict`, which takes a part of JSON Schema alone and refuses the rest.
        full = {"type": "json_schema", "json_schema": {"name": SCHEMA_NAME, "schema": schema}}
        body["response_format"] = full if profile.response_schema == "json_schema" else {"type": "json_object"}
    if setup.logprobs and settings.logprobs:
        is_flag = profile.logprobs_in == "flag"
        body |= {"logprobs": True, "top_logprobs": settings.logprobs} if is_flag else {"logprobs": settings.logprobs}
    return body


def _set_effort(body: Body, config: RemoteModelConfig) -> None:
    effort, profile = config.setup.effort, config.profile
    if effort.isdecimal():
        set_field(body, profile.effort_tokens or profile.effort, int(effort))
    else:
        set_field(body, profile.effort, effort)
    body |= profile.effort_with


def first_choice(reply: Reply) -> Reply:
    choices = reply.get("choices")
    if isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return choices[0]
    problem = error_in_body(reply)
    if problem is not None:
        raise problem
    raise ModelError(f"the reply holds no choices: {quote(dict(reply), 120)}", "server")


def _first_logprobs(logprobs: Reply) -> dict[str, float]:
    """Likely first tokens, in the format of chat completions, or in that of text completions, which
    Together uses for both: a mapping from token to log-probability for each position."""
    steps = logprobs.get("top_logprobs")
    if not isinstance(steps, list) or not steps:
        return top_logprobs(logprobs.get("content"), "top_logprobs", "logprob")
    entries = [{"token": token, "logprob": value} for token, value in dict_or_empty(steps[0]).items()]
    return top_logprobs([{"entries": entries}], "entries", "logprob")


def _content(content: object) -> tuple[str, str | None, list[str]]:
    """Text, reasoning and images of a content that is a string, null or a list of parts.

    Raises ModelError (`server`) for anything else.
    """
    if not isinstance(content, list):
        return text_of(content, "content"), None, []
    texts, thoughts, images = [], [], []
    for part in content:
        if isinstance(part, str):
            texts.append(part)
        elif not isinstance(part, dict):
            raise unreadable_field("content", part)
        elif part.get("type") == "thinking":
            thoughts.append(_reasoning_text(part.get("thinking")))
        elif part.get("type") == "image_url":
            images += _image_urls([part])
        else:
            texts.append(text_of(part.get("text"), "content"))
    return "".join(texts), "".join(thoughts) or None, images


def _reasoning_text(thinking: object) -> str:
    """Mistral's reasoning: a string, or a list of text parts."""
    if isinstance(thinking, str):
        return thinking
    texts = [dict_or_empty(part).get("text") for part in list_or_empty(thinking)]
    return "".join(text for text in texts if isinstance(text, str))


def _image_urls(entries: object) -> list[str]:
    images = []
    for entry in map(dict_or_empty, list_or_empty(entries)):
        url = dict_or_empty(entry.get("image_url")).get("url") or entry.get("url")
        if isinstance(url, str):
            images.append(url)
    return images


def usage_of(usage: object) -> Usage | None:
    """Token counts. If `total_tokens` shows that a provider (xAI) leaves reasoning out of
    `completion_tokens`, it is added."""
    if not isinstance(usage, dict):
        return None
    prompt = token_count(usage.get("prompt_tokens"))
    completion = token_count(usage.get("completion_tokens"))
    details, prompt_details = usage.get("completion_tokens_details"), usage.get("prompt_tokens_details")
    reasoning = (isinstance(details, dict) and details.get("reasoning_tokens")) or usage.get("reasoning_tokens")
    reasoning = token_count(reasoning) if reasoning else 0
    cached = (
        (isinstance(prompt_details, dict) and prompt_details.get("cached_tokens"))
        or usage.get("prompt_cache_hit_tokens")
        or usage.get("cached_tokens")
    )
    if reasoning and token_count(usage.get("total_tokens")) == prompt + completion + reasoning:
        completion += reasoning
    return Usage(prompt, completion, reasoning, token_count(cached) if cached else 0)


def join_chunks(chunks: Iterable[Reply]) -> Reply:
    """Join the chunks of a stream into the reply that would have come at once."""
    message: Body = {"content": ""}
    choice: Body = {"message": message}
    reply: Body = {"choices": [choice]}
    logprobs: list[Any] = []
    for chunk in chunks:
        if chunk.get("error"):
            return chunk
        if chunk.get("usage"):
            reply["usage"] = chunk["usage"]
        for part in map(dict_or_empty, list_or_empty(chunk.get("choices"))):
            if part.get("index"):
                continue  # a further choice (`body.n`): as without a stream, the first one counts
            _append_delta(message, dict_or_empty(part.get("delta")))
            logprobs += list_or_empty(dict_or_empty(part.get("logprobs")).get("content"))
            choice["finish_reason"] = part.get("finish_reason") or choice.get("finish_reason")
    if logprobs:
        choice["logprobs"] = {"content": logprobs}
    if choice.get("finish_reason") is None:
        raise ModelError("the stream broke off before the reply's end", "connection")
    return reply


def _append_delta(message: Body, delta: Reply) -> None:
    """Append each field of a chunk to the message: strings to strings, lists to lists."""
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
            raise unreadable_field(name, value)


class Completions(Chat):
    """`POST completions`, for models without a chat template: the model continues the texts of the
    messages, one per line."""

    def build_call(self, request: Generate | Draw, media: MediaByDigest, config: RemoteModelConfig) -> Call:
        prompt = "\n".join(message.text() for message in request.messages)
        body: Body = {"model": config.model, "prompt": prompt}
        if isinstance(request, Generate):
            # This endpoint kept the name `max_tokens`, also where chat completions gave it up.
            profile = msgspec.structs.replace(config.profile, token_limit="max_tokens", logprobs_in="count")
            body |= generation_fields(request.settings, config._replace(profile=profile))
            body.pop("response_format", None)
            if "logprobs" in body:
                body["logprobs"] = min(body["logprobs"], profile.completion_logprobs)
        return Call("completions", with_extra(body | stream_fields(config), config))

    def parse_reply(self, reply: Reply) -> RawReply:
        return super().parse_reply(_as_chat(reply))

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        return super().join_stream([_as_chat(piece, "delta") for piece in chunks])


def _as_chat(reply: Reply, name: str = "message") -> Reply:
    """The reply in the form of a chat completion."""
    choices = reply.get("choices")
    if not isinstance(choices, list):
        return reply
    return {**reply, "choices": [_choice_as_chat(dict_or_empty(choice), name) for choice in choices]}


def _choice_as_chat(choice: Reply, name: str) -> Body:
    if name in choice or "text" not in choice:
        return dict(choice)
    return {**choice, name: {"content": choice["text"]}}
