"""OpenAI's older text completions: for models without a chat template."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.request import Draw, Generate
from snellen.models.remote.chat import Chat, generation_fields, with_extra
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
            body |= generation_fields(request.settings, config)
            body.pop("top_logprobs", None)
            if body.pop("logprobs", False):
                body["logprobs"] = request.settings.logprobs
        if config.setup.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return Call(PATH, with_extra(body, config))

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
    chat_choice = {**choice, name: {"content": choice["text"]}}
    first = dict_or_empty(choice.get("logprobs")).get("top_logprobs")
    if isinstance(first, list) and first:
        top = [{"token": token, "logprob": value} for token, value in dict_or_empty(first[0]).items()]
        chat_choice["logprobs"] = {"content": [{"top_logprobs": top}]}
    return chat_choice
