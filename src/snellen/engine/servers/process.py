"""The process of a model server that Snellen starts: command, log, health checks, shutdown.

The server runs in a process group of its own, so that Ctrl-C in a terminal does not reach it, and
its child processes end with it. Only that group is ever signalled.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from snellen.core.errors import StorageError, UsageError
from snellen.core.watchdog import guard_processes

HOST = "127.0.0.1"
HEALTH = ("/health", "/v1/models")
READY_SECONDS = 600.0
GRACE = 10.0
"""Seconds between SIGTERM and SIGKILL."""
TAIL_LINES = 12
"""Lines of the log that are quoted if a server fails."""
_POLL_INTERVAL = 0.25
_NOTICE_INTERVAL = 10.0
_TAIL_BYTES = 64 * 1024
_ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
_PORT = "{port}"
_UV = "{uv}"

Notify = Callable[[str], object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How a server is started. `command` is split like a shell command, but no shell runs it."""

    command: str
    health: Sequence[str] = HEALTH
    """URL paths that answer once the model is loaded, tried in this order."""
    ready_seconds: float = READY_SECONDS
    install: str = ""
    """The command that installs the program."""
    revision: str = ""
    """What is added to the command for a pinned `{revision}`."""
    pinned_model: str = "{model}"
    """What stands for `{model}` where a `{revision}` is pinned."""
    own_code: str = ""
    """What is added to the command where the user consents to the checkpoint's own code."""
    title: str = ""
    """What messages name instead of the command."""
    exit_meanings: Mapping[int, str] = field(default_factory=dict)
    """What the server's own exit codes mean, as the end of a sentence about it."""

    def with_own_code(self) -> Launch:
        """The launch of a server that may run the checkpoint's own code."""
        return replace(self, command=f"{self.command} {self.own_code}".rstrip())

    def at_revision(self, revision: str) -> Launch:
        """The launch of that commit of the model; itself for none."""
        if not revision:
            return self
        command = f"{self.command.replace('{model}', self.pinned_model)} {self.revision}".rstrip()
        return replace(self, command=command.replace("{revision}", shlex.quote(revision)))


class ServerNotStarted(UsageError):
    """A server ended, or did not answer in time, before it was ready."""


class ServerProcess:
    """A server as one process group. Started by the first `ensure_ready`, ended by `stop`."""

    def __init__(self, launch: Launch, model: str, log: Path, notify: Notify) -> None:
        self._launch = launch
        self._model = model
        self.log = log
        self._notify = notify
        self._process: subprocess.Popen[bytes] | None = None
        self._watchdog: subprocess.Popen[bytes] | None = None
        self._base_url = ""
        self._start_error: ServerNotStarted | None = None
        self._lock: tuple[asyncio.AbstractEventLoop, asyncio.Lock] | None = None
        self._healthy = False
        self._exit_reason: str | None = None
        self.command: tuple[str, ...] = ()
        """The command line of the latest start."""

    async def ensure_ready(self) -> str:
        """Start the server if necessary, and return its base URL once it answers, such as
        http://127.0.0.1:41234/v1. A server that has ended by itself is not started again.

        Raises ServerNotStarted with the last lines of its log, and UsageError if there is no such
        program.
        """
        if not self._healthy and self._exit_reason is None:
            async with self._loop_lock():
                if self._start_error is not None:
                    raise self._start_error
                if not self._healthy:
                    await self._start()
        return self._base_url

    def check_programs(self) -> None:
        """Raises UsageError if a program that starts the server is not on this machine."""
        build_command(self._launch, self._model, free_port())

    @property
    def running(self) -> bool:
        return self._process is not None

    def exit_reason(self) -> str | None:
        """How a server that was ready has ended by itself; None while it runs."""
        if self._exit_reason is None and self._healthy and self._process is not None:
            code = _exit_code(self._process)
            if code is not None:
                self._exit_reason = f"the server ended by itself ({_exit_text(code)})"
        return self._exit_reason

    def tail(self, lines: int = TAIL_LINES) -> list[str]:
        """The last lines of the log, as a terminal would show them: without escape sequences, and
        of overwritten lines only the last text."""
        try:
            with self.log.open("rb") as file:
                file.seek(max(0, file.seek(0, os.SEEK_END) - _TAIL_BYTES))
                text = file.read().decode("utf-8", "replace")
        except OSError:
            return []
        plain = (_ESCAPES.sub("", line).rstrip() for line in text.split("\n"))
        displayed = (line.split("\r")[-1] for line in plain)
        return [line for line in displayed if line][-lines:]

    def stop(self) -> None:
        """End the process group: SIGTERM, and SIGKILL after a grace period. Does nothing if none
        runs."""
        self.exit_reason()
        process, self._process = self._process, None
        self._healthy = False
        if process is None:
            return
        gone = False
        try:
            _signal_group(process, signal.SIGTERM)
            gone = _wait_for_group_end(process, GRACE)
        finally:
            # Also after a second Ctrl-C: no process may be left behind.
            if not gone:
                _signal_group(process, signal.SIGKILL)
                process.wait()
            if self._watchdog is not None:
                self._watchdog.communicate(b"ended\n")
                self._watchdog = None

    def _loop_lock(self) -> asyncio.Lock:
        loop = asyncio.get_running_loop()
        if self._lock is None or self._lock[0] is not loop:
            self._lock = (loop, asyncio.Lock())
        return self._lock[1]

    async def _start(self) -> None:
        began = time.monotonic()
        if self._process is None:
            self._spawn()
        try:
            await self._wait_for_health(began)
        except ServerNotStarted as error:
            self._start_error = error
            self.stop()
            raise
        self._notify(f"the server is ready after {time.monotonic() - began:.0f} s")

    def _spawn(self) -> None:
        """Start the process on a free port, and its watchdog. Raises StorageError, UsageError."""
        port = free_port()
        self.command = build_command(self._launch, self._model, port)
        try:
            self.log.parent.mkdir(parents=True, exist_ok=True)
            with self.log.open("ab") as log:
                self._process = subprocess.Popen(
                    self.command, stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT, start_new_session=True
                )
                self._watchdog = guard_processes([-self._process.pid], GRACE)
        except OSError as error:
            raise StorageError(
                f"cannot start {self.command[0]} with its log in {self.log}: {error.strerror or error}"
            ) from error
        self._base_url = f"http://{HOST}:{port}/v1"
        self._notify(f"starting a server: {self._title}")
        self._notify(f"its log: {self.log}")

    async def _wait_for_health(self, began: float) -> None:
        """Poll the server until it answers. Raises ServerNotStarted if it ends or is too slow."""
        assert self._process is not None
        port = int(self._base_url.rpartition(":")[2].partition("/")[0])
        last_notice = began
        while True:
            code = _exit_code(self._process)
            if code is not None:
                ended = f"ended before it was ready ({_exit_text(code)})"
                raise self._not_started_error(self._launch.exit_meanings.get(code, ended))
            if await asyncio.to_thread(_is_healthy, port, self._launch.health):
                self._healthy = True
                return
            now = time.monotonic()
            if now - began > self._launch.ready_seconds:
                raise self._not_started_error(
                    f"was not ready after {self._launch.ready_seconds:g} s (--requests serve_timeout=allows more)"
                )
            if now - last_notice >= _NOTICE_INTERVAL:
                last_notice = now
                last = "".join(self.tail(1))
                self._notify(f"waiting for the server, {now - began:.0f} s: {last}")
            await asyncio.sleep(_POLL_INTERVAL)

    def _not_started_error(self, what: str) -> ServerNotStarted:
        return ServerNotStarted(f"the server {self._title} {what}; {quote_log(self.tail(), self.log)}")

    @property
    def _title(self) -> str:
        return self._launch.title or shlex.join(self.command)


def quote_log(lines: Sequence[str], log: Path) -> str:
    """Quote the last lines of a log, for the end of a sentence."""
    if not lines:
        return f"it wrote nothing into its log, {log}"
    return "\n  ".join([f"the last lines of its log, {log}:", *lines])


def build_command(launch: Launch, model: str, port: int) -> tuple[str, ...]:
    """The command line, with model, host and port filled in.

    Raises UsageError if there is no {port} in it, a quote is not closed, or there is no such
    program.
    """
    try:
        parts = shlex.split(launch.command)
    except ValueError as error:
        raise UsageError(f"--serve {launch.command!r} is not a command line: {error}") from None
    if not any(_PORT in part for part in parts):
        raise UsageError(
            f"--serve {launch.command!r} has no {_PORT}; put it where the command takes its port, e.g. --port {{port}}"
        )
    filled = {_PORT: str(port), "{host}": HOST, "{model}": model}
    if _UV in parts:
        filled[_UV] = _program_path("uv", launch)
    for name, value in filled.items():
        parts = [part.replace(name, value) for part in parts]
    return (_program_path(parts[0], launch), *parts[1:])


def find_program(name: str) -> str | None:
    """The path of a program; those of this interpreter's environment are found even if it is not activated."""
    return shutil.which(name) or shutil.which(name, path=str(Path(sys.executable).parent))


def _program_path(name: str, launch: Launch) -> str:
    """The path of a program to start a server with. `python` is this interpreter. Raises UsageError."""
    if name == "python":
        return sys.executable
    path = find_program(name)
    if path is None:
        way = (
            f"install it with: {launch.install}, or name a running server with the option base_url=http://HOST:PORT/v1"
            if launch.install
            else "correct the command, or name a running server with -m http://HOST:PORT/v1#MODEL"
        )
        raise UsageError(f"there is no program {name!r} to start a server with; {way}")
    return path


def free_port() -> int:
    """A free port of the loopback interface."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
    return port


def get_json(base_url: str, path: str) -> Any:
    """The JSON that a server on this machine answers at a path; None if it does not."""
    import http.client

    address = base_url.removeprefix("http://").partition("/")[0]
    connection = http.client.HTTPConnection(address, timeout=10)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    except (OSError, ValueError, http.client.HTTPException):
        return None
    finally:
        connection.close()


def _is_healthy(port: int, paths: Sequence[str]) -> bool:
    """Whether the server answers one of the paths. One that requires a key (401) is up too."""
    import http.client

    for path in paths:
        connection = http.client.HTTPConnection(HOST, port, timeout=2)
        try:
            connection.request("GET", path)
            if connection.getresponse().status in (200, 401):
                return True
        except (OSError, http.client.HTTPException):
            return False
        finally:
            connection.close()
    return False


def _exit_code(process: subprocess.Popen[bytes]) -> int | None:
    """The exit code of the group's leader, or None, without reaping it: until it is reaped no other
    process can get its id, so signals reach only its group."""
    if process.returncode is not None or not hasattr(os, "waitid"):
        return process.poll()
    options = os.WEXITED | os.WNOHANG | os.WNOWAIT
    state = os.waitid(os.P_PID, process.pid, options)
    if state is None:
        return None
    return state.si_status if state.si_code == os.CLD_EXITED else -state.si_status


def _exit_text(code: int) -> str:
    return f"signal {signal.Signals(-code).name}" if code < 0 else f"exit code {code}"


def _signal_group(process: subprocess.Popen[bytes], number: signal.Signals) -> None:
    # PermissionError: macOS, for a group in which all have ended.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, number)


def _wait_for_group_end(process: subprocess.Popen[bytes], seconds: float) -> bool:
    """Wait up to `seconds` until no process of the group is alive.

    The leader is reaped once it has ended; the group's id stays in use while others live.
    """
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if process.poll() is not None:
            try:
                os.killpg(process.pid, 0)
            except (ProcessLookupError, PermissionError):
                return True
        time.sleep(0.05)
    return False
