"""OpenAI's older text completions: for models without a chat template."""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core.output import Generated
from snellen.core.request import Draw, Generate
from snellen.models.remote.chat import Chat, generation_of, with_extra
from snellen.models.remote.dialect import Asked, Body, Call, Pictures, Reply, Said, mapping

PATH = "completions"


class Completions:
    """`POST completions`: the messages' texts, a line each, and what the model writes behind."""

    def __init__(self) -> None:
        self._chat = Chat()

    def call(self, request: Generate | Draw, pictures: Pictures, asked: Asked) -> Call:
        prompt = "\n".join(message.text() for message in request.messages)
        body: Body = {"model": asked.model, "prompt": prompt}
        if isinstance(request, Generate):
            body |= generation_of(request.settings, asked)
            body.pop("top_logprobs", None)
            if body.pop("logprobs", False):
                body["logprobs"] = request.settings.logprobs
        if asked.setup.stream:
            body |= {"stream": True, "stream_options": {"include_usage": True}}
        return Call(PATH, with_extra(body, asked))

    def said(self, reply: Reply) -> Said:
        return self._chat.said(_as_chat(reply))

    def generated(self, reply: Reply, asked: Asked) -> Generated:
        return self._chat.generated(_as_chat(reply), asked)

    def whole(self, pieces: Sequence[Reply]) -> Reply:
        return self._chat.whole([_as_chat(piece, "delta") for piece in pieces])


def _as_chat(reply: Reply, name: str = "message") -> Reply:
    """The reply in the form of a chat completion."""
    choices = reply.get("choices")
    if not isinstance(choices, list):
        return reply
    return {**reply, "choices": [_turned(mapping(choice), name) for choice in choices]}


def _turned(choice: Reply, name: str) -> Body:
    if name in choice or "text" not in choice:
        return dict(choice)
    turned = {**choice, name: {"content": choice["text"]}}
    first = mapping(choice.get("logprobs")).get("top_logprobs")
    if isinstance(first, list) and first:
        top = [{"token": token, "logprob": value} for token, value in mapping(first[0]).items()]
        turned["logprobs"] = {"content": [{"top_logprobs": top}]}
    return turned
