"""`snellen mcp` spoken to by the client of the package `mcp`, over standard input and output."""

from __future__ import annotations

import asyncio
import base64
import io
import json
import os
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import psutil
import pytest
from PIL import Image

from snellen import evaluate
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.engine.limits.spending import Budget
from snellen.mcp_server.job_queue import JobQueue
from snellen.mcp_server.run_starter import RunStarter
from snellen.store.runs import RunFolder, find_runs, open_run

READING = ["compare", "plan", "report", "runs", "samples", "status", "why"]


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two runs of `random` on the same questions, one without its pictures."""
    out = tmp_path_factory.mktemp("results")
    for control in (None, "blind"):
        evaluate("random", "eyechart", out=out, limit=12, variant=Variant(control=control))
    return out


def names(folder: Path) -> list[str]:
    return sorted(path.parent.name for path in folder.glob("*/run.json"))


@asynccontextmanager
async def session(*arguments: object) -> AsyncIterator[Any]:
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    parameters = StdioServerParameters(
        command=sys.executable, args=["-m", "snellen", "mcp", *map(str, arguments)], env={**os.environ}
    )
    async with stdio_client(parameters) as streams, ClientSession(*streams) as client:
        await client.initialize()
        yield client


def talk(use: Callable[[Any], Awaitable[None]], *arguments: object) -> None:
    async def run() -> None:
        async with session(*arguments) as client:
            await use(client)

    asyncio.run(asyncio.wait_for(run(), 120))


async def ask(client: Any, tool: str, **arguments: Any) -> Any:
    """The JSON that a tool answers."""
    answer = await client.call_tool(tool, arguments)
    assert not answer.is_error, answer.content
    return json.loads(answer.content[0].text)


async def refused(client: Any, tool: str, **arguments: Any) -> str:
    answer = await client.call_tool(tool, arguments)
    assert answer.is_error
    (content,) = answer.content
    assert "Traceback" not in content.text
    return str(content.text)


def test_reading_tools(results: Path) -> None:
    run_names = names(results)

    async def use(client: Any) -> None:
        tools = (await client.list_tools()).tools
        assert sorted(tool.name for tool in tools) == READING
        assert all(tool.annotations.read_only_hint and tool.description for tool in tools)

        listed = await ask(client, "runs")
        assert listed["total"] == 2
        assert sorted(row["run"] for row in listed["runs"]) == run_names
        (row,) = (await ask(client, "runs", limit=1, offset=1))["runs"]
        assert row["interval"]["low"] <= row["value"] <= row["interval"]["high"]
        assert (await ask(client, "runs", model="gpt"))["runs"] == []

        status = await ask(client, "status", run=run_names[0])
        assert (status["status"], status["counts"]["done"]) == ("complete", 12)
        report = await ask(client, "report", run=run_names[0])
        stored = json.loads((results / run_names[0] / "report.json").read_bytes())
        assert report["summary"] == stored["summary"]
        assert report["run"]["config"] == stored["run"]["config"]

        compared = await ask(client, "compare", runs=run_names, common=True)
        assert compared["pairs"][0]["n"] == 12
        why = await ask(client, "why", first=run_names[0], second=run_names[1])
        assert why

        planned = await ask(client, "plan", models=["random"], benchmarks=["eyechart"], limit=3)
        assert planned["lines"][0]["estimate"]["most_requests"] == 3

    talk(use, results)


def test_pages_of_samples_with_pictures(results: Path) -> None:
    run = names(results)[0]
    records = {record.id: record for record in RunFolder(results / run).records()}

    async def use(client: Any) -> None:
        seen: list[str] = []
        offset: int | None = 0
        while offset is not None:
            page = await ask(client, "samples", run=run, limit=5, offset=offset)
            seen += [sample["id"] for sample in page["samples"]]
            offset = page["next_offset"]
        assert sorted(seen) == sorted(records)
        wrong = await ask(client, "samples", run=run, result="wrong", limit=20)
        expected = {name for name, record in records.items() if record.score == 0}
        assert {sample["id"] for sample in wrong["samples"]} == expected
        one = next(record for record in records.values() if record.media)
        answer = await client.call_tool("samples", {"run": run, "ids": [one.id], "pictures": True})
        text, *pictures = answer.content
        (sample,) = json.loads(text.text)["samples"]
        assert sample["question"] == one.question
        assert sample["replies"] == [one.passes[0].output.text]
        assert len(pictures) == len(one.media)
        for picture in pictures:
            assert picture.mime_type == "image/jpeg"
            Image.open(io.BytesIO(base64.b64decode(picture.data))).verify()

    talk(use, results)


@pytest.mark.attack("a program that asks the MCP server for other files, or for a run", "it is refused in one sentence")
def test_refuses_disallowed_tool_calls(results: Path, tmp_path: Path) -> None:
    run = names(results)[0]
    secret = tmp_path / "secret.tsv"
    secret.write_text("index\tquestion\tanswer\n1\tWhat?\tthis\n")

    async def use(client: Any) -> None:
        for name in ("../x", "/etc", str(tmp_path), run[:-2]):
            assert "unknown run" in await refused(client, "report", run=name)
        for spec in (secret, f"../{secret.name}", "/etc/passwd"):
            said = await refused(client, "plan", models=["random"], benchmarks=[str(spec)])
            assert "lies outside the folders" in said
        said = await refused(client, "plan", models=["random"], benchmarks=[f"eyechart:file={secret}"])
        assert "may not choose" in said
        said = await refused(client, "plan", models=[f"replay/{secret}"], benchmarks=["eyechart"])
        assert "is a file of this machine" in said
        await refused(client, "start_run", model="random", benchmark="eyechart")
        await refused(client, "samples", run=run, limit=500)
        assert "unknown run" in await refused(client, "compare", runs=[run, "none"])

    talk(use, results)


def test_wrong_arguments_are_one_sentence(results: Path) -> None:
    async def use(client: Any) -> None:
        assert (await refused(client, "compare")).endswith("compare: runs: field required")
        said = await refused(client, "samples", run=names(results)[0], limit="many")
        assert said.endswith("(got 'many')")
        assert "\n" not in said
        assert "pydantic" not in said

    talk(use, results)


@pytest.mark.release
def test_a_run_is_started_within_the_budget(results: Path, tmp_path: Path) -> None:
    """`random` counts no tokens: the budget stays whole, and other models are refused."""
    out = tmp_path / "started"

    async def use(client: Any) -> None:
        tools = {tool.name: tool for tool in (await client.list_tools()).tools}
        assert sorted(tools) == sorted([*READING, "queue", "start_run", "stop_run"])
        assert not tools["start_run"].annotations.read_only_hint
        done = await ask(client, "start_run", model="random", benchmark="eyechart", limit=4)
        assert (done["ended"], done["budget_left"]) == (True, "1,000 tokens")
        (run,) = done["runs"]
        assert (await ask(client, "status", run=run))["counts"]["done"] == 4
        said = await refused(client, "start_run", model="snellen/tiny", benchmark="eyechart")
        assert "may not be asked here; allowed with -m: random" in said
        said = await refused(client, "start_run", model="random", benchmark="eyecart")
        assert "did you mean eyechart" in said

    flags = ("--allow-run", "--budget", "1ktok", "-m", "random", "--out", out)
    talk(use, results, *flags)
    assert len(names(out)) == 1


class CountingServer:
    """A server of one model that counts 100 tokens a reply."""

    def __init__(self, seconds: float = 0.0) -> None:
        self.seconds = seconds
        self.asked = 0

    def __enter__(self) -> str:
        import threading
        from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

        counting = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self._send({"object": "list", "data": [{"id": "m", "object": "model"}]})

            def do_POST(self) -> None:
                self.rfile.read(int(self.headers["Content-Length"]))
                counting.asked += 1
                time.sleep(counting.seconds)
                message = {"role": "assistant", "content": "A"}
                choice = {"index": 0, "message": message, "finish_reason": "stop"}
                usage = {"prompt_tokens": 99, "completion_tokens": 1, "total_tokens": 100}
                self._send({"id": "1", "model": "m", "choices": [choice], "usage": usage})

            def _send(self, value: object) -> None:
                body = json.dumps(value).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_address[1]}/v1#m"

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()


def test_the_budget_holds_over_all_runs(tmp_path: Path) -> None:
    questions = "".join(f"{n}\tWhich is {n}?\tone\ttwo\tA\n" for n in range(100))
    data = tmp_path / "q.tsv"
    data.write_text(f"index\tquestion\tA\tB\tanswer\n{questions}")
    with CountingServer() as model:

        async def use(client: Any) -> None:
            wanted = {"model": model, "benchmark": str(data)}
            first = await ask(client, "start_run", **wanted, limit=5)
            assert (first["ended"], first["stopped"]) == (True, [])
            assert first["budget_left"] == "4,500 tokens"
            # 100 tokens a request; each reserves the prompt * 1.1 + 512 until it has ended.
            second = await ask(client, "start_run", **wanted)
            (reason,) = second["stopped"]
            assert "the budget of 4,500 tokens is spent (4,000; the next" in reason
            assert second["budget_left"] == "500 tokens"
            third = await ask(client, "start_run", **wanted)
            assert third["budget_left"] == "500 tokens"

        talk(use, tmp_path, "--allow-run", "--budget", "5ktok", "-m", model)


def questions(folder: Path, count: int) -> Path:
    lines = "".join(f"{n}\tWhich is {n}?\tone\ttwo\tA\n" for n in range(count))
    data = folder / "q.tsv"
    data.write_text(f"index\tquestion\tA\tB\tanswer\n{lines}")
    return data


async def until(client: Any, job: int, state: str) -> dict[str, Any]:
    """The job once it is in a state."""
    for _ in range(300):
        (found,) = [row for row in (await ask(client, "queue"))["jobs"] if row["id"] == job]
        if found["state"] == state:
            return dict(found)
        await asyncio.sleep(0.1)
    raise AssertionError(found)


def test_runs_wait_in_a_queue_and_are_stopped(tmp_path: Path) -> None:
    data = questions(tmp_path, 300)
    with CountingServer(0.05) as model:

        async def use(client: Any) -> None:
            wanted = {"model": model, "benchmark": str(data), "wait_seconds": 0}
            first = await ask(client, "start_run", **wanted)
            again = await ask(client, "start_run", **wanted)
            second = await ask(client, "start_run", **wanted, limit=3)
            third = await ask(client, "start_run", **wanted, limit=4)
            assert again["job"] == first["job"]
            assert [each["ahead"] for each in (first, second, third)] == [0, 1, 2]
            await until(client, first["job"], "running")
            assert (await ask(client, "stop_run", job=third["job"]))["state"] == "stopped"
            assert (await ask(client, "stop_run", job=first["job"]))["state"] == "running"
            await until(client, first["job"], "stopped")
            ended = await until(client, second["job"], "ended")
            assert len(ended["runs"]) == 1
            assert "there is no job 99" in await refused(client, "stop_run", job=99)
            assert (await ask(client, "queue"))["total"] == 3

        talk(use, tmp_path, "--allow-run", "--budget", "1Mtok", "-m", model)


def test_the_queue_and_the_budget_outlive_a_killed_server(tmp_path: Path) -> None:
    """The next server of the folder goes on where the first was killed, and asks nothing twice."""
    data = questions(tmp_path, 60)
    server = CountingServer(0.1)
    with server as model:
        flags = (tmp_path, "--allow-run", "--budget", "1Mtok", "-m", f"{model}:concurrency=4")
        wanted = {"model": f"{model}:concurrency=4", "benchmark": str(data), "wait_seconds": 0}

        def command_of(process: psutil.Process) -> list[str]:
            try:
                return process.cmdline()
            except psutil.NoSuchProcess:  # it has just ended
                return []

        async def begin_and_kill() -> None:
            async with session(*flags) as client:
                await ask(client, "start_run", **wanted)
                await ask(client, "start_run", **wanted, limit=5)
                while server.asked < 20:
                    await asyncio.sleep(0.05)
                (child,) = [one for one in psutil.Process().children(True) if "mcp" in command_of(one)]
                child.send_signal(signal.SIGKILL)
                child.wait(10)

        async def go_on(client: Any) -> None:
            assert (await until(client, 1, "ended"))["note"] == ""
            second = await until(client, 2, "ended")
            assert second["spent"] == 0
            listed = await ask(client, "queue")
            # 60 answers; each kill may lose the four in flight.
            assert 994_000 - 2 * 400 <= int(listed["budget_left"].removesuffix(" tokens").replace(",", "")) <= 994_000

        asyncio.run(asyncio.wait_for(begin_and_kill(), 60))
        asked = server.asked
        talk(go_on, *flags)
        assert 60 <= server.asked <= 60 + 4 + 2  # those in flight, and a look at the server at each start
        assert asked < 60


def test_neither_a_kill_nor_a_damaged_run_makes_the_budget_larger(tmp_path: Path) -> None:
    data = questions(tmp_path, 40)
    with CountingServer() as model:
        evaluate(model, str(data), out=tmp_path, budget="3ktok", html=False)
        (run,) = find_runs(tmp_path)
        before = run.info.spent["model"].usage.prompt_tokens
        assert 2000 < before < 3000
        (tmp_path / "damaged").mkdir()
        (tmp_path / "damaged" / "run.json").write_text("{")
        # The server that had begun the job, and spent this, was killed.
        queue = JobQueue(tmp_path, "tok")
        job = queue.submit(model, str(data), None)
        queue.begin([model], 0.0)
        starter = RunStarter([tmp_path], tmp_path, [model], Budget.parse("3ktok"))
        end = time.monotonic() + 60
        while not queue.job(job.id).is_over:
            assert time.monotonic() < end, queue.job(job.id)
            time.sleep(0.05)
        starter.close()
        assert queue.job(job.id).spent >= before
        assert open_run(run.path).info.spent["model"].usage.prompt_tokens <= 3000


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (("--allow-run",), "what may be spent and who may be asked"),
        (("--allow-run", "-m", "random"), "what may be spent and who may be asked"),
        (("--allow-run", "--budget", "lots", "-m", "random"), "--budget 'lots'"),
        (("--budget", "5usd"), "--budget is for runs that are started"),
        (("-m", "random"), "-m is for runs that are started"),
    ],
)
def test_flags_that_do_not_go_together(
    flags: tuple[str, ...], sentence: str, results: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["mcp", str(results), *flags]) == 2
    assert sentence in capsys.readouterr().err


def test_a_folder_that_is_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["mcp", str(tmp_path / "none")]) == 2
    assert "is not a folder" in capsys.readouterr().err
