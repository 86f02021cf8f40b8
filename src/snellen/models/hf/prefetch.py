"""Prompts made ready ahead of the model, in threads of their own, so that the model need not wait
for a JPEG."""

from __future__ import annotations

import copy
import os
import threading
import zlib
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from typing import NamedTuple

from snellen.core.request import Generate, Rank, request_digest
from snellen.models.hf.loaded import Loaded
from snellen.models.hf.memory import memory_told
from snellen.models.hf.tokenise import Row, RowMaker

_LEAST_AHEAD, _MOST_AHEAD, _OF_FREE = 512_000_000, 4_000_000_000, 0.05
"""Bytes of prompts made ready before they are asked for: a share of the memory that is free."""
_MOST_LANES = 8
"""More threads than these hold each other up: what is Python in a processor runs one at a time."""


class _Lane(NamedTuple):
    maker: RowMaker
    thread: ThreadPoolExecutor


class Preparing:
    """Rows of requests, made ahead (`ahead`) or when they are wanted (`rows`).

    Requests about the same pictures go to the same thread, which remembers them.
    """

    def __init__(self, loaded: Loaded, policy: str, depth: int, lanes: int | None = None) -> None:
        """At most `depth` requests are made ahead, in `lanes` threads: by default as many as
        there are cores that the model leaves alone."""
        # Its own: the model's is used by another thread.
        self._loaded = replace(loaded, processor=copy.deepcopy(loaded.processor))
        self._policy = policy
        self._depth = depth
        self._lanes: list[_Lane | None] = [None] * (lanes or lanes_of(loaded))
        self._joins: dict[int, bool] = {}
        self._waiting: dict[bytes, Future[list[Row]]] = {}
        self._sizes: dict[bytes, int] = {}
        """Bytes of those that are ready."""
        self._held = 0
        self._room = _room()
        self._lock = threading.Lock()

    def ahead(self, request: Generate | Rank) -> None:
        """Start on a request that will be asked soon, if there is room."""
        key = request_digest(request, "")
        with self._lock:
            full = len(self._waiting) >= self._depth or self._held >= self._room
            if key not in self._waiting and not full:
                self._waiting[key] = self._started(key, request)

    def rows(self, request: Generate | Rank) -> list[Row]:
        """The row of a request; of a ranking, one for each candidate.

        Raises MediaError, Unsupported and whatever the processor raises.
        """
        key = request_digest(request, "")
        with self._lock:
            future = self._waiting.pop(key, None) or self._started(key, request)
            self._held -= self._sizes.pop(key, 0)
        return future.result()

    def _started(self, key: bytes, request: Generate | Rank) -> Future[list[Row]]:
        names = [part.digest for message in request.messages for part in message.media()]
        about = "\0".join(names).encode() or key
        place = zlib.crc32(about) % len(self._lanes)
        lane = self._lanes[place]
        if lane is None:
            maker = RowMaker(self._loaded, self._policy, self._joins, len(self._lanes))
            lane = _Lane(maker, ThreadPoolExecutor(1, thread_name_prefix="snellen-prompts"))
            self._lanes[place] = lane
        return lane.thread.submit(self._made, lane.maker, key, request)

    def _made(self, maker: RowMaker, key: bytes, request: Generate | Rank) -> list[Row]:
        rows = maker.rows(request)
        with self._lock:
            if key in self._waiting and key not in self._sizes:
                self._sizes[key] = _bytes(rows)
                self._held += self._sizes[key]
        return rows


def lanes_of(loaded: Loaded) -> int:
    """Threads that make prompts ready beside a model: at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = loaded.threads if loaded.device == "cpu" else 1
    return max(1, min(_MOST_LANES, (cores or 1) - busy))


def _room() -> int:
    free = int(_OF_FREE * memory_told("/proc/meminfo", "MemAvailable"))
    return max(_LEAST_AHEAD, min(_MOST_AHEAD, free))


def _bytes(rows: Sequence[Row]) -> int:
    """Rows of one request share their pictures."""
    return sum(part.nbytes for row in rows[:1] for part in row.media.values())
