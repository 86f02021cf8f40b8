"""The process that calls functions in limited processes: it loads libraries once, and forks a child
for each call.

`runner` starts it with a clean environment, sends `LimitedCall`s, and reads a `LimitedResult` for
each. The child gives up its rights (`protection`) before it reads its data; the worker itself looks
at none.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import importlib
import importlib.util
import os
import select
import signal
import sys
import sysconfig
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec

from snellen.generated_code import namespaces
from snellen.generated_code.leftovers import end_all_processes, processes_below, remove_tree, used_memory
from snellen.generated_code.limits import MB, ProgramFailure, ProgramLimits
from snellen.generated_code.messages import (
    FAILED,
    LimitedCall,
    LimitedResult,
    MessageLost,
    ReadyWorker,
    describe_exception,
    receive,
    send,
    send_bytes,
)
from snellen.generated_code.protection import FILTER, RESOURCE_LIMITS, Protection, protect


def main(commands: int, reports: int, home: str, modules: Sequence[str], prepare: str) -> None:
    """Serve until the runner closes its end. `commands` and `reports` are the pipes, and `home` is
    the folder that each call finds empty. `modules` are imported first; then `prepare` is called,
    which returns the folders that calls may read beside the libraries."""
    # Ctrl-C is for the runner, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    is_first = False
    if sys.platform.startswith("linux"):
        libc = ctypes.CDLL(None, use_errno=True)
        is_first = namespaces.become_first_process(libc)
        namespaces.adopt_orphans(libc)
    # Imports may take long, and the runner may end meanwhile.
    signal.signal(signal.SIGALRM, lambda *_: _end_without_runner(commands))
    signal.setitimer(signal.ITIMER_REAL, 1, 1)
    _import_modules(modules)
    further = _find(prepare)() if prepare else []
    signal.setitimer(signal.ITIMER_REAL, 0)
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    forker = _Forker(Path(home), (commands, reports), [*_library_folders(), *further], is_first)
    send(reports, ReadyWorker(forker.probe()))
    while True:
        try:
            data = receive(commands, None, sys.maxsize)
        except MessageLost:
            return
        send(reports, forker.run(msgspec.msgpack.decode(data, type=LimitedCall)))


class _Forker:
    """Forks a child for each call."""

    def __init__(self, home: Path, pipes: tuple[int, int], libraries: Sequence[str], is_first: bool) -> None:
        self._home, self._pipes, self._libraries = home, pipes, libraries
        self._is_first = is_first
        self._root = home.with_name("root") if is_first else None
        if self._root is not None:
            self._root.mkdir()
        self._protection = Protection()

    def probe(self) -> Protection:
        """What protects the calls, found out by a child that gets none."""
        reader, _ = self._fork(None, ProgramLimits())
        with contextlib.suppress(MessageLost):
            look = functools.partial(_end_without_runner, self._pipes[0], self._clean)
            data = receive(reader, time.monotonic() + 30, MB, look)
            self._protection = msgspec.msgpack.decode(data, type=Protection)
        os.close(reader)
        self._clean()
        return self._protection

    def run(self, call: LimitedCall) -> LimitedResult:
        """Do a call in a child of its own, which is dead afterwards with all it has started."""
        reader, child = self._fork(call, call.limits)
        deadline = time.monotonic() + call.limits.wall_seconds
        lost = ""
        try:
            look = self._watch(call.limits)
            data = receive(reader, deadline, call.limits.report_mb * MB, look)
        except MessageLost as error:
            lost = str(error)
        finally:
            os.close(reader)
            status = _end(child, patience=0.2 if lost == "gone" else 0.0)
            self._clean()
        return LimitedResult(failure=_explain_loss(lost, status, call.limits)) if lost else LimitedResult(data)

    def _watch(self, limits: ProgramLimits) -> Callable[[], None]:
        """What is looked at while a call runs: whether the runner is there, and, without the filter
        or the limits, memory that is not address space, and the number of processes."""
        is_limited = {FILTER, RESOURCE_LIMITS} <= set(self._protection.holds)
        myself = ""
        with contextlib.suppress(OSError):
            myself = str(Path("/proc/self").readlink())

        def look() -> None:
            _end_without_runner(self._pipes[0], self._clean)
            if is_limited:
                return
            processes = list(processes_below(myself))
            if len(processes) > limits.processes:
                raise MessageLost("processes")
            if used_memory(processes) > limits.memory_mb * MB:
                raise MessageLost("memory")

        return look

    def _clean(self) -> None:
        """Leave no process and no file of a call."""
        end_all_processes(self._is_first)
        remove_tree(str(self._home))

    def _fork(self, call: LimitedCall | None, limits: ProgramLimits) -> tuple[int, int]:
        """Fork a child for a call, or for a probe; returns the pipe of its report and its id."""
        self._home.mkdir(mode=0o700, parents=True)
        # Found here, so that it is imported once.
        function = None if call is None else _find(call.function)
        reader, writer = os.pipe()
        child = os.fork()
        if child:
            os.close(writer)
            return reader, child
        try:
            os.close(reader)
            self._become_child()
            held = protect(limits, self._home, self._libraries, self._root)
            if call is None or function is None:
                send(writer, held)
            else:
                send_bytes(writer, *_call(function, call.data))
        finally:
            os._exit(0)

    def _become_child(self) -> None:
        """Leave the worker's group, pipes and terminal, and go into the empty folder."""
        os.setsid()
        for pipe in self._pipes:
            os.close(pipe)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        os.chdir(self._home)


def _end_without_runner(commands: int, clean: Callable[[], None] = lambda: None) -> None:
    """End this process if the runner is gone. It sends nothing before it has an answer: if there is
    something to read, the pipe is closed."""
    if select.select([commands], [], [], 0)[0]:
        clean()
        os._exit(0)


def _find(function: str) -> Callable[..., Any]:
    module, _, name = function.partition(":")
    found: Callable[..., Any] = getattr(importlib.import_module(module), name)
    return found


def _call(function: Callable[[bytes], bytes], data: bytes) -> tuple[bytes, int]:
    """Its result, or its exception as text and the flag that says so."""
    try:
        return function(data), 0
    except BaseException as error:  # noqa: BLE001 - what it was given is foreign: this is data
        return describe_exception(error).encode(), FAILED


def _explain_loss(reason: str, status: int, limits: ProgramLimits) -> ProgramFailure:
    """Why there is no result of a child that ended with this status."""
    killer = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if reason == "late":
        return ProgramFailure("timeout", f"it ran for more than {limits.wall_seconds:g} seconds")
    if reason == "memory" or reason.startswith("error: MemoryError"):
        return ProgramFailure("memory", f"it asked for more than {limits.memory_mb} MB")
    if reason == "processes":
        return ProgramFailure("killed", f"it started more than {limits.processes} processes")
    if reason == "long":
        return ProgramFailure("report", f"its report is longer than {limits.report_mb} MB")
    if reason in {"cut", "error: "}:
        return ProgramFailure("report", "its report ends half-way")
    if reason.startswith("error: "):
        return ProgramFailure("error", reason.removeprefix("error: "))
    if killer == signal.SIGXCPU:
        seconds = limits.cpu_seconds
        return ProgramFailure("timeout", f"it took more than {seconds} seconds of the processor")
    if killer:
        name = next((one.name for one in signal.Signals if one == killer), f"signal {killer}")
        return ProgramFailure("killed", f"it was ended by {name}")
    code = os.waitstatus_to_exitcode(status)
    return ProgramFailure("ended", f"it ended itself before it was drawn: exit code {code}")


def _end(child: int, patience: float) -> int:
    """Kill the child, after a moment in which it may end by itself; returns its status."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return status
        time.sleep(0.002)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _import_modules(modules: Sequence[str]) -> None:
    """Import what calls use, as far as it is installed."""
    warnings.simplefilter("ignore")
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def _library_folders() -> list[str]:
    """Where this Python, its packages and this one are."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(name) for name in names}
    folders |= {sysconfig.get_path(name, vars={"base": sys.base_prefix}) for name in names}
    folders |= {str(Path(sys.base_prefix, "lib")), str(Path(__file__).parents[1])}
    return sorted(filter(None, folders))
