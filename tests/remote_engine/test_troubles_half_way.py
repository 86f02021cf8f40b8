"""A key that expires, names that are resolved no more and streams that break, in the middle of a
run: nothing is scored that was not answered, and the same command goes on."""

from __future__ import annotations

import asyncio
import json
import socket
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import QUICK, asked_about, measured
from standin_server import StandIn, chat_reply

from snellen.engine.loop.request_broker import RequestLimits
from snellen.store.runs import RunFolder

COUNT, BEFORE = 60, 25


class Answering:
    """Answers with the option that is right, and counts what it answered."""

    def __init__(self) -> None:
        self.answered: Counter[int] = Counter()

    def reply(self, body: dict[str, Any]) -> dict[str, Any]:
        number = asked_about(body)
        self.answered[number] += 1
        return chat_reply("AB"[number % 2])


def check_end(folder: RunFolder, answering: Answering) -> None:
    assert folder.info.status == "complete"
    assert folder.report().summary.headline.value == 100.0
    assert answering.answered == Counter(range(COUNT))


@pytest.mark.attack(
    "a key that expires in the middle of a run",
    "the run ends with a sentence, and asks nothing twice with the next key",
)
@pytest.mark.parametrize("status", [401, 403, 400])
def test_a_key_that_expires_half_way(status: int, server: StandIn, tmp_path: Path) -> None:
    answering = Answering()

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if is_expired and answering.answered.total() >= BEFORE:
            error = {"message": "API key expired. Please renew the API key.", "code": status}
            return web.json_response({"error": error}, status=status)
        return web.json_response(answering.reply(body))

    is_expired, server.handler = True, handler
    folder = measured(server, tmp_path, COUNT)
    assert folder.info.status == "interrupted"
    assert "API key expired" in folder.info.stopped
    # Those in flight are refused too; no question is tried again with the key.
    assert len(server.asked) <= BEFORE + 40
    is_expired = False
    check_end(measured(server, tmp_path, COUNT), answering)


@pytest.mark.attack(
    "names are resolved no more in the middle of a run",
    "the run ends with a sentence that names the host, and goes on later",
)
def test_lost_name_resolution_interrupts_and_the_run_resumes(
    server: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    answering = Answering()
    resolve = socket.getaddrinfo

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        response = web.json_response(answering.reply(body))
        response.force_close()
        return response

    def fail(host: Any, *given: Any, **named: Any) -> Any:
        if is_lost and answering.answered.total() >= BEFORE:
            raise socket.gaierror(socket.EAI_AGAIN, "Temporary failure in name resolution")
        return resolve(host, *given, **named)

    is_lost, server.handler = True, handler
    monkeypatch.setattr(socket, "getaddrinfo", fail)
    # Names are kept for seconds, which are over at once.
    monkeypatch.setattr("aiohttp.connector._DNSCacheTable.expired", lambda *_: True)
    terms = RequestLimits(retries=QUICK)
    server.url = server.url.replace("127.0.0.1", "localhost")
    # Connections that open together share one look-up: those in flight may still be answered, and
    # a run ends after 20 failures in a row.
    options = ":concurrency=8"
    folder = measured(server, tmp_path, COUNT, terms, options=options)
    assert folder.info.status == "interrupted"
    assert "localhost" in folder.info.stopped
    assert BEFORE <= answering.answered.total() <= BEFORE + 8
    is_lost = False
    check_end(measured(server, tmp_path, COUNT, terms, options=options), answering)


STREAM_FAULTS = ("cut", "reset", "an error", "not JSON", "no end", "nothing")


@pytest.mark.attack(
    "streams that are cut, reset, garbled, hold an error or stop in the middle",
    "each is a failure that is tried again; no half of a reply is an answer",
)
def test_streams_that_break(server: StandIn, tmp_path: Path) -> None:
    answering, tried = Answering(), Counter[int]()

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        number = asked_about(body)
        tried[number] += 1
        fault = STREAM_FAULTS[number % 6] if tried[number] == 1 and number >= 12 else ""
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        if fault == "nothing":
            return response
        # Half of the reply is the other option: read as an answer, it would be wrong.
        await event(response, {"choices": [{"delta": {"content": "BA"[number % 2] + " is"}}]})
        if fault == "cut":
            return response
        if fault == "reset":
            assert request.transport is not None
            request.transport.abort()
            return response
        if fault == "an error":
            await event(response, {"error": {"message": "the model broke", "code": 500}})
            return response
        if fault == "not JSON":
            await response.write(b'data: {"choices": [\n\n')
            return response
        if fault == "no end":
            await asyncio.sleep(3)
            return response
        answering.reply(body)
        rest = f" wrong. The answer is {'AB'[number % 2]}."
        await event(response, {"choices": [{"delta": {"content": rest}}]})
        await event(response, {"choices": [{"delta": {}, "finish_reason": "stop"}]})
        await response.write(b"data: [DONE]\n\n")
        return response

    server.handler = handler
    folder = measured(server, tmp_path, COUNT, options=":stream=yes,timeout=1")
    check_end(folder, answering)
    assert tried == Counter({number: 1 + (number >= 12) for number in range(COUNT)})


async def event(response: web.StreamResponse, data: dict[str, Any]) -> None:
    await response.write(f"data: {json.dumps(data)}\n\n".encode())
