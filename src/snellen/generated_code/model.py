"""Programs as requests: a run asks the role `program`, and its outputs are stored like replies.

So a program runs once, whatever is scored how often, and what came of it is data of the run. A
program that fails has an output too: its failure is a result. `Failure` is for the machine alone.
"""

from __future__ import annotations

import asyncio
import atexit
import os
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import msgspec

from snellen.core.media import digest_bytes
from snellen.core.model import Capabilities, Identity, ModelDefaults
from snellen.core.output import Drawn, Failure, Generated, Output
from snellen.core.request import Draw, Request
from snellen.generated_code.messages import ProgramReport
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
        self._identity: Identity | None = None
        atexit.register(self.close)

    @property
    def identity(self) -> Identity:
        """The versions of the libraries, which decide what a program draws, and the limits. Starts
        a worker. Raises WorkerLost."""
        if self._identity is None:
            limits = {
                "cpu_seconds": f"{LIMITS.cpu_seconds}",
                "wall_seconds": f"{LIMITS.wall_seconds:g}",
                "memory_mb": f"{LIMITS.memory_mb}",
            }
            versions = self._runner.ready().versions
            self._identity = Identity("program", f"charts-{VERSION}", {**versions, **limits})
        return self._identity

    @property
    def remarks(self) -> tuple[str, ...]:
        """Which protections the system refused."""
        missing = self._runner.ready().protection.missing
        if not missing:
            return ()
        return (f"this system does not protect from what programs may do; not held: {missing}",)

    async def answer(self, request: Request) -> Output:
        """Run the program that is the text of the request."""
        loop = asyncio.get_running_loop()
        wanted = "picture" if isinstance(request, Draw) else "contents"
        try:
            report = await loop.run_in_executor(
                self._threads, partial(self._runner.run, request.text(), wanted)  # type: ignore[arg-type]
            )
        except WorkerLost as error:
            return Failure("request", str(error))
        if report.picture:
            digest = digest_bytes(report.picture)
            return Drawn((digest,), data={digest: report.picture})
        text = msgspec.json.encode(report).decode()
        # A picture that cannot be drawn is refused, which is an answer.
        return Generated(text, stop_reason="refusal" if isinstance(request, Draw) else "stop")

    def close(self) -> None:
        """End the workers."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        self._runner.close()


def read_report(output: Generated) -> ProgramReport | None:
    """The report in an output; None if it holds none."""
    try:
        return msgspec.json.decode(output.text, type=ProgramReport)
    except msgspec.MsgspecError:
        return None
