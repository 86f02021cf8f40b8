"""The bundled model behind the stand-in server: a real model to be asked over HTTP."""

from __future__ import annotations

import asyncio
from typing import Any

from aiohttp import web
from standin_server import chat_reply
from true_logprobs import message_of

from snellen.core.media import InlineSource
from snellen.core.output import Generated
from snellen.core.request import Generate, Generation, Ref
from snellen.models.hf.model import HuggingFace


class Answers:
    """Answers chats, one at a time, and tells the tokens that each took."""

    def __init__(self, model: HuggingFace) -> None:
        self._model = model
        self._turn = asyncio.Lock()

    async def __call__(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        media: dict[str, InlineSource] = {}
        question = Generate(
            messages=tuple(message_of(one, media) for one in asked["messages"]),
            ref=Ref("1"),
            settings=Generation(max_new_tokens=asked["max_tokens"]),
            media=media,
        )
        async with self._turn:
            [reply] = await asyncio.to_thread(self._model.answer_batch, [question])
        assert isinstance(reply, Generated)
        assert reply.usage is not None
        ended = "length" if reply.stop_reason == "length" else "stop"
        usage = {"prompt_tokens": reply.usage.prompt_tokens, "completion_tokens": reply.usage.completion_tokens}
        return web.json_response({**chat_reply(reply.text, ended), "usage": usage})
