"""Anthropic's Messages API (`POST messages`), version 2023-06-01."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.errors import ModelError, UsageError
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
    mapping,
    merged,
    require_end,
    text_of,
    unreadable,
    whole_number,
    with_policy,
)
from snellen.models.remote.errors import reported
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.profile import fixed_sampling

_STOPS: dict[str, StopReason] = {
    "max_tokens": "length",
    "model_context_window_exceeded": "length",
    "refusal": "refusal",
}
BUDGETS = {"low": 1024, "medium": 4096, "high": 16384}
"""Tokens to think for the words of the option `reasoning_effort`."""
EFFORTS = ("low", "medium", "high", "xhigh", "max")
"""The words for models that decide themselves how long to think."""


class Anthropic:
    """Blocks of text and thoughts; what the system says stands apart from the conversation."""

    def __init__(self, effort: str, adaptive: bool = False) -> None:
        """Raises UsageError where the effort is no word that the model knows, and no number of
        tokens for a model that takes one."""
        self._think: Body = {}
        self._budget = 0
        if effort and adaptive:
            self._think = _adaptive(effort)
        elif effort:
            self._budget = budget_of(effort)
            self._think = {"thinking": {"type": "enabled", "budget_tokens": self._budget}}

    def call(self, request: Generate | Draw, pictures: Pictures, asked: Asked) -> Call:
        messages = with_policy(request.messages, asked.setup.images)
        system = "\n".join(one.text() for one in messages if one.role == "system")
        body: Body = {
            "model": asked.model,
            "max_tokens": 4096,
            "messages": [_turn(one, pictures) for one in messages if one.role != "system"],
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
            elif asked.setup.sampling and not fixed_sampling(asked.profile, asked.model):
                # Newer models take one of the two alone.
                narrow = settings.temperature and settings.top_p != 1
                name = "top_p" if narrow else "temperature"
                body[name] = settings.top_p if narrow else settings.temperature
        if asked.setup.stream:
            body["stream"] = True
        return Call("messages", with_extra(body, asked))

    def said(self, reply: Reply) -> Said:
        blocks = reply.get("content")
        if not isinstance(blocks, list):
            raise reported(reply) or ModelError("the reply holds no content", "server")
        for one in blocks:
            if not isinstance(one, dict):
                raise unreadable("content", one)
        texts = [text_of(one.get("text"), "text") for one in blocks if one.get("type") == "text"]
        thoughts = [
            text_of(one.get("thinking"), "thinking")
            for one in blocks
            if one.get("type") == "thinking"
        ]
        if not any(texts):
            require_end(reply, reply.get("stop_reason"))
        stop = _STOPS.get(quoted(reply.get("stop_reason")), "stop")
        return Said("".join(texts), stop, "\n".join(thoughts) or None)

    def generated(self, reply: Reply, asked: Asked) -> Generated:
        said = finished(self.said(reply), asked)
        return Generated(
            said.text.strip(), said.stop_reason, said.reasoning, usage=_usage(reply.get("usage"))
        )

    def whole(self, pieces: Sequence[Reply]) -> Reply:
        """Events in the order of the API: message_start, content_block_*, message_delta."""
        message: Body = {"content": [], "usage": {}}
        ended = False
        for piece in pieces:
            kind, delta = piece.get("type"), mapping(piece.get("delta"))
            if kind == "error":
                return piece
            if kind == "message_start":
                message["usage"] |= mapping(mapping(piece.get("message")).get("usage"))
            elif kind == "content_block_start":
                message["content"].append(dict(mapping(piece.get("content_block"))))
            elif kind == "content_block_delta" and message["content"]:
                block = message["content"][-1]
                for name in ("text", "thinking"):
                    if name in delta:
                        block[name] = text_of(block.get(name), name) + text_of(delta[name], name)
            elif kind == "message_delta":
                message["stop_reason"] = delta.get("stop_reason")
                message["usage"] |= mapping(piece.get("usage"))
                ended = True
        if not ended:
            raise ModelError("the stream broke off before the reply's end", "connection")
        return message


def budget_of(effort: str) -> int:
    """Tokens to think. Raises UsageError."""
    if effort.isdecimal():
        return int(effort)
    if effort not in BUDGETS:
        raise UsageError(
            f"option reasoning_effort={effort!r}: expected {', '.join(BUDGETS)} or a number of "
            "tokens"
        )
    return BUDGETS[effort]


def _adaptive(effort: str) -> Body:
    """Thoughts come as a summary: such models send none unless asked."""
    if effort not in EFFORTS:
        raise UsageError(
            f"option reasoning_effort={effort!r}: this model takes {', '.join(EFFORTS)}, and no "
            "number of tokens"
        )
    thinking = {"type": "adaptive", "display": "summarized"}
    return {"thinking": thinking, "output_config": {"effort": effort}}


def _turn(message: Message, pictures: Pictures) -> Body:
    parts = merged(message.parts)
    return {"role": message.role, "content": [_block(part, pictures) for part in parts]}


def _block(part: Part, pictures: Pictures) -> Body:
    if isinstance(part, Text):
        return {"type": "text", "text": part.text}
    shown = pictures[part.digest]
    source = {"type": "base64", "media_type": shown.mime, "data": shown.base64()}
    return {"type": "image", "source": source}


def _usage(usage: object) -> Usage | None:
    if not isinstance(usage, dict):
        return None
    cached = whole_number(usage.get("cache_read_input_tokens"))
    written = whole_number(usage.get("cache_creation_input_tokens"))
    prompt = whole_number(usage.get("input_tokens")) + cached + written
    return Usage(prompt, whole_number(usage.get("output_tokens")), cached_tokens=cached)
