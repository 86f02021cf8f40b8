"""The process that runs programs: it loads the libraries once, and forks a child for each program.

`runner` starts it with a clean environment, sends `ProgramJob`s, and reads a `ProgramReport` for
each. The child gives up its rights (`protection`) before it reads the program; the worker itself
runs none.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import os
import random
import runpy
import shutil
import signal
import sys
import sysconfig
import time
import warnings
from collections.abc import Sequence
from pathlib import Path

import msgspec

from snellen.generated_code.charts import PROGRAM_LIBRARIES, ObservedChart, observe_charts
from snellen.generated_code.limits import MB, ProgramFailure, ProgramLimits
from snellen.generated_code.messages import (
    MessageLost,
    ProgramJob,
    ProgramReport,
    ReadyWorker,
    receive,
    send,
)
from snellen.generated_code.protection import Protection, end_with_parent, protect

_PROGRAM = "program.py"
_MOST_WORDS = 500
"""Longest message of an exception that a report repeats, in characters."""


def main(commands: int, reports: int, home: str, modules: Sequence[str]) -> None:
    """Serve until the runner closes its end. `commands` and `reports` are the pipes, `home` is the
    folder that each program finds empty, and `modules` are imported first."""
    # Ctrl-C is for the runner, which ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _import_modules(modules)
    forker = _Forker(Path(home), (commands, reports))
    send(reports, ReadyWorker(forker.probe()))
    while True:
        try:
            data = receive(commands, None, sys.maxsize)
        except MessageLost:
            return
        send(reports, forker.run(msgspec.msgpack.decode(data, type=ProgramJob)))


class _Forker:
    """Forks a child for each program. Charts are observed from the first on."""

    def __init__(self, home: Path, pipes: tuple[int, int]) -> None:
        self._home, self._pipes = home, pipes
        self._chart = observe_charts()
        self._libraries = _library_folders()

    def probe(self) -> Protection:
        """What protects the programs, found out by a child that runs none."""
        reader, child = self._fork(None, ProgramLimits())
        try:
            data = receive(reader, time.monotonic() + 30, MB)
            return msgspec.msgpack.decode(data, type=Protection)
        except MessageLost:
            return Protection(missing=("everything: the process that was to find out ended",))
        finally:
            os.close(reader)
            _end(child)

    def run(self, job: ProgramJob) -> ProgramReport:
        """Run a program in a child of its own, which is dead afterwards."""
        reader, child = self._fork(job, job.limits)
        deadline = time.monotonic() + job.limits.wall_seconds
        lost = ""
        try:
            data = receive(reader, deadline, job.limits.report_mb * MB)
            report = msgspec.msgpack.decode(data, type=ProgramReport)
        except MessageLost as error:
            lost = str(error)
        except msgspec.MsgspecError:
            lost = "garbled"
        finally:
            os.close(reader)
            status = _end(child, patience=0.0 if lost == "late" else 0.2)
        return ProgramReport(_explain_loss(lost, status, job.limits)) if lost else report

    def _fork(self, job: ProgramJob | None, limits: ProgramLimits) -> tuple[int, int]:
        """Fork a child for a job, or for a probe; returns the pipe of its report and its id."""
        shutil.rmtree(self._home, ignore_errors=True)
        self._home.mkdir(mode=0o700, parents=True)
        reader, writer = os.pipe()
        child = os.fork()
        if child:
            os.close(writer)
            return reader, child
        try:
            os.close(reader)
            self._become_child()
            held = protect(limits, self._home, self._libraries)
            send(
                writer,
                held if job is None else _run_program(job, self._home / _PROGRAM, self._chart),
            )
        finally:
            os._exit(0)

    def _become_child(self) -> None:
        """Leave the worker's group, pipes and terminal, and go into the empty folder."""
        os.setsid()
        end_with_parent()
        for pipe in self._pipes:
            os.close(pipe)
        nothing = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):
            os.dup2(nothing, standard)
        os.chdir(self._home)


def _run_program(job: ProgramJob, path: Path, chart: ObservedChart) -> ProgramReport:
    """Run the program in this process, and report what its chart holds."""
    memory = ProgramFailure("memory", f"it asked for more than {job.limits.memory_mb} MB")
    try:
        path.write_text(job.program, encoding="utf-8")
        _seed()
        warnings.simplefilter("ignore")
        runpy.run_path(str(path), run_name="__main__")
        if job.wanted == "picture":
            return ProgramReport(picture=chart.draw())
        return ProgramReport(contents=chart.contents())
    except MemoryError:
        return ProgramReport(memory)
    except SystemExit as error:
        code = error.code
        failure = ProgramFailure("ended", f"it ended itself before it was drawn: exit code {code}")
    except BaseException as error:  # noqa: BLE001 - foreign code: its failure is data
        words = f"{type(error).__name__}: {error}"[:_MOST_WORDS]
        failure = ProgramFailure("error", words.encode(errors="replace").decode())
    return ProgramReport(failure)


def _seed() -> None:
    """Programs that draw numbers without a seed draw the same ones each time."""
    random.seed(0)
    numpy = sys.modules.get("numpy")
    if numpy is not None:
        numpy.random.seed(0)


def _explain_loss(reason: str, status: int, limits: ProgramLimits) -> ProgramFailure:
    """Why there is no report of a child that ended with this status."""
    killer = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    if reason == "late":
        return ProgramFailure("timeout", f"it ran for more than {limits.wall_seconds:g} seconds")
    if killer == signal.SIGXCPU:
        seconds = limits.cpu_seconds
        return ProgramFailure("timeout", f"it took more than {seconds} seconds of the processor")
    if reason in ("long", "garbled"):
        return ProgramFailure(
            "too_large", f"its report is {reason}; it may have {limits.report_mb} MB"
        )
    if killer:
        name = next((one.name for one in signal.Signals if one == killer), f"signal {killer}")
        return ProgramFailure("killed", f"it was ended by {name}")
    code = os.waitstatus_to_exitcode(status)
    return ProgramFailure("ended", f"it ended itself before it was drawn: exit code {code}")


def _end(child: int, patience: float = 0.2) -> int:
    """Kill the child's group, after a moment in which it may end by itself; returns its status."""
    until = time.monotonic() + patience
    while time.monotonic() < until:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            _kill_group(child)
            return status
        time.sleep(0.002)
    _kill_group(child)
    with contextlib.suppress(ProcessLookupError):
        os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1]


def _kill_group(child: int) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(child, signal.SIGKILL)


def _import_modules(modules: Sequence[str]) -> None:
    """Import what programs use, as far as it is installed."""
    warnings.simplefilter("ignore")
    for module in modules:
        with contextlib.suppress(ImportError):
            importlib.import_module(module)


def _library_folders() -> list[str]:
    """Where this Python and the libraries of programs are, and what matplotlib keeps."""
    names = ("stdlib", "platstdlib", "purelib", "platlib")
    folders = {sysconfig.get_path(name) for name in names}
    folders |= {sysconfig.get_path(name, vars={"base": sys.base_prefix}) for name in names}
    folders.add(str(Path(sys.base_prefix, "lib")))
    for package in {module.partition(".")[0] for module in PROGRAM_LIBRARIES}:
        found = importlib.util.find_spec(package)
        places = () if found is None else found.submodule_search_locations or (found.origin,)
        folders |= {str(Path(place).parent) for place in places if place}
    matplotlib = sys.modules.get("matplotlib")
    if matplotlib is not None:
        folders.add(str(matplotlib.get_cachedir()))
    return sorted(filter(None, folders))
