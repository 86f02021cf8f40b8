"""Hash many pictures in several processes: decoding takes most of the time."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from itertools import islice

from snellen.core.errors import UsageError
from snellen.core.media import Source
from snellen.curate.duplicates.picture_hashes import BrokenPicture, PictureHash, hash_pictures

HashResult = PictureHash | BrokenPicture

_CHUNK = 32
"""Pictures that a process is handed at once."""
_QUEUED_CHUNKS = 3
"""Chunks for each process that are waiting or being hashed: no more are held in memory."""
_MIN_PARALLEL = 200
"""Pictures below which starting processes takes longer than it saves."""


class PictureHasher:
    """Hashes pictures; made by `open_hasher`. The processes start with the first long batch."""

    def __init__(self, processes: int) -> None:
        self._processes = processes
        self._pool: ProcessPoolExecutor | None = None

    def hash(self, sources: Iterable[Source]) -> Iterator[HashResult]:
        """The hash of each picture, in order; a broken picture says why.

        Raises UsageError if a process was killed, e.g. for want of memory.
        """
        rest = iter(sources)
        first = list(islice(rest, _MIN_PARALLEL))
        if self._processes < 2 or len(first) < _MIN_PARALLEL:
            yield from hash_pictures(first)
            for chunk in _chunks(rest):
                yield from hash_pictures(chunk)
            return
        pool = self._start()
        running: deque[Future[list[HashResult]]] = deque()
        try:
            for chunk in _chunks(_join(first, rest)):
                running.append(pool.submit(hash_pictures, chunk))
                if len(running) >= _QUEUED_CHUNKS * self._processes:
                    yield from running.popleft().result()
            while running:
                yield from running.popleft().result()
        except BrokenProcessPool as error:
            raise UsageError(
                "a process that hashed pictures was killed, e.g. for want of memory; what is "
                "finished is kept: give the same command again, with fewer --processes"
            ) from error

    def _start(self) -> ProcessPoolExecutor:
        if self._pool is None:
            context = multiprocessing.get_context("spawn")
            self._pool = ProcessPoolExecutor(
                self._processes, context, _start_worker, (os.getpid(),)
            )
        return self._pool

    def close(self) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)
            self._pool = None


@contextmanager
def open_hasher(processes: int | None = None) -> Iterator[PictureHasher]:
    """A hasher with this many processes (default: as many as there are cores)."""
    hasher = PictureHasher(processes or os.cpu_count() or 1)
    try:
        yield hasher
    finally:
        hasher.close()


def _join(first: Sequence[Source], rest: Iterator[Source]) -> Iterator[Source]:
    yield from first
    yield from rest


def _chunks(sources: Iterator[Source]) -> Iterator[list[Source]]:
    while chunk := list(islice(sources, _CHUNK)):
        yield chunk


def _start_worker(parent: int) -> None:
    # Ctrl-C is for the process that waits for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(parent,), daemon=True).start()


def _end_with(parent: int) -> None:
    """End this process when the one that started it is gone, by `kill -9` too: nobody else would
    end it."""
    while os.getppid() == parent:
        time.sleep(0.5)
    os._exit(1)
