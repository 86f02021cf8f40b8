"""Fetch and index the data of benchmarks, several at a time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.queues import SimpleQueue
from typing import Any

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.errors import SnellenError

_MAX_WORKERS = 8
_ROWS_PER_STEP = 1000
"""Rows between two reports of progress."""


@dataclass(frozen=True, slots=True)
class PullResult:
    """The data of a benchmark on this machine, or in `problem` why they are not."""

    name: str
    path: str = ""
    rows: int = 0
    media: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class PullStep:
    """Progress of one benchmark: bytes in the phase `fetching`, rows in the phase `preparing`."""

    name: str
    phase: str
    done: int
    total: int | None


StepCallback = Callable[[PullStep], None]


def pull(names: Sequence[str], on_step: StepCallback | None = None) -> Iterator[PullResult]:
    """Fetch, index and hash the data of each benchmark, in as many processes as there are cores.

    Yields each result as soon as it is ready. A benchmark that fails says why in
    `PullResult.problem`; the others go on.
    """
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        yield _pull_benchmark(names[0], on_step)
        return
    context = multiprocessing.get_context("spawn")
    steps = context.SimpleQueue()
    workers = min(len(names), os.cpu_count() or 1, _MAX_WORKERS)
    with (
        _forward_steps(steps, on_step),
        ProcessPoolExecutor(workers, context, _start_worker, (steps if on_step else None,)) as pool,
    ):
        running = {pool.submit(_pull_in_worker, name): name for name in names}
        for future in as_completed(running):
            yield _result(future, running[future])


def _pull_benchmark(name: str, on_step: StepCallback | None) -> PullResult:
    def phase_callback(phase: str) -> Callable[[int, int | None], None]:
        return lambda done, total: on_step(PullStep(name, phase, done, total)) if on_step else None

    try:
        benchmark = open_benchmark(name)
        if benchmark.fetch is not None:
            benchmark.fetch(phase_callback("fetching"))
        table, preparing, media = benchmark.open(), phase_callback("preparing"), 0
        # Reading the rows stores what is only known then: digests of files, frames of videos.
        for index, row in enumerate(table):
            media += len(row.media)
            if index % _ROWS_PER_STEP == 0:
                preparing(index, len(table))
        preparing(len(table), len(table))
    except SnellenError as error:
        return PullResult(name, problem=str(error))
    return PullResult(name, str(table.path), len(table), media)


_step_queue: Any = None
"""In a worker process: where it reports its progress."""


def _start_worker(steps: SimpleQueue[PullStep] | None) -> None:
    global _step_queue
    _step_queue = steps
    # Ctrl-C is for the process that waits for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _pull_in_worker(name: str) -> PullResult:
    return _pull_benchmark(name, _step_queue.put if _step_queue is not None else None)


def _result(future: Future[PullResult], name: str) -> PullResult:
    try:
        return future.result()
    except BrokenProcessPool:
        return PullResult(
            name,
            problem=f"{name}: the process that prepared it was killed, e.g. for want of memory; "
            "pull fewer benchmarks at a time",
        )


@contextmanager
def _forward_steps(steps: SimpleQueue[PullStep | None], on_step: StepCallback | None) -> Iterator[None]:
    """Pass on the progress of the workers until the block ends."""

    def forward() -> None:
        while (step := steps.get()) is not None:
            if on_step is not None:
                on_step(step)

    listener = threading.Thread(target=forward, daemon=True)
    listener.start()
    try:
        yield
    finally:
        steps.put(None)
        listener.join()


__all__ = ["PullResult", "PullStep", "pull"]
