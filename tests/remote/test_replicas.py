"""Several servers of one model: balanced, left out when lost, taken back, and checked one by one."""

from __future__ import annotations

import asyncio
import socket
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from asking_remote import ask, question
from standin_server import Handler, StandIn, chat_reply, running

from snellen import evaluate
from snellen.cli import main
from snellen.core.errors import ModelError, UsageError
from snellen.core.output import Generated
from snellen.engine.loop.request_broker import MAIN, RequestBroker
from snellen.models.naming.registry import open_model
from snellen.models.remote import replicas
from snellen.models.remote.http import HttpClient
from snellen.models.remote.model import ServerModel
from snellen.models.remote.replicas import ReplicatedClient, ServerReplica
from snellen.store.responses import ResponseStore

TABLE = "question,A,B,answer\n" + "".join(f"Is {n} a number?,yes,no,A\n" for n in range(40))


@pytest.fixture
def servers() -> Iterator[list[StandIn]]:
    with ExitStack() as stack:
        yield [stack.enter_context(running()) for _ in range(3)]


def replicated_spec(servers: list[StandIn], options: str = "") -> str:
    further = "+".join(server.url for server in servers[1:])
    return f"{servers[0].url}#tiny:replicas={further}{options}"


def remote_model(spec: str) -> ServerModel:
    model = open_model(spec)
    assert isinstance(model, ServerModel)
    return model


def replying_after(seconds: float) -> Handler:
    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        await asyncio.sleep(seconds)
        return web.json_response(chat_reply("A"))

    return handler


def failing_with(status: int, **headers: str) -> Handler:
    async def handler(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        sent = {name.replace("_", "-"): value for name, value in headers.items()}
        return web.json_response({"error": {"message": "no"}}, status=status, headers=sent)

    return handler


def ask_many(spec: str, requests: int, in_flight: int, then: Callable[[int], object] = lambda answered: None) -> int:
    """Ask so many requests, so many at once; returns how many were answered. `then` is called with
    the number of answers after each."""
    model = remote_model(spec)
    answered = 0

    async def worker(numbers: Iterator[int]) -> None:
        nonlocal answered
        for number in numbers:
            output = await model.answer(question(f"{number}?"))
            answered += isinstance(output, Generated)
            then(answered)

    async def all_of_them() -> None:
        numbers = iter(range(requests))
        try:
            async with asyncio.timeout(20):
                await asyncio.gather(*(worker(numbers) for _ in range(in_flight)))
        finally:
            await model.close()

    asyncio.run(all_of_them())
    return answered


@pytest.mark.parametrize("status", ["refused", 429, 503])
def test_requests_go_on_while_one_server_is_lost(servers: list[StandIn], status: int | str) -> None:
    """A closed port and a full queue cost nothing; 503 is a failure that the engine sends again."""
    if status == "refused":
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            lost = StandIn(url=f"http://127.0.0.1:{free.getsockname()[1]}/v1")
        servers = [servers[0], lost, servers[2]]
    else:
        servers[1].handler = failing_with(int(status), Retry_After="30")
    model = remote_model(replicated_spec(servers))
    ends: Counter[str] = Counter()

    async def ask_all() -> None:
        for number in range(60):
            try:
                await model.answer(question(f"{number}?"))
                ends["answered"] += 1
            except ModelError as error:
                ends[error.kind] += 1
        await model.close()

    asyncio.run(ask_all())
    most_failed = replicas._FAILURES if status == 503 else 0
    assert ends["answered"] >= 60 - most_failed
    assert len(servers[1].asked) <= max(1, most_failed)


@pytest.mark.parametrize("status", [401, 404])
def test_a_server_that_wants_another_key_or_model_is_lost(servers: list[StandIn], status: int) -> None:
    """It fails faster than any other answers."""
    for server in servers:
        server.handler = replying_after(0.02)
    servers[1].handler = failing_with(status)
    assert ask_many(replicated_spec(servers), 60, 6) == 60
    assert 1 <= len(servers[1].asked) <= 6


def test_the_run_says_which_server_was_left_out(servers: list[StandIn], tmp_path: Path) -> None:
    lost, usual = failing_with(404), replying_after(0.0)

    async def replaced(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        for server in servers:
            server.handler = usual
        # The check before the run was the first request.
        servers[1].handler = lost
        return await usual(request, asked)

    rows = "".join(f"{number}\tWhy {number}?\ta\tb\tA\n" for number in range(30))
    (tmp_path / "data.tsv").write_text("index\tquestion\tA\tB\tanswer\n" + rows)
    servers[1].handler = replaced
    (run,) = evaluate(replicated_spec(servers), str(tmp_path / "data.tsv"), out=tmp_path / "out", html=False).runs
    (remark,) = run.info.remarks
    assert (run.info.counts.done, run.info.counts.failed) == (30, 0)
    assert remark.startswith(f"the server {servers[1].url.split('/')[2]} was left out, others took its requests: ")
    assert "404" in remark


def test_a_server_that_comes_back_is_taken_back(servers: list[StandIn], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replicas, "_FIRST_PAUSE", 0.05)
    for server in servers:
        server.handler = replying_after(0.005)
    servers[1].handler = failing_with(429)
    asked_while_lost = 0

    def mend(answered: int) -> None:
        nonlocal asked_while_lost
        if answered == 150:
            asked_while_lost = len(servers[1].asked)
            servers[1].handler = replying_after(0.005)

    assert ask_many(replicated_spec(servers), 900, 6, mend) == 900
    # One trial after each pause, which doubles.
    assert asked_while_lost <= 8
    assert len(servers[1].asked) - asked_while_lost > 40


def test_all_servers_lost_is_the_last_ones_error(servers: list[StandIn]) -> None:
    for server in servers:
        server.handler = failing_with(429, Retry_After="7")
    with pytest.raises(ModelError) as raised:
        ask(replicated_spec(servers), question("Why?"))
    assert (raised.value.kind, raised.value.retry_after) == ("rate_limit", 7)
    assert [len(server.asked) for server in servers] == [1, 1, 1]


def test_a_stream_is_sent_on_only_before_it_begins(servers: list[StandIn]) -> None:
    async def cut(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)
        await response.write(b'data: {"choices": [{"index": 0, "delta": {"content": "A"}}]}\n\n')
        assert request.transport is not None
        request.transport.abort()
        return response

    servers[0].handler, servers[1].handler, servers[2].handler = failing_with(429), cut, cut
    with pytest.raises(ModelError) as raised:
        ask(replicated_spec(servers, ",stream=yes"), question("Why?"))
    assert raised.value.kind == "connection"
    assert sum(len(server.asked) for server in servers) == 2


def test_a_run_asks_each_server_and_stores_once(
    servers: list[StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text(TABLE)
    for server in servers:
        server.handler = replying_after(0.01)
    assert main(["run", "-m", replicated_spec(servers), "-b", "questions.csv", "-q"]) == 0
    # One of the requests to each is a look at it before the first question.
    assert [len(server.asked) > 5 for server in servers] == [True] * 3
    asked = sum(len(server.asked) for server in servers)
    assert asked == 43
    assert main(["run", "-m", f"{servers[0].url}#tiny", "-b", "questions.csv", "-q"]) == 0
    assert sum(len(server.asked) for server in servers) == asked
    assert "nothing was asked" in capsys.readouterr().err


def test_a_server_with_another_model_is_found_before_anything_is_asked(
    servers: list[StandIn], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("questions.csv").write_text(TABLE)
    servers[1].models = ["other"]
    assert main(["run", "-m", replicated_spec(servers), "-b", "questions.csv", "-q"]) == 2
    said = capsys.readouterr().err
    assert servers[1].url in said
    assert "other" in said
    assert "nothing was asked yet" in said
    assert not servers[2].asked


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ("http://127.0.0.1:9/v1#tiny:replicas=nonsense", "'nonsense' is not a URL"),
        ("http://127.0.0.1:9/v1#tiny:replicas=http://127.0.0.1:9", "http://127.0.0.1:9/v1 is named twice"),
        ("http://127.0.0.1:9/v1#tiny:replicas=http://me:secret@127.0.0.1:8", "holds a user or a password"),
        ("openrouter/a/b:replicas=http://127.0.0.1:8", "only servers named by their URL have replicas"),
    ],
)
def test_what_is_no_replica_is_refused(spec: str, sentence: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENROUTER_API_KEY", "k" * 20)
    with pytest.raises(UsageError, match=sentence):
        open_model(spec)


def test_more_servers_take_more_requests_at_once() -> None:
    one = remote_model("http://127.0.0.1:9/v1#tiny")
    three = remote_model("http://127.0.0.1:9/v1#tiny:replicas=http://127.0.0.1:8+http://127.0.0.1:7")
    stated = remote_model("http://127.0.0.1:9/v1#tiny:replicas=http://127.0.0.1:8,concurrency=5")
    assert three.concurrency == 3 * one.concurrency
    store = ResponseStore(None)
    windows = [RequestBroker({MAIN: model}, store)._windows[model.account] for model in (one, three, stated)]
    assert [window.size for window in windows] == [8, 24, 5]
    store.close()
    assert stated.concurrency == 5
    assert one.identity == three.identity
    assert three.address == "127.0.0.1:9, 127.0.0.1:8, 127.0.0.1:7"


class Simulated(HttpClient):
    """A server of a simulation: it answers so many requests at once, each after so many seconds."""

    def __init__(self, places: int, seconds: float) -> None:
        self.seconds = seconds
        self.answered = 0
        self.is_up = True
        self._places = asyncio.Semaphore(places)
        self.on_reply = lambda reply: None

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        if not self.is_up:
            raise ModelError("cannot connect", "connection")
        async with self._places:
            await asyncio.sleep(self.seconds)
        if not self.is_up:
            raise ModelError("the connection broke", "connection")
        self.answered += 1
        return {}


class SimulatedClock(asyncio.SelectorEventLoop):
    """An event loop whose time is that of its next timer whenever nothing else is ready."""

    def __init__(self) -> None:
        super().__init__()
        self._simulated = 0.0

    def time(self) -> float:
        return self._simulated

    def _run_once(self) -> None:
        if not self._ready and self._scheduled:  # type: ignore[attr-defined]
            self._simulated = max(self._simulated, self._scheduled[0].when())  # type: ignore[attr-defined]
        super()._run_once()  # type: ignore[misc]


def simulate(
    clients: list[Simulated], workers: int, seconds: float, *further: Awaitable[None], pause: float = 0.0
) -> ReplicatedClient:
    """Requests of so many workers, one after the other each, for so many seconds of simulated time. Each worker begins
    so many seconds after the one before."""
    pool = ReplicatedClient(clients, [f"http://host{number}:80/v1" for number in range(len(clients))])
    loop = SimulatedClock()

    async def worker(number: int) -> None:
        await asyncio.sleep(number * pause)
        while loop.time() < seconds:
            await pool.post("chat/completions", b"")

    async def everything() -> None:
        tasks = [asyncio.ensure_future(each) for each in (*further, *map(worker, range(workers)))]
        _, hung = await asyncio.wait(tasks, timeout=2 * seconds)
        for task in hung:
            task.cancel()
        await asyncio.gather(*hung, return_exceptions=True)
        for task in set(tasks) - hung:
            task.result()

    try:
        loop.run_until_complete(everything())
    finally:
        loop.close()
    return pool


def test_equal_servers_get_equal_shares() -> None:
    clients = [Simulated(100, 1.0) for _ in range(3)]
    simulate(clients, 9, 100)
    assert [290 <= client.answered <= 310 for client in clients] == [True] * 3


def test_a_slow_server_gets_fewer_requests_and_not_none() -> None:
    clients = [Simulated(100, seconds) for seconds in (1.0, 1.0, 8.0)]
    simulate(clients, 12, 100)
    assert min(client.answered for client in clients[:2]) > 8 * clients[2].answered > 0


def test_a_hung_server_is_sent_few_requests() -> None:
    """It never replies, and nothing says that it is down: it holds a few places of a window that grows."""
    clients = [Simulated(100, 1.0), Simulated(100, 10_000.0), Simulated(100, 1.0)]
    pool = simulate(clients, 60, 100, pause=0.5)
    assert clients[0].answered + clients[2].answered > 0.75 * 60 * 100
    assert pool.replicas[1].in_flight == 0
    assert pool.replicas[1].answers == 0


def test_ten_thousand_requests_at_once_use_what_the_servers_can() -> None:
    """Twenty servers, of 200 to 800 places, of different speed, two of which are lost for some time. In simulated
    time: the loop's clock is moved to its next timer."""
    clients = [Simulated(200 + 200 * (n % 4), 2.0 + n % 3) for n in range(20)]
    capacity = sum((200 + 200 * (n % 4)) / (2.0 + n % 3) for n in range(20))

    async def lose_two() -> None:
        await asyncio.sleep(4)
        clients[3].is_up = clients[4].is_up = False
        await asyncio.sleep(3)
        before = clients[3].answered
        clients[3].is_up = clients[4].is_up = True
        await asyncio.sleep(8)
        assert clients[3].answered > before + 100

    simulate(clients, 10_000, 16, lose_two())
    assert sum(client.answered for client in clients) > 0.85 * 16 * capacity


def test_latency_is_a_mean_and_silence_costs() -> None:
    replica = ServerReplica(Simulated(1, 1.0), "http://user@host:8000/v1")
    assert replica.address == "host:8000"
    assert replica.cost(0.0, 2.0) == 2.0
    with_two_in_flight = ServerReplica(Simulated(1, 1.0), "http://host/v1")

    async def count_two() -> tuple[float, float]:
        with with_two_in_flight.count(), with_two_in_flight.count():
            now = asyncio.get_running_loop().time()
            return with_two_in_flight.cost(now, 0.5), with_two_in_flight.cost(now + 10, 0.5)

    soon, later = asyncio.run(count_two())
    assert soon == pytest.approx(1.5, abs=0.1)
    assert later == pytest.approx(30, rel=0.1)
