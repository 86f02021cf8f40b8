"""Replies are read up to a limit, which counts what they hold unpacked."""

from __future__ import annotations

import gzip
import json
import os
import signal
import subprocess
import sys
import time
import tracemalloc
import zlib
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, drawing, question
from hypothesis import given, settings
from hypothesis import strategies as st
from standin_server import StandIn, chat_reply

from snellen.cli import main
from snellen.core.errors import ModelError
from snellen.core.output import Generated
from snellen.models.remote.body import MEGABYTE, Unpacker


def bare(data: bytes) -> bytes:
    state = zlib.compressobj(wbits=-15)
    return state.compress(data) + state.flush()


PACKERS = {"gzip": gzip.compress, "zlib": zlib.compress, "bare": bare}


@settings(deadline=None)
@given(st.binary(max_size=200), st.integers(1, 5000), st.sampled_from(sorted(PACKERS)), st.integers(1, 50))
def test_unpacks_compressed_replies(data: bytes, times: int, packer: str, step: int) -> None:
    packed = PACKERS[packer](data * times)
    unpacker = Unpacker()
    found = [piece for start in range(0, len(packed), step) for piece in unpacker.unpack(packed[start : start + step])]
    unpacker.finish()
    assert b"".join(found) == data * times
    assert max(map(len, found), default=0) <= MEGABYTE


def test_several_members_in_one_reply() -> None:
    unpacker = Unpacker()
    packed = gzip.compress(b"one ") + gzip.compress(b"two")
    assert b"".join(unpacker.unpack(packed)) == b"one two"
    unpacker.finish()


def fault(server: StandIn, options: str = "") -> ModelError:
    with pytest.raises(ModelError) as caught:
        ask(f"{server.url}#tiny:{options or 'max_reply_mb=1'}", question("?"))
    return caught.value


def reply(size: int) -> bytes:
    return json.dumps(chat_reply("A" * size)).encode()


@pytest.mark.parametrize("packing", ["identity", "gzip", "deflate"])
def test_a_reply_just_below_the_limit_and_one_above(packing: str, server: StandIn) -> None:
    pack = {"identity": bytes, "gzip": gzip.compress, "deflate": zlib.compress}[packing]
    longest = MEGABYTE - len(reply(0))
    server.says(pack(reply(longest)), Content_Encoding=packing)
    [output] = ask(f"{server.url}#tiny:max_reply_mb=1", question("?"))
    assert isinstance(output, Generated)
    assert len(output.text) == longest
    server.says(pack(reply(longest + 1)), Content_Encoding=packing)
    found = fault(server)
    assert found.kind == "server"
    assert str(found) == ("the reply is longer than 1 MB, the most that is read (option max_reply_mb)")


def test_the_limit_holds_for_streams_and_pictures(server: StandIn) -> None:
    piece = b'data: {"choices": [{"delta": {"content": "A"}}]}\n\n'
    server.says(piece * (MEGABYTE // len(piece) + 1))
    assert "longer than 1 MB" in str(fault(server, "max_reply_mb=1,stream=yes"))
    server.says({"data": [{"url": f"{server.url}/picture.png"}]})
    server.files["picture.png"] = bytes(MEGABYTE + 1)
    with pytest.raises(ModelError, match="longer than 1 MB"):
        ask(f"{server.url}#tiny:endpoint=images,max_reply_mb=1", drawing("a cat"))


@pytest.mark.parametrize(
    ("body", "packing", "kind"),
    [
        (gzip.compress(reply(9))[:-12], "gzip", "connection"),
        (b"no gzip at all", "gzip", "server"),
        (reply(9), "br", "server"),
    ],
)
@pytest.mark.attack("a reply that is packed wrongly", "a failure, asked again")
def test_packing_that_cannot_be_undone(body: bytes, packing: str, kind: str, server: StandIn) -> None:
    server.says(body, Content_Encoding=packing)
    assert fault(server).kind == kind


@pytest.mark.parametrize("packing", ["gzip", "br"])
def test_a_complaint_that_cannot_be_unpacked_keeps_its_kind(packing: str, server: StandIn) -> None:
    server.says(b"no gzip at all", 429, Content_Encoding=packing, Retry_After="3")
    found = fault(server)
    assert (found.kind, found.retry_after) == ("rate_limit", 3.0)


def bomb(megabytes: int) -> bytes:
    """A whole reply of so many MB of the letter A, a thousandth as long."""
    state = zlib.compressobj(9, wbits=31)
    start, end = json.dumps(chat_reply("|")).encode().split(b"|")
    middle = [state.compress(b"A" * MEGABYTE) for _ in range(megabytes)]
    return b"".join([state.compress(start), *middle, state.compress(end), state.flush()])


@pytest.mark.attack("a small packed reply that holds hundreds of megabytes", "memory stays below twice the limit")
def test_memory_stays_below_twice_the_limit(server: StandIn) -> None:
    body = bomb(100)
    server.says(body, Content_Encoding="gzip")
    tracemalloc.start()
    try:
        assert fault(server, "max_reply_mb=8").kind == "server"
        assert tracemalloc.get_traced_memory()[1] < 16 * MEGABYTE
    finally:
        tracemalloc.stop()


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    rows = [f"{i}\tWhat is {i}?\tone\ttwo\tA" for i in range(40)]
    path = tmp_path / "q.tsv"
    path.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    return path


@pytest.mark.parametrize("bad", ["error", "bomb"])
def test_questions_with_oversized_replies_fail_and_are_asked_again(
    bad: str, server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    dead = {**chat_reply(""), "error": {"message": "upstream died", "code": 502}}
    packed = bomb(3)
    asked: list[int] = []

    async def handler(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        _, _, number = body["messages"][-1]["content"].partition("What is ")
        asked.append(int(number.split("?")[0]) if number else -1)
        if asked[-1] % 4 or broken is False:
            return web.json_response(chat_reply("A"))
        if bad == "error":
            return web.json_response(dead)
        return web.Response(body=packed, headers={"Content-Encoding": "gzip"})

    server.handler, broken = handler, True
    words = ["run", "-m", f"{server.url}#tiny:max_reply_mb=1", "-b", "q.tsv", "--no-html"]
    words += ["--requests", "retries=0", "--requests", "max_failures=100%"]
    assert main(words) == 1
    [failures] = questions.parent.rglob("failures.jsonl")
    failed = [json.loads(line) for line in failures.read_text().splitlines()]
    assert {one["passes"][0]["output"]["kind"] for one in failed} == {"server"}
    assert len(failed) == 10
    asked.clear()
    broken = False
    assert main(words) == 0
    assert sorted(number for number in asked if number >= 0) == list(range(0, 40, 4))
    assert "100.0" in capsys.readouterr().out


@pytest.mark.attack("SIGTERM in a flood of large replies", "the run ends within two seconds")
def test_run_of_oversized_replies_can_be_stopped(server: StandIn, questions: Path) -> None:
    body = bomb(400)

    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        return web.Response(body=body, headers={"Content-Encoding": "gzip"})

    server.handler = handler
    words = ["run", "-m", f"{server.url}#tiny", "-b", "q.tsv", "-q", "--requests", "retries=99"]
    process = subprocess.Popen(
        [sys.executable, "-m", "snellen", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=dict(os.environ)
    )
    deadline = time.monotonic() + 30
    while len(server.asked) < 5 and time.monotonic() < deadline:
        time.sleep(0.05)
    process.send_signal(signal.SIGTERM)
    begun = time.monotonic()
    try:
        process.communicate(timeout=20)
    finally:
        process.kill()
    assert time.monotonic() - begun < 2
    assert process.returncode == 130
