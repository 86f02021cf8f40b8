"""A server on loopback that translates by a phrase book, with slips and faults as a test asks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web
from standin_server import StandIn, chat_reply, running

Texts = dict[str, str]
Reply = Texts | str
"""What the model replies: a JSON object, or any text."""


@dataclass
class ScriptedTranslator:
    """Translates each text by `translate`; `slips` replace the replies about a question."""

    server: StandIn
    translate: Callable[[str], str]
    slips: dict[str, list[Reply]] = field(default_factory=dict)
    """Question to the replies to its first, second, ... request; then it is translated well."""
    by_request: bool = False
    """Whether the slips of a question follow in the order of all requests about it, not of the
    turns of one conversation."""
    down_after: int = 0
    """Requests that are answered before the server fails; 0: it never does."""
    asked: list[list[dict[str, str]]] = field(default_factory=list)
    """The conversations."""

    @property
    def model(self) -> str:
        return f"{self.server.url}#strong"

    async def answer(self, request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        messages = [{"role": message["role"], "content": _text(message["content"])} for message in asked["messages"]]
        lines = [line for line in messages[0]["content"].splitlines() if line.startswith("{")]
        if not lines:  # a trial before the step: whether the server replies at all
            return web.json_response(chat_reply("ok"))
        if self.down_after and len(self.asked) >= self.down_after:
            return web.json_response({"error": {"message": "overloaded"}}, status=400)
        self.asked.append(messages)
        texts = json.loads(lines[-1])
        question = texts.get("Q", "")
        turn = sum(message["role"] == "assistant" for message in messages)
        if self.by_request:
            turn = sum(f'"{question}"' in each[0]["content"] for each in self.asked[:-1])
        replies = self.slips.get(question, [])
        reply: Reply
        reply = replies[turn] if turn < len(replies) else {key: self.translate(text) for key, text in texts.items()}
        text = reply if isinstance(reply, str) else json.dumps(reply, ensure_ascii=False)
        return web.json_response(chat_reply(text))


def _text(content: str | list[dict[str, str]]) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@contextmanager
def translating(translate: Callable[[str], str]) -> Iterator[ScriptedTranslator]:
    """The server, translating by this function."""
    with running() as server:
        server.models = ["strong", "other"]
        scripted = ScriptedTranslator(server, translate)
        server.handler = scripted.answer
        yield scripted
