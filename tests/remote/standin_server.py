"""A server on loopback that speaks the dialects, answers as told, and can fail in every way."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from aiohttp import web

Handler = Callable[[web.Request, dict[str, Any]], Awaitable[web.StreamResponse]]


@dataclass
class StandIn:
    """What the server answers, and what it was asked."""

    models: list[str] = field(default_factory=lambda: ["tiny"])
    handler: Handler | None = None
    """Answers every POST; None answers with the letter A."""
    asked: list[dict[str, Any]] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    headers: list[dict[str, str]] = field(default_factory=list)
    files: dict[str, bytes] = field(default_factory=dict)
    """What GET gives, by name."""
    key: str | None = None
    """The key that is wanted."""
    got: list[dict[str, str]] = field(default_factory=list)
    """Headers of each GET."""
    listing: Callable[[web.Request], dict[str, Any] | web.Response] | None = None
    """Answers `GET models`; None answers with all of `models` at once."""
    url: str = ""

    def says(self, body: object, status: int = 200, **headers: str) -> None:
        """Answer every POST with this JSON, or these bytes."""

        async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
            sent = {name.replace("_", "-"): value for name, value in headers.items()}
            if isinstance(body, bytes):
                return web.Response(body=body, status=status, headers=sent)
            return web.json_response(body, status=status, headers=sent)

        self.handler = handler

    async def post(self, request: web.Request) -> web.StreamResponse:
        asked = await request.json()
        self.asked.append(asked)
        self.paths.append(request.path_qs)
        self.headers.append(dict(request.headers))
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            error = {"message": "Incorrect API key provided", "code": "invalid_api_key"}
            return web.json_response({"error": error}, status=401)
        if request.path.endswith("/completions") and asked.get("model") not in self.models:
            error = {"message": f"The model `{asked.get('model')}` does not exist."}
            return web.json_response({"error": error}, status=404)
        if self.handler is not None:
            return await self.handler(request, asked)
        return web.json_response(chat_reply("A"))

    async def file(self, request: web.Request) -> web.StreamResponse:
        self.got.append(dict(request.headers))
        data = self.files.get(request.match_info["name"])
        return web.Response(status=404) if data is None else web.Response(body=data)

    async def listed(self, request: web.Request) -> web.StreamResponse:
        self.got.append(dict(request.headers))
        if self.key and request.headers.get("Authorization") != f"Bearer {self.key}":
            return web.json_response({"error": {"message": "no key"}}, status=401)
        if self.listing is not None:
            listed = self.listing(request)
            return listed if isinstance(listed, web.Response) else web.json_response(listed)
        return web.json_response({"data": [{"id": name} for name in self.models]})


def chat_reply(content: object, finish_reason: str = "stop", **message: Any) -> dict[str, Any]:
    """A chat completion as OpenAI documents it."""
    return {
        "id": "chatcmpl-1",
        "object": "chat.completion",
        "choices": [
            {
                "index": 0,
                "message": {"role": "assistant", "content": content, **message},
                "finish_reason": finish_reason,
            }
        ],
        "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15},
    }


@contextmanager
def running() -> Iterator[StandIn]:
    """The server in a thread of its own, so that commands can be tried on it too."""
    stand_in = StandIn()
    loop = asyncio.new_event_loop()
    started = threading.Event()

    async def serve() -> web.AppRunner:
        app = web.Application(client_max_size=64 << 20)
        app.router.add_get("/v1/{deeper:(.*/)?}models", stand_in.listed)
        app.router.add_get("/v1/{name}", stand_in.file)
        app.router.add_post("/{path:(v1|files|model)/.*}", stand_in.post)
        runner = web.AppRunner(app, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        stand_in.url = f"http://127.0.0.1:{runner.addresses[0][1]}/v1"
        return runner

    async def end_tasks() -> None:
        # The socket of a connection accepted last is in a task that has not begun, which closes it.
        await asyncio.sleep(0)
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        await asyncio.sleep(0)

    def work() -> None:
        asyncio.set_event_loop(loop)
        runner = loop.run_until_complete(serve())
        started.set()
        loop.run_forever()
        loop.run_until_complete(runner.cleanup())
        loop.run_until_complete(end_tasks())
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()

    thread = threading.Thread(target=work, name="stand-in")
    thread.start()
    started.wait()
    try:
        yield stand_in
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
