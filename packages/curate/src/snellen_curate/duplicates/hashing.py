"""Hash many pictures in several processes: decoding takes most of the time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import chain, islice

from snellen.core.errors import UsageError
from snellen.core.media import Source
from snellen_curate.duplicates.picture_hashes import BrokenPicture, PictureHash, hash_pictures

HashResult = PictureHash | BrokenPicture
HashSources = Callable[[Iterable[Source]], Iterator[HashResult]]
"""Hashes pictures, in order; a broken picture says why."""

_CHUNK = 32
"""Pictures that a process is handed at once."""
_QUEUED_CHUNKS = 8
"""Chunks for each process that are waiting or being hashed: no more are held in memory."""
_MIN_PARALLEL = 200
"""Pictures below which starting processes takes longer than it saves."""


@contextmanager
def open_hasher(processes: int | None = None) -> Iterator[HashSources]:
    """What hashes pictures in this many processes (default: as many as there are cores), which
    start with the first long batch.

    It raises UsageError if a process was killed, e.g. for want of memory.
    """
    count = processes or os.cpu_count() or 1
    pool: ProcessPoolExecutor | None = None

    def hash_sources(sources: Iterable[Source]) -> Iterator[HashResult]:
        nonlocal pool
        rest = iter(sources)
        first = list(islice(rest, _MIN_PARALLEL))
        chunks = _chunks(chain(first, rest))
        if count < 2 or len(first) < _MIN_PARALLEL:
            yield from chain.from_iterable(map(hash_pictures, chunks))
            return
        if pool is None:
            pool = opened.enter_context(_start_pool(count))
        try:
            while window := list(islice(chunks, _QUEUED_CHUNKS * count)):
                yield from chain.from_iterable(pool.map(hash_pictures, window))
        except BrokenProcessPool as error:
            raise UsageError(
                "a process that hashed pictures was killed, e.g. for want of memory; what is "
                "finished is kept: give the same command again, with fewer --limits processes"
            ) from error

    with ExitStack() as opened:
        yield hash_sources


@contextmanager
def _start_pool(processes: int) -> Iterator[ProcessPoolExecutor]:
    context = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(processes, context, _start_worker, (os.getpid(),))
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)


def _chunks(sources: Iterator[Source]) -> Iterator[list[Source]]:
    while chunk := list(islice(sources, _CHUNK)):
        yield chunk


def _start_worker(parent: int) -> None:
    # Ctrl-C is for the process that waits for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, args=(parent,), daemon=True).start()


def _exit_with_parent(parent: int) -> None:
    """End this process when the one that started it is gone, by `kill -9` too."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
