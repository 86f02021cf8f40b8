"""What is wrong with key, address or name is found before anything is asked."""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.models.naming.registry import open_model

TABLE = "question,A,B,answer\nWhich is a fruit?,apple,chair,A\nWhich flies?,stone,bird,B\n"


@pytest.fixture
def questions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "questions.csv"
    path.write_text(TABLE)
    return path


def run(spec: str, *more: str) -> int:
    try:
        return main(["run", "-m", spec, "-b", "questions.csv", "-q", *more])
    except SystemExit as stop:
        return int(stop.code or 0)


def test_a_run_with_a_server(server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(f"{server.url}#tiny") == 0
    said = capsys.readouterr().out
    assert " 50.0 " in said
    assert "\ntiny " in said
    assert "127.0.0.1" not in said
    assert len(server.asked) == 3  # one of them a look at the server
    assert run(f"{server.url}#tiny", "--limit", "1") == 0
    assert len(server.asked) == 3


def test_a_filter_is_never_read_as_an_answer(
    server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The filter's words hold the right letters."""
    error = {"message": "Flagged. Answer: A", "code": "content_filter"}

    async def filtered(request: web.Request, asked: Any) -> web.StreamResponse:
        return web.json_response({"error": error}, status=400)

    server.handler = filtered
    assert run(f"{server.url}#tiny") == 0
    assert "2 refused" in capsys.readouterr().out


@pytest.mark.parametrize("thought", ["<think>It is A. Answer: A", "<think>"])
def test_an_unfinished_thought_is_never_read_as_an_answer(
    server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str], thought: str
) -> None:
    server.says(chat_reply(thought, "length"))
    assert run(f"{server.url}#tiny") == 0
    assert "2 truncated" in capsys.readouterr().out


@pytest.mark.parametrize(("options", "truncated"), [(":reasoning=opened", True), ("", False)])
def test_a_thought_that_the_chat_template_opened_and_nothing_closed(
    server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str], options: str, truncated: bool
) -> None:
    server.says(chat_reply("Is it A? It may be. The answer is A", "length"))
    assert run(f"{server.url}#tiny{options}") == 0
    assert ("2 truncated" in capsys.readouterr().out) is truncated


def test_a_refused_key(
    server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    server.key = "right"
    monkeypatch.setenv("MY_KEY", "wrong")
    assert run(f"{server.url}#tiny:key_env=MY_KEY") == 2
    said = capsys.readouterr().err
    assert "refuses the key in MY_KEY" in said
    assert "nothing was asked yet" in said
    assert len(server.asked) == 1
    assert run(f"{server.url}#tiny") == 2
    assert "wants a key" in capsys.readouterr().err
    monkeypatch.setenv("MY_KEY", "right")
    assert run(f"{server.url}#tiny:key_env=MY_KEY") == 0


def test_a_wrong_model(server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.models = ["qwen2-vl-7b", "llava"]
    assert run(f"{server.url}#qwen2-vl") == 2
    said = capsys.readouterr().err
    assert "has no model 'qwen2-vl'; it serves qwen2-vl-7b and 1 more" in said
    assert len(server.asked) == 1


def test_a_server_that_answers_to_any_name(
    server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """As llama.cpp's does, by the one model that it has."""
    server.models = ["smollm", "small", "llava"]
    entries = [{"id": "smollm", "aliases": ["smollm", "small"]}]
    server.listing = lambda request: {"data": entries}
    server.says({**chat_reply("A"), "model": "smollm"})
    assert run(f"{server.url}#llava") == 2
    assert "has no model 'llava'; it serves smollm; nothing was asked yet" in capsys.readouterr().err
    assert len(server.asked) == 1
    for name in ("smollm", "small"):
        assert run(f"{server.url}#{name}") == 0
    # A list that does not name what answered says nothing, and names of a gateway are its own.
    entries[:] = [{"id": "another"}]
    assert run(f"{server.url}#llava") == 0


def checked(spec: str) -> str:
    """The sentence that a look at the model's server ends with."""
    model: Any = open_model(spec)
    with pytest.raises(UsageError) as caught:
        asyncio.run(model.check())
    return str(caught.value)


def in_pages_of_anthropics(request: web.Request) -> dict[str, Any]:
    names = [f"claude-{number}" for number in range(50)]
    after = request.query.get("after_id")
    start = names.index(after) + 1 if after else 0
    page = names[start : start + 20]
    last = start + 20 < len(names)
    return {"data": [{"id": name} for name in page], "has_more": last, "last_id": page[-1]}


def in_pages_of_googles(request: web.Request) -> dict[str, Any]:
    start = int(request.query.get("pageToken", 0))
    page = [{"name": f"models/gemini-{number}"} for number in range(start, min(start + 20, 50))]
    return {"models": page} | ({"nextPageToken": str(start + 20)} if start + 20 < 50 else {})


@pytest.mark.parametrize(
    ("provider", "listing", "last"),
    [("anthropic", in_pages_of_anthropics, "claude-49"), ("google", in_pages_of_googles, "gemini-49")],
)
def test_a_model_on_the_last_page_of_the_list_is_there(
    server: StandIn,
    monkeypatch: pytest.MonkeyPatch,
    provider: str,
    listing: Callable[[web.Request], dict[str, Any]],
    last: str,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    monkeypatch.setenv("GEMINI_API_KEY", "k")
    server.listing = listing
    server.says({"error": {"message": "no such setting"}}, 400)
    assert "no such setting" in checked(f"{provider}/{last}:base_url={server.url}")
    said = checked(f"{provider}/{last}0:base_url={server.url}")
    assert f"has no model '{last}0'; it serves {last}" in said


def test_azures_list_is_not_one_of_deployments(server: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    server.listing = lambda request: {"data": [{"id": "gpt-4o"}]}
    server.models = ["our-own-name"]
    server.says({"error": {"message": "no such setting"}}, 400)
    assert "no such setting" in checked(f"azure/our-own-name:base_url={server.url}")
    assert server.paths == ["/v1/openai/v1/chat/completions"]


def test_a_refused_temperature_says_how_to_leave_it_out(server: StandIn) -> None:
    message = "invalid temperature: only 1 is allowed for this model"
    server.says({"error": {"message": message}}, 400)
    assert checked(f"{server.url}#tiny") == (
        f"{server.url}: the server answers 400: {message}; the option sampling=no sends neither "
        "temperature nor top_p, top_k and penalties; nothing was asked yet"
    )


def test_refused_temperature_of_an_alias_is_not_reported_as_a_wrong_name(server: StandIn) -> None:
    server.models = ["tiny-2026-01-01", "tiny-latest"]
    server.listing = lambda request: {"data": [{"id": "tiny-2026-01-01"}]}
    server.says({"error": {"message": "temperature is deprecated for this model"}}, 400)
    assert "the option sampling=no" in checked(f"{server.url}#tiny-latest")


def test_a_refused_key_is_found_before_data_are_downloaded(server: StandIn, tmp_path: Path) -> None:
    server.key = "right"
    fetched: list[str] = []

    def fetch(progress: object) -> None:
        fetched.append("data")

    (tmp_path / "q.csv").write_text(TABLE)
    plain = resolve_benchmark(str(tmp_path / "q.csv"), Variant(), {})
    with pytest.raises(UsageError, match="wants a key"):
        evaluate(f"{server.url}#tiny", [replace(plain, fetch=fetch)], out=tmp_path / "out")
    assert fetched == []
    server.key = ""
    evaluate(f"{server.url}#tiny", [replace(plain, fetch=fetch)], out=tmp_path / "out")
    assert fetched == ["data"]


def test_a_wrong_address(server: StandIn, questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong = server.url.replace("/v1", "/api")
    assert run(f"{wrong}#tiny") == 2
    assert f"{wrong} is not the address of an API" in capsys.readouterr().err
    server.says(b"<html><title>Welcome to nginx</title></html>")
    assert run(f"{server.url}#tiny") == 2
    assert f"{server.url} is not the address of an API" in capsys.readouterr().err


def test_a_provider_that_is_not_reached(
    questions: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    # A name that no resolver knows (RFC 6761).
    assert run("openai/gpt-4o:base_url=https://api.invalid/v1") == 2
    said = capsys.readouterr().err
    assert "cannot be reached" in said
    assert "check the network, and whether HTTPS_PROXY must be set" in said


def test_a_server_that_is_not_there(questions: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for spec in (f"http://127.0.0.1:{port}/v1#x", f"http://127.0.0.1:{port}/v1"):
        assert run(spec) == 2
        said = capsys.readouterr().err
        assert f"cannot connect to 127.0.0.1:{port}: Connection refused" in said
        assert "start the server, or correct the address" in said


def test_busy_server_passes_the_check(server: StandIn) -> None:
    model: Any = open_model(f"{server.url}#tiny")
    server.says({"error": {"message": "busy"}}, 503)
    asyncio.run(model.check())
    assert len(server.asked) == 1


def test_the_models_own_longest_reply_is_asked_for(server: StandIn, questions: Path) -> None:
    assert run(f"{server.url}#tiny:max_new_tokens=9000") == 0
    assert {body["max_tokens"] for body in server.asked[1:]} == {9000}
    assert run(f"{server.url}#tiny:max_new_tokens=9000", "--generation", "max_new_tokens=7") == 0
    assert server.asked[-1]["max_tokens"] == 7


def test_ctrl_c_during_the_look_is_clean(server: StandIn, questions: Path) -> None:
    async def hang(request: web.Request, asked: object) -> web.StreamResponse:
        await asyncio.sleep(60)
        return web.Response()

    server.handler = hang
    command = [sys.executable, "-m", "snellen", "run", "-m", f"{server.url}#tiny"]
    process = subprocess.Popen(
        [*command, "-b", "questions.csv", "-q"], stderr=subprocess.PIPE, env=os.environ, text=True
    )
    while not server.asked:
        time.sleep(0.02)
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in said
    assert "Unclosed" not in said
