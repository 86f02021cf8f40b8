"""OpenAI's older text completions: for models without a chat template."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from snellen.core.request import Draw, Generate
from snellen.models.remote.chat import Chat, generation_fields, stream_fields, with_extra
from snellen.models.remote.dialect import Body, Call, MediaByDigest, RawReply, RemoteModelConfig, Reply, dict_or_empty

PATH = "completions"


class Completions:
    """`POST completions`: the model continues the texts of the messages, one per line."""

    def __init__(self) -> None:
        self._chat = Chat()

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
        return Call(PATH, with_extra(body | stream_fields(config), config))

    def parse_reply(self, reply: Reply) -> RawReply:
        return self._chat.parse_reply(_as_chat(reply))

    def join_stream(self, chunks: Sequence[Reply]) -> Reply:
        return self._chat.join_stream([_as_chat(piece, "delta") for piece in chunks])


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
