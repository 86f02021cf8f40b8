"""Programs as requests: a run asks the role `program`, and its outputs are stored like replies.

So a program runs once, whatever is scored how often, and what came of it is data of the run. A
program that fails has an output too: its failure is a result. `Failure` is for the machine alone.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import functools
import importlib.metadata
import os
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import structs

from snellen.core.errors import UsageError
from snellen.core.media import digest_bytes
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.request import Draw, Request
from snellen.generated_code.charts import PROGRAM_LIBRARIES
from snellen.generated_code.limits import ProgramLimits
from snellen.generated_code.program import Wanted
from snellen.generated_code.promises import PROMISES, broken_promises, refuse_unless_held
from snellen.generated_code.runner import LIMITS, ProgramRunner, WorkerLost, limited_workers
from snellen.settings import Settings

PROGRAM = "program"
"""Role of whatever runs programs."""
VERSION = "1"
"""Changes whenever the same program could be reported differently."""
_MOST_WORKERS = 4
_FUNCTION_LIMITS = ProgramLimits(cpu_seconds=30, wall_seconds=60.0, memory_mb=2048)


class ProgramModel(ModelDefaults):
    """Answers a program with the JSON of its `ProgramReport`, and a request for a picture with the
    picture (`Drawn`), or with the report where there is none. A system message names a function
    (`package.module:name`) that is called with the text instead, in a limited process: for scores
    of what programs report. `is_unprotected`: programs run even where what is promised of them does
    not hold."""

    def __init__(self, cache: Path | None = None, is_unprotected: bool = False) -> None:
        self._runner = ProgramRunner(cache or Settings.from_environment().cache / "matplotlib")
        self._is_unprotected = is_unprotected
        self._broken: Mapping[str, str] | None = None
        self._lock = threading.Lock()
        self.concurrency = min(_MOST_WORKERS, os.cpu_count() or 1)
        self._threads = ThreadPoolExecutor(self.concurrency, thread_name_prefix="program")
        self.capabilities = Capabilities(inputs=frozenset({"text"}))
        self.identity = Identity("program", f"charts-{VERSION}", dict(_facts()))
        atexit.register(self.close)

    async def check(self) -> None:
        """Start a worker, and try what is promised of programs. Raises UsageError if none starts,
        or a promise does not hold."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._try_promises)
        except WorkerLost as error:
            raise UsageError(
                f"no process for programs starts ({error}): does `python -c 'import matplotlib'` work here?"
            ) from error

    def _try_promises(self) -> None:
        """Once in each process, before the first program."""
        with self._lock:
            if self._broken is None:
                broken = broken_promises(limited_workers())
                if not self._is_unprotected:
                    refuse_unless_held(broken, limited_workers().ready().protection)
                self._runner.ready()
                self._broken = broken

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which promises did not hold for the programs that ran."""
        if not self._broken:
            return ()
        broken = "; ".join(f"{PROMISES[name]} ({did})" for name, did in self._broken.items())
        return (f"programs ran unprotected, where this does not hold: {broken}",)

    async def answer(self, request: Request) -> Output:
        """Run the program that is the text of the request, or call the function that it names."""
        try:
            return await asyncio.get_running_loop().run_in_executor(self._threads, self._answer, request)
        except WorkerLost as error:
            return Failure("request", str(error))
        except asyncio.CancelledError:
            # After Ctrl-C nobody waits for what still runs.
            self._runner.stop()
            raise

    def _answer(self, request: Request) -> Output:
        first = request.messages[0]
        if first.role == "system":
            return _call_function(first.text().split()[0], request.messages[1].text())
        self._try_promises()
        wanted: Wanted = "picture" if isinstance(request, Draw) else "contents"
        report = self._runner.run(request.text(), wanted)
        if report.picture and wanted == "picture":
            digest = digest_bytes(report.picture)
            return Drawn((digest,), data={digest: report.picture})
        text = msgspec.json.encode(structs.replace(report, picture=b"")).decode()
        # A picture that cannot be drawn is refused, which is an answer.
        return Generated(text, stop_reason="refusal" if isinstance(request, Draw) else "stop")

    def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._runner.close()


def _call_function(function: str, text: str) -> Output:
    """What a function makes of a text in a limited process; a call that fails is a failure of that
    sample."""
    result = limited_workers().call(function, text.encode(), _FUNCTION_LIMITS)
    if result.failure is not None:
        return Failure("request", f"{function}: {result.failure.message}")
    return Generated(result.data.decode(errors="replace"))


@functools.cache
def program_model(is_unprotected: bool = False) -> ProgramModel:
    """The one of this process, whose workers all runs share."""
    return ProgramModel(is_unprotected=is_unprotected)


def _facts() -> Iterator[tuple[str, str]]:
    """The versions of the libraries, which decide what a program draws, and the limits."""
    for distribution in sorted(set(PROGRAM_LIBRARIES.values())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield distribution, importlib.metadata.version(distribution)
    yield "cpu_seconds", str(LIMITS.cpu_seconds)
    yield "wall_seconds", f"{LIMITS.wall_seconds:g}"
    yield "memory_mb", str(LIMITS.memory_mb)
