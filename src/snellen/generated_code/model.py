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
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
from msgspec import structs

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import check_image, digest_bytes
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.request import Draw, Request
from snellen.generated_code.charts import PROGRAM_LIBRARIES
from snellen.generated_code.messages import ProgramReport, Wanted
from snellen.generated_code.runner import LIMITS, ProgramRunner, WorkerLost
from snellen.settings import Settings

PROGRAM = "program"
"""Role of whatever runs programs."""
VERSION = "1"
"""Changes whenever the same program could be reported differently."""
_MOST_WORKERS = 4


class ProgramModel(ModelDefaults):
    """Answers a program with the JSON of its `ProgramReport`, and a request for a picture with the
    picture (`Drawn`), or with the report where there is none."""

    def __init__(self, cache: Path | None = None) -> None:
        self._runner = ProgramRunner(cache or Settings.from_environment().cache / "matplotlib")
        self.concurrency = min(_MOST_WORKERS, os.cpu_count() or 1)
        self._threads = ThreadPoolExecutor(self.concurrency, thread_name_prefix="program")
        self.capabilities = Capabilities(inputs=frozenset({"text"}))
        self.identity = Identity("program", f"charts-{VERSION}", dict(_facts()))
        atexit.register(self.close)

    async def check(self) -> None:
        """Start a worker. Raises UsageError if none starts."""
        try:
            await asyncio.get_running_loop().run_in_executor(self._threads, self._runner.ready)
        except WorkerLost as error:
            raise UsageError(
                f"no process for programs starts ({error}): does `python -c 'import matplotlib'` "
                "work here?"
            ) from error

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which protections the system refused to the programs that ran."""
        protection = self._runner.protection
        if protection is None or not protection.missing:
            return ()
        refused = "; ".join(protection.missing)
        return (
            f"programs ran with limits, and without protections that this system lacks: {refused}",
        )

    async def answer(self, request: Request) -> Output:
        """Run the program that is the text of the request."""
        loop = asyncio.get_running_loop()
        wanted: Wanted = "picture" if isinstance(request, Draw) else "contents"
        try:
            report = await loop.run_in_executor(
                self._threads, functools.partial(self._runner.run, request.text(), wanted)
            )
        except WorkerLost as error:
            return Failure("request", str(error))
        except asyncio.CancelledError:
            # After Ctrl-C nobody waits for what still runs.
            self._runner.stop()
            raise
        if report.picture and _is_image(report.picture):
            digest = digest_bytes(report.picture)
            return Drawn((digest,), data={digest: report.picture})
        text = msgspec.json.encode(structs.replace(report, picture=b"")).decode()
        # A picture that cannot be drawn is refused, which is an answer.
        return Generated(text, stop_reason="refusal" if isinstance(request, Draw) else "stop")

    def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._runner.close()


def _is_image(data: bytes) -> bool:
    """Whether a picture can be opened: a program may have written the report itself."""
    try:
        check_image(data)
    except MediaError:
        return False
    return True


@functools.cache
def program_model() -> ProgramModel:
    """The one of this process, whose workers all runs share."""
    return ProgramModel()


def _facts() -> Iterator[tuple[str, str]]:
    """The versions of the libraries, which decide what a program draws, and the limits."""
    for distribution in sorted(set(PROGRAM_LIBRARIES.values())):
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            yield distribution, importlib.metadata.version(distribution)
    yield "cpu_seconds", str(LIMITS.cpu_seconds)
    yield "wall_seconds", f"{LIMITS.wall_seconds:g}"
    yield "memory_mb", str(LIMITS.memory_mb)


def read_report(output: Generated) -> ProgramReport | None:
    """The report in an output; None if it holds none."""
    try:
        return msgspec.json.decode(output.text, type=ProgramReport)
    except msgspec.MsgspecError:
        return None
