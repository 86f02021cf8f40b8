"""Starts workers, hands calls to them, and starts another one where one is lost."""

from __future__ import annotations

import atexit
import contextlib
import functools
import importlib.util
import json
import os
import queue
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec

from snellen.core.errors import MissingExtra, UsageError
from snellen.generated_code.charts import PROGRAM_LIBRARIES
from snellen.generated_code.leftovers import remove_tree
from snellen.generated_code.limits import MB, ProgramFailure, ProgramLimits
from snellen.generated_code.messages import LimitedCall, LimitedResult, MessageLost, ReadyWorker, receive, send
from snellen.generated_code.program import READ_LIMITS, ProgramJob, ProgramReport, Wanted

LIMITS = ProgramLimits()
EXTRA = "charts"
_START = (
    "import json, sys; given = json.loads(sys.argv[1]); sys.path[:] = given['path']; "
    "from snellen.generated_code.worker import main; main(**given['start'])"
)
_START_SECONDS = 120.0
"""A first import of matplotlib lists the fonts of the machine."""
_GRACE_SECONDS = 30.0
"""How much later than a call's own deadline a worker must have answered."""
_END_SECONDS = 5.0
"""How long a worker may take to end what it runs."""


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
    """A worker did not answer: neither its call nor its child is known to be at fault."""


class WorkerProcess:
    """One worker. It does one call at a time, and is not for several threads at once."""

    def __init__(self, modules: Sequence[str] = (), prepare: str = "", cache: Path | None = None) -> None:
        """Start it. `modules` are loaded before any call, then the function `prepare` is called;
        `cache` is where matplotlib keeps its list of fonts. Raises WorkerLost."""
        self.is_stopped = False
        """Whether it was ended because nobody wants its answer any more."""
        self._folder = tempfile.mkdtemp(prefix="snellen-program-")
        # Somebody else may go through it, into the one folder that a call has.
        Path(self._folder).chmod(0o711)
        home = str(Path(self._folder, "home"))
        commands, self._commands = os.pipe()
        self._reports, reports = os.pipe()
        start = {"commands": commands, "reports": reports, "home": home}
        start |= {"modules": modules, "prepare": prepare}
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
        except OSError as error:
            self._discard()
            raise WorkerLost(f"the process that runs programs does not start: {error}") from error
        finally:
            os.close(commands)
            os.close(reports)
        self.ready = msgspec.msgpack.decode(self._receive(_START_SECONDS), type=ReadyWorker)

    def call(self, function: str, data: bytes, limits: ProgramLimits) -> LimitedResult:
        """Call `package.module:name` with these bytes. Raises WorkerLost."""
        try:
            send(self._commands, LimitedCall(function, data, limits))
        except OSError as error:
            self.close()
            raise WorkerLost("the process that runs programs has ended") from error
        answer = self._receive(limits.wall_seconds + _GRACE_SECONDS)
        return msgspec.msgpack.decode(answer, type=LimitedResult)

    def stop(self) -> None:
        """End it from another thread; the one that waits for its answer closes it."""
        self.is_stopped = True
        self._hang_up()

    def close(self) -> None:
        """End it with whatever it runs, and remove its folder."""
        self._hang_up()
        try:
            self._process.wait(_END_SECONDS)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._discard()

    def _discard(self) -> None:
        """Close the pipes of a process that is not there, and remove its folder."""
        self._hang_up()
        with contextlib.suppress(OSError):
            os.close(self._reports)
            remove_tree(self._folder)

    def _hang_up(self) -> None:
        """A worker whose pipe is closed ends all that it runs, and itself."""
        commands, self._commands = self._commands, -1
        if commands >= 0:
            os.close(commands)

    def _receive(self, seconds: float) -> bytes:
        most = 2 * LIMITS.report_mb * MB
        try:
            return receive(self._reports, time.monotonic() + seconds, most)
        except MessageLost as error:
            self.close()
            raise WorkerLost(f"the process that runs programs is {error}") from error


def worker_environment(home: str, cache: Path | None) -> dict[str, str]:
    """The whole environment of a worker: nothing of the user's, such as keys, is in it."""
    if cache is not None:
        cache.mkdir(parents=True, exist_ok=True)
    return {
        "PATH": "/usr/bin:/bin",
        "HOME": home,
        "TMPDIR": home,
        "LANG": "C.UTF-8",
        "MPLBACKEND": "agg",
        "MPLCONFIGDIR": str(cache or home),
        # The same numbers on every machine, and no threads that a fork would lose.
        "PYTHONHASHSEED": "0",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        "MKL_NUM_THREADS": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
    }


class Workers:
    """Workers that are started when they are needed; `call` may be called by several threads."""

    def __init__(self, modules: Sequence[str] = (), prepare: str = "", cache: Path | None = None) -> None:
        """As of `WorkerProcess`."""
        self._modules, self._prepare, self._cache = modules, prepare, cache
        self._busy: set[WorkerProcess] = set()
        self._idle: queue.SimpleQueue[WorkerProcess] = queue.SimpleQueue()

    def ready(self) -> ReadyWorker:
        """What a worker says of its protection. Raises WorkerLost."""
        worker = self._worker()
        self._idle.put(worker)
        return worker.ready

    def call(self, function: str, data: bytes, limits: ProgramLimits) -> LimitedResult:
        """Call a function. Raises WorkerLost if two workers in turn are lost with it."""
        for is_last in (False, True):
            worker = self._worker()
            self._busy.add(worker)
            try:
                result = worker.call(function, data, limits)
            except WorkerLost:
                if is_last or worker.is_stopped:
                    raise
                continue
            finally:
                self._busy.discard(worker)
            self._idle.put(worker)
            return result
        raise AssertionError("unreachable")

    def stop(self) -> None:
        """End the calls that run now; `call` raises WorkerLost for them."""
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
            return WorkerProcess(self._modules, self._prepare, self._cache)


@functools.cache
def limited_workers() -> Workers:
    """Those of this process that load no more than the functions that they call. They start with
    the first call, and stay."""
    workers = Workers()
    atexit.register(workers.close)
    return workers


class ProgramRunner:
    """Runs programs about charts; `run` may be called by several threads."""

    def __init__(
        self, cache: Path, limits: ProgramLimits = LIMITS, modules: Sequence[str] = tuple(PROGRAM_LIBRARIES)
    ) -> None:
        self.limits = limits
        self.programs = Workers(modules, "snellen.generated_code.program:prepare", cache)
        self.readers = limited_workers()

    def ready(self) -> ReadyWorker:
        """What a worker says of its protection. Raises WorkerLost."""
        return self.programs.ready()

    def run(self, program: str, wanted: Wanted = "contents") -> ProgramReport:
        """Run a program, and have its report read by another process. Raises WorkerLost if two
        workers in turn are lost with it."""
        try:
            job = msgspec.msgpack.encode(ProgramJob(program, wanted))
        except UnicodeEncodeError as error:
            return ProgramReport(ProgramFailure("error", f"UnicodeEncodeError: {error.reason}"))
        ran = self.programs.call("snellen.generated_code.program:run_program", job, self.limits)
        if ran.failure is not None:
            return ProgramReport(ran.failure)
        read = self.readers.call("snellen.generated_code.program:check_report", ran.data, READ_LIMITS)
        if read.failure is not None:
            why = f"its report cannot be read: {read.failure.message}"
            return ProgramReport(ProgramFailure("report", why))
        return msgspec.msgpack.decode(read.data, type=ProgramReport)

    def stop(self) -> None:
        """End the programs that run now; `run` raises WorkerLost for them."""
        self.programs.stop()

    def close(self) -> None:
        """End the workers that run nothing."""
        self.programs.close()
        self.readers.close()
