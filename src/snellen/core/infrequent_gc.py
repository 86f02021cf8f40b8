"""Python's collector of cyclic garbage, run less often."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

_GC_THRESHOLD = 20_000
"""Threshold of the youngest generation (`gc.set_threshold`). Python's default of 700 (2,000 since
3.13) costs a fifth of the time of a run against a server: each of a few hundred requests in flight
keeps dozens of objects alive while it waits, which every collection visits."""
_lock = threading.Lock()
_saved: list[tuple[int, int, int]] = []
"""For each block that has not ended, in any thread, the thresholds before it began."""


@contextmanager
def infrequent_gc() -> Iterator[None]:
    """Collect cyclic garbage less often inside the block. A higher threshold and a disabled
    collector are left as they are. Blocks of several threads may overlap: the end of the last one
    restores the thresholds."""
    with _lock:
        before = gc.get_threshold()
        _saved.append(before)
        if 0 < before[0] < _GC_THRESHOLD:
            gc.set_threshold(_GC_THRESHOLD, *before[1:])
    try:
        yield
    finally:
        with _lock:
            ended = _saved.pop()
            if not _saved:
                gc.set_threshold(*ended)
