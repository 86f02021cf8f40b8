"""The bundled model behind the stand-in server: its true log-probabilities, in vLLM's forms."""

from __future__ import annotations

import base64
from typing import Any

from aiohttp import web

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.request import Generate, Media, Message, Part, Ref, Text
from snellen.models.hf.model import HuggingFace
from snellen.models.hf.prompt import encode, render, with_reply
from snellen.models.image_cache import ImageCache


class TrueLogprobs:
    """Answers `prompt_logprobs` chats and `echo` completions."""

    def __init__(self, model: HuggingFace) -> None:
        self._loaded = model.load()

    async def __call__(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        if request.path.endswith("/chat/completions"):
            return web.json_response(self._chat(asked))
        return web.json_response(self._echo(asked))

    def _chat(self, asked: dict[str, Any]) -> dict[str, Any]:
        media: dict[str, InlineSource] = {}
        messages = [message_of(one, media) for one in asked["messages"]]
        begun = asked["continue_final_message"]
        assert begun is not asked["add_generation_prompt"]
        reply = messages.pop().text() if begun else None
        request = Generate(messages=tuple(messages), ref=Ref("1"), media=media)
        prompt = render(request, self._loaded, ImageCache(), "native")
        text = prompt.text
        if reply is not None:
            text = with_reply(request, prompt, reply, self._loaded, "native")  # type: ignore[arg-type]
        ids, values = self._scored(text, prompt.images)
        entries: list[Any] = [None]
        entries += [
            {str(token): {"logprob": value, "rank": 1, "decoded_token": "x"}}
            for token, value in zip(ids[1:], values, strict=True)
        ]
        return {"choices": [{"message": {"content": "x"}}], "prompt_logprobs": entries}

    def _echo(self, asked: dict[str, Any]) -> dict[str, Any]:
        assert asked["echo"] is True
        ids, values = self._scored(asked["prompt"], ())
        words = [self._loaded.tokenizer.decode([token]) for token in ids]
        offsets = [len(self._loaded.tokenizer.decode(ids[:place])) for place in range(len(ids))]
        length = len(asked["prompt"])
        logprobs = {"tokens": [*words, "x"], "token_logprobs": [None, *values, -0.5], "text_offset": [*offsets, length]}
        return {"choices": [{"text": asked["prompt"] + "x", "logprobs": logprobs}]}

    def _scored(self, text: str, images: Any) -> tuple[list[int], list[float]]:
        """Tokens of a prompt, and the log-probability of each but the first."""
        import torch

        inputs = encode(self._loaded, [text], [images], "right")
        ids = inputs["input_ids"][0]
        with torch.inference_mode():
            logits = self._loaded.model(**inputs, use_cache=False).logits[0]
        found = logits[:-1].float().log_softmax(-1).gather(1, ids[1:, None])[:, 0]
        return ids.tolist(), found.tolist()


def message_of(sent: dict[str, Any], media: dict[str, InlineSource]) -> Message:
    if isinstance(sent["content"], str):
        return Message(sent["role"], (Text(sent["content"]),))
    return Message(sent["role"], tuple(part_of(part, media) for part in sent["content"]))


def part_of(part: dict[str, Any], media: dict[str, InlineSource]) -> Part:
    if part["type"] == "text":
        return Text(part["text"])
    data = base64.b64decode(part["image_url"]["url"].partition(",")[2])
    media[digest_bytes(data)] = InlineSource(data)
    return Media("image", digest_bytes(data))
