"""Hash many images in several processes: decoding takes most of the time.

A process imports this file and what it imports, so it holds nothing but what hashing needs.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack, contextmanager
from itertools import chain

from snellen.core.errors import UsageError
from snellen.core.media import Source
from snellen_curate.duplicates.image_hashes import ImageHash, UnreadableImage, hash_images

HashResult = ImageHash | UnreadableImage
HashSources = Callable[[Iterable[Source]], Iterator[HashResult]]
"""Hashes images, in order; a broken image says why."""

_CHUNK = 32
"""Images that a process is handed at once."""
_MIN_PARALLEL = 200
"""Images below which starting processes takes longer than it saves."""


@contextmanager
def open_hasher(processes: int | None = None) -> Iterator[HashSources]:
    """What hashes a shard of images in this many processes (default: as many as there are cores),
    which start with the first long shard.

    It raises UsageError if a process was killed, e.g. for want of memory.
    """
    count = processes or os.cpu_count() or 1
    pool: ProcessPoolExecutor | None = None

    def hash_sources(sources: Iterable[Source]) -> Iterator[HashResult]:
        nonlocal pool
        every = list(sources)
        chunks = [every[start : start + _CHUNK] for start in range(0, len(every), _CHUNK)]
        if count < 2 or len(every) < _MIN_PARALLEL:
            yield from chain.from_iterable(map(hash_images, chunks))
            return
        if pool is None:
            pool = ProcessPoolExecutor(count, multiprocessing.get_context("spawn"), _start_worker)
            opened.callback(pool.shutdown, cancel_futures=True)
        try:
            yield from chain.from_iterable(pool.map(hash_images, chunks))
        except BrokenProcessPool as error:
            raise UsageError(
                "a process that hashed pictures was killed, e.g. for want of memory; what is "
                "finished is kept: give the same command again, with fewer --limits processes"
            ) from error

    with ExitStack() as opened:
        yield hash_sources


def _start_worker() -> None:
    # Ctrl-C is for the process that waits for the workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_exit_with_parent, daemon=True).start()


def _exit_with_parent() -> None:
    """End this process when the one that started it is gone, by `kill -9` too."""
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)
