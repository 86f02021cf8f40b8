"""Runs against a stand-in server, with waits that suit a test."""

from __future__ import annotations

import asyncio
import random
from collections import Counter
from pathlib import Path
from typing import Any

from aiohttp import web
from standin_server import StandIn, chat_reply

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.core.benchmark import Variant
from snellen.core.output import Price
from snellen.engine.limits.retrying import RetryPolicy
from snellen.engine.loop.plan import RunPlan
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.engine.loop.request_broker import RequestLimits
from snellen.engine.loop.run import run
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

QUICK = RetryPolicy(base=0.01, cap=0.05)


def questions(folder: Path, count: int) -> Path:
    path = folder / "questions.tsv"
    rows = [f"{i}\tWhat is {i}?\tone\ttwo\t{'AB'[i % 2]}" for i in range(count)]
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    return path


def asked_about(body: dict[str, Any]) -> int:
    """The number in the question of a request."""
    content = body["messages"][-1]["content"]
    text = content if isinstance(content, str) else content[-1]["text"]
    return int(text.split("What is ")[1].split("?")[0])


def measured(
    server: StandIn,
    folder: Path,
    count: int,
    terms: RequestLimits = RequestLimits(retries=QUICK),  # noqa: B008 - frozen
    prices: dict[str, Price] | None = None,
    options: str = "",
    progress: Progress = NoProgress(),  # noqa: B008 - shows nothing
) -> RunFolder:
    """A run of so many questions, in the folder that the same call finds again."""
    folder.mkdir(exist_ok=True)
    benchmark = resolve_benchmark(str(questions(folder, count)), Variant(), {})
    name = f"{server.url}#tiny"
    plan = RunPlan(
        model=open_model(name + options),
        model_name=name,
        benchmark=benchmark,
        out=folder / "out",
        limits=terms,
        prices=prices or {},
        progress=progress,
        command="snellen run ...",
    )
    with ResponseStore(folder / "store.sqlite") as store:
        return run(plan, store)


class Scripted:
    """Answers each question rightly in the end, after the trouble that its number brings."""

    def __init__(self, trouble: bool = True, pause: float = 0.002) -> None:
        self.trouble = trouble
        self.pause = pause
        self.sent: Counter[int] = Counter()
        self.answered: Counter[int] = Counter()
        self.open = 0
        self.most_open = 0

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            return await self.replied(request, asked_about(body))
        finally:
            self.open -= 1

    async def replied(self, request: web.Request, number: int) -> web.StreamResponse:
        self.sent[number] += 1
        lot = random.Random(f"{number} {self.sent[number]}").randrange(20)
        if self.trouble:
            if lot < 4:
                return web.json_response({"error": {"message": "broken"}}, status=500)
            if lot < 6:
                headers = {"Retry-After": "0.05"} if lot == 4 else {}
                error = {"error": {"message": "slow down"}}
                return web.json_response(error, status=429, headers=headers)
            if lot == 6:
                assert request.transport is not None
                request.transport.abort()
                return web.Response()
            if lot == 7:
                return await self.dripped(request, number)
            if lot == 8 and number % 5 == 0:
                return web.json_response({"error": {"message": "no such setting"}}, status=400)
        await asyncio.sleep(self.pause)
        self.answered[number] += 1
        return web.json_response(chat_reply("AB"[number % 2]))

    async def dripped(self, request: web.Request, number: int) -> web.StreamResponse:
        """The reply in small pieces; every other one breaks off in the middle."""
        body = web.json_response(chat_reply("AB"[number % 2])).body
        assert isinstance(body, bytes)
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        response.content_length = len(body)
        await response.prepare(request)
        for start in range(0, len(body), 40):
            if number % 2 and start > len(body) // 2:
                assert request.transport is not None
                request.transport.abort()
                return response
            await response.write(body[start : start + 40])
            await asyncio.sleep(0.002)
        self.answered[number] += 1
        return response
