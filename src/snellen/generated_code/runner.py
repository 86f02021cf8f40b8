"""Starts workers, hands programs to them, and starts another one where one is lost."""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import queue
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from snellen.core.errors import MissingExtra, UsageError
from snellen.generated_code.charts import PROGRAM_LIBRARIES
from snellen.generated_code.limits import MB, ProgramFailure, ProgramLimits
from snellen.generated_code.messages import (
    MessageLost,
    ProgramJob,
    ProgramReport,
    ReadyWorker,
    Wanted,
    receive,
    send,
)
from snellen.generated_code.protection import Protection

LIMITS = ProgramLimits()
EXTRA = "charts"
_START = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given['path']; "
    "from snellen.generated_code.worker import main; main(**given['start'])"
)
_START_SECONDS = 120.0
"""A first import of matplotlib lists the fonts of the machine."""
_GRACE_SECONDS = 30.0
"""How much later than a program's own deadline a worker must have answered."""


def check_programs_can_run(what: str) -> None:
    """Raise UsageError where no process can be forked and limited, MissingExtra without
    matplotlib."""
    if not hasattr(os, "fork"):
        raise UsageError(
            f"{what} runs programs in processes with limits, which {sys.platform} does not have; "
            "run it on Linux or macOS, or leave the option out to collect replies"
        )
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtra(what, EXTRA, "matplotlib")


class WorkerLost(Exception):
    """A worker did not answer: neither its program nor its child is known to be at fault."""


class WorkerProcess:
    """One worker. It runs one program at a time, and is not for several threads at once."""

    def __init__(self, cache: Path, modules: Sequence[str] = tuple(PROGRAM_LIBRARIES)) -> None:
        """Start it; `cache` is where matplotlib keeps its list of fonts, and `modules` are loaded
        before any program. Raises WorkerLost."""
        self.is_stopped = False
        """Whether it was ended because nobody wants its answer any more."""
        self._folder = tempfile.mkdtemp(prefix="snellen-program-")
        home = str(Path(self._folder, "home"))
        commands, self._commands = os.pipe()
        self._reports, reports = os.pipe()
        start = {"commands": commands, "reports": reports, "home": home, "modules": modules}
        path = [entry for entry in sys.path if entry]
        try:
            self._process = subprocess.Popen(
                [sys.executable, "-c", _START, json.dumps({"path": path, "start": start})],
                env=worker_environment(home, cache),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                cwd=self._folder,
                pass_fds=(commands, reports),
                start_new_session=True,
            )
        finally:
            os.close(commands)
            os.close(reports)
        self.ready = msgspec.msgpack.decode(self._receive(_START_SECONDS), type=ReadyWorker)

    def run(self, program: str, wanted: Wanted, limits: ProgramLimits) -> ProgramReport:
        """Run one program. Raises WorkerLost."""
        try:
            send(self._commands, ProgramJob(program, wanted, limits))
        except OSError as error:
            self.close()
            raise WorkerLost("the process that runs programs has ended") from error
        answer = self._receive(limits.wall_seconds + _GRACE_SECONDS)
        return msgspec.msgpack.decode(answer, type=ProgramReport)

    def stop(self) -> None:
        """End it from another thread; the one that waits for its answer closes it."""
        self.is_stopped = True
        self._process.kill()

    def close(self) -> None:
        """End it with whatever it runs, and remove its folder."""
        for pipe in (self._commands, self._reports):
            with contextlib.suppress(OSError):
                os.close(pipe)
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)

    def _receive(self, seconds: float) -> bytes:
        most = 2 * LIMITS.report_mb * MB
        try:
            return receive(self._reports, time.monotonic() + seconds, most)
        except MessageLost as error:
            self.close()
            raise WorkerLost(f"the process that runs programs is {error}") from error


def worker_environment(home: str, cache: Path) -> dict[str, str]:
    """The whole environment of a worker: nothing of the user's, such as keys, is in it."""
    cache.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(cache),
        # The same numbers on every machine, and no threads that a fork would lose.
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class ProgramRunner:
    """Workers that are started when they are needed; `run` may be called by several threads."""

    def __init__(
        self,
        cache: Path,
        limits: ProgramLimits = LIMITS,
        modules: Sequence[str] = tuple(PROGRAM_LIBRARIES),
    ) -> None:
        self.limits = limits
        self._busy: set[WorkerProcess] = set()
        self.protection: Protection | None = None
        """What a worker said of it; None before one was started."""
        self._cache, self._modules = cache, modules
        self._idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()

    def ready(self) -> ReadyWorker:
        """What a worker says of its protection and libraries. Raises WorkerLost."""
        worker = self._worker()
        self._idle.put(worker)
        return worker.ready

    def run(self, program: str, wanted: Wanted = "contents") -> ProgramReport:
        """Run a program. Raises WorkerLost if two workers in turn are lost with it."""
        try:
            program.encode()
        except UnicodeEncodeError as error:
            return ProgramReport(ProgramFailure("error", f"UnicodeEncodeError: {error.reason}"))
        for is_last in (False, True):
            worker = self._worker()
            self._busy.add(worker)
            try:
                report = worker.run(program, wanted, self.limits)
            except WorkerLost:
                if is_last or worker.is_stopped:
                    raise
                continue
            finally:
                self._busy.discard(worker)
            self._idle.put(worker)
            return report
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End the programs that run now; `run` raises WorkerLost for them."""
        for worker in tuple(self._busy):
            worker.stop()

    def close(self) -> None:
        """End the workers that run nothing."""
        while True:
            try:
                self._idle.get_nowait().close()
            except queue.Empty:
                return

    def _worker(self) -> WorkerProcess:
        try:
            return self._idle.get_nowait()
        except queue.Empty:
            worker = WorkerProcess(self._cache, self._modules)
            self.protection = worker.ready.protection
            return worker
