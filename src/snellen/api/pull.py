"""Brings the data of benchmarks to this machine and makes them ready, several at a time."""

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

_MOST_WORKERS = 8
_EVERY_ROWS = 1000
"""Rows between two words about how far the preparing is."""


@dataclass(frozen=True, slots=True)
class Pulled:
    """A benchmark's data on this machine, or the sentence that says why they are not."""

    name: str
    path: str = ""
    rows: int = 0
    media: int = 0
    problem: str = ""


@dataclass(frozen=True, slots=True)
class Step:
    """How far one benchmark is: bytes while it is `fetching`, rows while it is `preparing`."""

    name: str
    doing: str
    done: int
    total: int | None


Watch = Callable[[Step], None]


def pull(names: Sequence[str], watch: Watch | None = None) -> Iterator[Pulled]:
    """Fetch, index and digest the data of each benchmark; those of several in as many processes
    as there are cores, each result as soon as it is there.

    A benchmark that cannot be had is told in `Pulled.problem`; the others go on.
    """
    names = list(dict.fromkeys(names))
    if len(names) == 1:
        yield _pulled(names[0], watch)
        return
    context = multiprocessing.get_context("spawn")
    steps = context.SimpleQueue()
    workers = min(len(names), os.cpu_count() or 1, _MOST_WORKERS)
    with (
        _watched(steps, watch),
        ProcessPoolExecutor(workers, context, _begin, (steps if watch else None,)) as pool,
    ):
        running = {pool.submit(_pulled_apart, name): name for name in names}
        for future in as_completed(running):
            yield _result(future, running[future])


def _pulled(name: str, watch: Watch | None) -> Pulled:
    def told(doing: str) -> Callable[[int, int | None], None]:
        return lambda done, total: watch(Step(name, doing, done, total)) if watch else None

    try:
        benchmark = open_benchmark(name)
        if benchmark.fetch is not None:
            benchmark.fetch(told("fetching"))
        table, preparing, media = benchmark.open(), told("preparing"), 0
        # Whatever is only known when rows are read is remembered: digests of files, frames.
        for number, row in enumerate(table):
            media += len(row.media)
            if number % _EVERY_ROWS == 0:
                preparing(number, len(table))
        preparing(len(table), len(table))
    except SnellenError as error:
        return Pulled(name, problem=str(error))
    return Pulled(name, str(table.path), len(table), media)


_steps: Any = None
"""In a worker process: where it says how far it is."""


def _begin(steps: SimpleQueue[Step] | None) -> None:
    global _steps
    _steps = steps
    # Ctrl-C is for the process that waits.
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _pulled_apart(name: str) -> Pulled:
    return _pulled(name, _steps.put if _steps is not None else None)


def _result(future: Future[Pulled], name: str) -> Pulled:
    try:
        return future.result()
    except BrokenProcessPool:
        return Pulled(
            name,
            problem=f"{name}: the process that prepared it was killed, e.g. for want of memory; "
            "pull fewer benchmarks at a time",
        )


@contextmanager
def _watched(steps: SimpleQueue[Step | None], watch: Watch | None) -> Iterator[None]:
    """Hands on what the workers say, until the block ends."""

    def hand_on() -> None:
        while (step := steps.get()) is not None:
            if watch is not None:
                watch(step)

    listener = threading.Thread(target=hand_on, daemon=True)
    listener.start()
    try:
        yield
    finally:
        steps.put(None)
        listener.join()


__all__ = ["Pulled", "Step", "pull"]
