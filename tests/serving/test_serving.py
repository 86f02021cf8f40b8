"""The life of a server's process: real processes, real ports."""

from __future__ import annotations

import asyncio
import os
import re
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from snellen.core.errors import UsageError
from snellen.engine.servers import process
from snellen.engine.servers.process import Launch, ServerNotStarted, ServerProcess, build_command

SMALL = Path(__file__).with_name("small_server.py")

Make = Callable[..., ServerProcess]


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[ServerProcess] = []

    def server(command: str, **how: object) -> ServerProcess:
        said: list[str] = []
        launch = Launch(command=command, **how)  # type: ignore[arg-type]
        made.append(ServerProcess(launch, "some/model", tmp_path / "logs" / "server.log", said.append))
        made[-1].said = said  # type: ignore[attr-defined]
        return made[-1]

    yield server
    for one in made:
        one.stop()


def small(*words: str) -> str:
    return " ".join(["python", str(SMALL), "{port}", *words])


def ready(server: ServerProcess) -> str:
    return asyncio.run(server.ensure_ready())


def child_of(server: ServerProcess) -> int:
    (line,) = [line for line in server.tail() if line.startswith("child ")]
    return int(line.split()[1])


def leader_of(server: ServerProcess) -> int:
    assert server._process is not None
    return server._process.pid


def runs(pid: int) -> bool:
    """Whether a process still runs; one that only waits to be reaped does not."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def wait_until(true: Callable[[], bool]) -> None:
    while not true():
        time.sleep(0.02)


def test_a_server_is_started_answers_and_is_gone_after_stop(make: Make) -> None:
    server = make(small("child"))
    url = ready(server)
    assert re.fullmatch(r"http://127\.0\.0\.1:\d+/v1", url)
    with urllib.request.urlopen(url.removesuffix("/v1") + "/health") as answer:
        assert answer.status == 200
    leader, child = leader_of(server), child_of(server)
    assert ready(server) == url
    assert os.getpgid(leader) == leader != os.getpgid(os.getpid())
    server.stop()
    wait_until(lambda: not runs(child))
    assert not runs(leader)
    assert server.exit_reason() is None
    server.stop()


def test_server_announces_its_start_and_log(make: Make) -> None:
    server = make(small())
    ready(server)
    first, second, third = server.said  # type: ignore[attr-defined]
    assert str(SMALL) in first
    assert str(server.log) in second
    assert "ready after" in third


def test_many_may_wait_for_one_start(make: Make) -> None:
    server = make(small())

    async def all_of_them() -> list[str]:
        return await asyncio.gather(*(server.ensure_ready() for _ in range(20)))

    assert len(set(asyncio.run(all_of_them()))) == 1
    assert sum("starting" in line for line in server.said) == 1  # type: ignore[attr-defined]


def test_a_stopped_server_can_be_started_again(make: Make) -> None:
    server = make(small())
    ready(server)
    server.stop()
    ready(server)
    assert server.exit_reason() is None


def test_failed_server_is_reported_with_the_end_of_its_log(make: Make) -> None:
    code = "print('reading weights'); print('out of memory, {port}'); raise SystemExit(3)"
    server = make(f'python -c "{code}"')
    with pytest.raises(ServerNotStarted) as failed:
        ready(server)
    said = str(failed.value)
    assert "ended before it was ready (exit code 3)" in said
    assert f"{server.log}:\n  reading weights\n  out of memory" in said
    with pytest.raises(ServerNotStarted):
        ready(server)
    assert server._process is None


def test_server_that_is_never_ready_is_stopped(make: Make) -> None:
    server = make(small(), health=("/never",), ready_seconds=0.4)
    with pytest.raises(ServerNotStarted, match=r"not ready after 0\.4 s"):
        ready(server)
    assert server._process is None


def test_server_that_ignores_sigterm_is_killed(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "GRACE", 0.3)
    server = make(small("stubborn", "child"))
    ready(server)
    leader, child = leader_of(server), child_of(server)
    server.stop()
    wait_until(lambda: not runs(child))
    assert not runs(leader)


def test_children_of_a_dead_server_end_with_stop(make: Make) -> None:
    server = make(small("child"))
    url = ready(server)
    child = child_of(server)
    os.kill(leader_of(server), signal.SIGKILL)
    wait_until(lambda: server.exit_reason() is not None)
    assert server.exit_reason() == "the server ended by itself (signal SIGKILL)"
    assert ready(server) == url, "a lost server is not started again"
    server.stop()
    wait_until(lambda: not runs(child))
    assert server.exit_reason() == "the server ended by itself (signal SIGKILL)"


def test_other_processes_are_not_ended(make: Make) -> None:
    bystander = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
    try:
        server = make(small())
        ready(server)
        server.stop()
        assert bystander.poll() is None
    finally:
        bystander.kill()
        bystander.wait()


def test_the_command_is_filled_in_without_a_shell() -> None:
    launch = Launch(command="python serve.py '{model}' --at {host}:{port} '; rm x'")
    assert build_command(launch, "a b/$c", 7) == (sys.executable, "serve.py", "a b/$c", "--at", "127.0.0.1:7", "; rm x")


@pytest.mark.parametrize(
    ("command", "sentence"),
    [
        ("vllm serve x --port 8000", r"has no \{port\}"),
        ("vllm serve 'x --port {port}", "not a command line"),
        ("no-such-server-program --port {port}", "no program 'no-such-server-program'.*correct the command.*http:"),
    ],
)
def test_a_command_that_cannot_be_run(command: str, sentence: str) -> None:
    with pytest.raises(UsageError, match=sentence):
        build_command(Launch(command=command), "m", 1)


def test_a_log_is_quoted_as_a_terminal_shows_it(make: Make) -> None:
    server = make(small())
    server.log.parent.mkdir(parents=True)
    server.log.write_bytes(b"\x1b[31mred\x1b[0m\n\n 10%\r 90%\rdone \n\xff\n")
    assert server.tail(3) == ["red", "done", "\ufffd"]


def test_last_log_line_is_shown_while_waiting(make: Make, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "_NOTICE_INTERVAL", 0.0)
    server = make(small(), health=("/never",), ready_seconds=1.5)
    with pytest.raises(ServerNotStarted):
        ready(server)
    said = server.said  # type: ignore[attr-defined]
    assert any(re.match(r"waiting for the server, \d+ s: .*GET /never", line) for line in said)
