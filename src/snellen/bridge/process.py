"""A worker process: started with an emptied environment, called with limits of time, and ended."""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import msgspec

from snellen.bridge import protocol
from snellen.bridge.protocol import PROTOCOL, JudgeQuestion, PeerError, PeerFacts, ProtocolError, read_line, read_result
from snellen.core.errors import UsageError, storage_errors
from snellen.core.terminal_text import escape_controls
from snellen.settings import worker_variables

MAIN_FILE = Path(__file__).with_name("worker") / "main.py"
_TAIL_LINES = 8
_END_SECONDS = 2.0
T = TypeVar("T")

JudgeAnswer = Callable[[JudgeQuestion], str | None]
"""The judge's text for what a worker asks; None if it is not known yet."""


class WorkerLimits(NamedTuple):
    """Of one worker."""

    start_seconds: float = 600.0
    """For importing the tool."""
    open_seconds: float = 1800.0
    """For loading the data of a task."""
    call_seconds: float = 300.0
    """For one sample or one score."""
    whole_seconds: float = 3600.0
    """For the numbers of the run as a whole."""
    memory_mb: int = 32_768
    """Address space of the worker and of each of its children."""
    file_mb: int = 20_480
    """The largest file that it may write."""
    line_mb: int = 256
    """The longest message."""


class PeerFault(Exception):
    """The worker answered with an error: its kind, and one sentence."""

    def __init__(self, fault: PeerError) -> None:
        super().__init__(fault.message)
        self.fault = fault


class PeerLost(Exception):
    """The worker ended, did not answer in time, or wrote what is no message; the sentence ends with
    its last lines."""


class WorkerCommand(NamedTuple):
    """How a worker is started."""

    peer: str
    """Name of its adapter."""
    python: str
    """The Python of the tool's environment."""
    settings: Mapping[str, Any]
    """Of the adapter: `checkout`, `data`, `network`, ..."""
    variables: Mapping[str, str] = {}
    """What its environment has besides."""


class PeerWorker:
    """One process. Calls of several threads are done one after another."""

    def __init__(self, command: WorkerCommand, folder: Path, limits: WorkerLimits = WorkerLimits()) -> None:  # noqa: B008 - frozen
        """Start it; its log and home are in `folder`. Raises PeerLost, UsageError."""
        self.command, self.limits = command, limits
        self._lock = threading.RLock()
        self._number = 0
        self._buffer = bytearray()
        with storage_errors("write", folder):
            folder.mkdir(parents=True, exist_ok=True)
            self.log = folder / "worker.log"
            self._home = tempfile.TemporaryDirectory(prefix="home-", dir=folder, ignore_cleanup_errors=True)
        self._process = self._spawn()
        atexit.register(self.close)
        self.hello = self.call(PeerFacts, "hello", seconds=limits.start_seconds)
        if self.hello.protocol != PROTOCOL:
            self.close()
            raise PeerLost(f"{command.peer}: its worker speaks protocol {self.hello.protocol}, not {PROTOCOL}")

    def _spawn(self) -> subprocess.Popen[bytes]:
        requests, self._requests = os.pipe()
        self._replies, replies = os.pipe()
        limits = {"memory_mb": self.limits.memory_mb, "file_mb": self.limits.file_mb}
        settings = {"peer": self.command.peer, "requests": requests, "replies": replies, **limits}
        settings |= self.command.settings
        network = bool(self.command.settings.get("network"))
        try:
            with self.log.open("ab") as log:
                return subprocess.Popen(
                    [self.command.python, "-I", "-B", "-u", str(MAIN_FILE), json.dumps(settings)],
                    env={**worker_variables(self._home.name, network=network), **self.command.variables},
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=log,
                    cwd=self._home.name,
                    pass_fds=(requests, replies),
                    start_new_session=True,
                )
        except OSError as error:
            os.close(self._requests)
            os.close(self._replies)
            self._home.cleanup()
            raise UsageError(
                f"{self.command.python} does not start ({error.strerror or error}); give the Python of "
                f"an environment with {self.command.peer}"
            ) from error
        finally:
            os.close(requests)
            os.close(replies)

    @property
    def is_alive(self) -> bool:
        return self._process.poll() is None

    def call(
        self,
        kind: type[T],
        name: str,
        *,
        seconds: float | None = None,
        judge: JudgeAnswer | None = None,
        **arguments: Any,
    ) -> T:
        """Ask for something and wait for the result. Raises PeerFault, and PeerLost, after which
        the worker has ended."""
        deadline = time.monotonic() + (seconds or self.limits.call_seconds)
        with self._lock:
            self._number += 1
            try:
                self._send({"id": self._number, "call": name, **arguments})
                while (reply := read_line(self._read_line(deadline))).ask is not None:
                    self._answer(reply, judge)
                if reply.id != self._number:
                    raise ProtocolError(f"it answered request {reply.id} and was asked {self._number}")
                if reply.error is not None:
                    raise PeerFault(reply.error)
                return read_result(reply, kind)
            except (ProtocolError, OSError) as error:
                raise self._lose(str(error)) from error
            except BaseException as error:
                if not isinstance(error, PeerFault | PeerLost):
                    # Ctrl-C: what it would still answer is the answer to nothing.
                    self.close()
                raise

    def tail(self, lines: int = _TAIL_LINES) -> list[str]:
        """The last lines of its log."""
        with contextlib.suppress(OSError), self.log.open("rb") as file:
            file.seek(max(0, self.log.stat().st_size - 16_384))
            text = file.read().decode(errors="replace")
            kept = [escape_controls(line)[:200] for line in text.splitlines() if line.strip()]
            return kept[-lines:]
        return []

    def close(self) -> None:
        """End it, and whatever it has started; from any thread."""
        requests, self._requests = self._requests, -1
        if requests >= 0:
            os.close(requests)
        with contextlib.suppress(ProcessLookupError, PermissionError):
            if self._process.poll() is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    self._process.wait(_END_SECONDS if requests >= 0 else 0)
            os.killpg(self._process.pid, signal.SIGKILL)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_SECONDS)
        self._home.cleanup()
        atexit.unregister(self.close)

    def _send(self, message: Mapping[str, Any]) -> None:
        if self._requests < 0:
            raise PeerLost(f"the worker of {self.command.peer} has been ended")
        data = msgspec.json.encode(message) + b"\n"
        while data:
            data = data[os.write(self._requests, data) :]

    def _read_line(self, deadline: float) -> bytes:
        """The next line. Raises PeerLost."""
        searched = 0
        while (end := self._buffer.find(b"\n", searched)) < 0:
            searched = len(self._buffer)
            if searched > self.limits.line_mb << 20:
                raise self._lose(f"wrote a message of more than {self.limits.line_mb} MB")
            wait = deadline - time.monotonic()
            ready, _, _ = select.select([self._replies], [], [], max(0.0, min(wait, 1.0)))
            if ready:
                block = os.read(self._replies, 1 << 16)
                if not block:
                    raise self._lose("has ended")
                self._buffer += block
            elif wait <= 0:
                raise self._lose("did not answer in time")
        line = bytes(self._buffer[:end])
        del self._buffer[: end + 1]
        return line

    def _answer(self, asked: protocol.WorkerReply, judge: JudgeAnswer | None) -> None:
        question = JudgeQuestion(asked.messages, asked.role, asked.generation)
        text = judge(question) if judge is not None else None
        known = {"pending": True} if text is None else {"text": text}
        self._send({"answer": asked.ask, **known})

    def _lose(self, what: str) -> PeerLost:
        """End it, and say why."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0.2)
        code = self._process.poll()
        end = "" if code is None else f" ({_describe_exit(code)})"
        self.close()
        said = " | ".join(self.tail(_TAIL_LINES))
        last = f"; its last lines: {said}" if said else ""
        return PeerLost(f"the worker of {self.command.peer} {what}{end}{last}; its log is {self.log}")


def _describe_exit(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    return next((f"ended by {one.name}" for one in signal.Signals if one == -code), f"signal {-code}")


class Session:
    """A task that is open in a worker. A worker that is lost is started again once for each call,
    with the task opened anew."""

    def __init__(
        self,
        command: WorkerCommand,
        task: str,
        options: Mapping[str, str],
        folder: Path,
        limits: WorkerLimits = WorkerLimits(),  # noqa: B008 - frozen
    ) -> None:
        self.command, self.task, self.options, self.folder = command, task, dict(options), folder
        self.limits = limits
        self._lock = threading.RLock()
        self._worker: PeerWorker | None = None
        self._facts: protocol.TaskFacts | None = None
        self._is_stopped = False

    @property
    def hello(self) -> PeerFacts:
        return self._open_worker().hello

    @property
    def facts(self) -> protocol.TaskFacts:
        """Of the task. Opens it. Raises PeerFault, PeerLost."""
        self._open_worker()
        assert self._facts is not None
        return self._facts

    def call(
        self, kind: type[T], name: str, *, seconds: float | None = None, judge: JudgeAnswer | None = None, **given: Any
    ) -> T:
        """As of `Worker`, once more with another worker where the first is lost."""
        with self._lock:
            try:
                return self._open_worker().call(kind, name, seconds=seconds, judge=judge, **given)
            except PeerLost:
                if self._is_stopped:
                    raise
            return self._open_worker().call(kind, name, seconds=seconds, judge=judge, **given)

    def another(self, number: int) -> Session:
        """The same task in a worker of its own, whose data must be the same."""
        other = Session(self.command, self.task, self.options, self.folder / f"worker-{number}", self.limits)
        other._facts = self.facts
        return other

    def stop(self) -> None:
        """End what it does at the moment, from another thread: nobody waits for it."""
        self._is_stopped = True
        worker = self._worker
        if worker is not None:
            worker.close()

    def close(self) -> None:
        """End the worker."""
        worker, self._worker = self._worker, None
        if worker is not None:
            worker.close()

    def _open_worker(self) -> PeerWorker:
        with self._lock:
            if self._worker is None or not self._worker.is_alive:
                self.close()
                if self._facts is None:
                    # Importing such a tool may take a minute.
                    print(f"loading {self.task} with {self.command.peer}'s own code ...", file=sys.stderr, flush=True)
                worker = PeerWorker(self.command, self.folder, self.limits)
                try:
                    facts = worker.call(
                        protocol.TaskFacts,
                        "open",
                        seconds=worker.limits.open_seconds,
                        task=self.task,
                        options=self.options,
                        folder=str(self.folder / "media"),
                    )
                except BaseException:
                    worker.close()
                    raise
                if self._facts is not None and facts.digest != self._facts.digest:
                    worker.close()
                    raise PeerLost(f"the data of {self.task} have changed while it ran")
                self._worker, self._facts = worker, facts
            return self._worker
