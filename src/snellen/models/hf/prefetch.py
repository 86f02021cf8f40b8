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
from snellen.models.hf.loaded import LoadedModel
from snellen.models.hf.memory import read_proc_bytes
from snellen.models.hf.tokenise import PromptTokeniser, TokenisedPrompt

_MIN_BYTES, _MAX_BYTES, _FREE_FRACTION = 512_000_000, 4_000_000_000, 0.05
"""Bytes of prompts made ready before they are asked for: a share of the memory that is free."""
_MAX_WORKERS = 8
"""More threads than these hold each other up: what is Python in a processor runs one at a time."""


class _PrefetchWorker(NamedTuple):
    tokeniser: PromptTokeniser
    executor: ThreadPoolExecutor


class PromptPrefetcher:
    """Rows of requests, made ahead (`start`) or when they are wanted (`get`).

    Requests about the same pictures go to the same thread, which remembers them.
    """

    def __init__(
        self, loaded: LoadedModel, policy: str, depth: int, workers: int | None = None
    ) -> None:
        """At most `depth` requests are made ahead, in `workers` threads: by default as many as
        there are cores that the model leaves alone."""
        # Its own: the model's is used by another thread.
        self._loaded = replace(loaded, processor=copy.deepcopy(loaded.processor))
        self._policy = policy
        self._depth = depth
        self._workers: list[_PrefetchWorker | None] = [None] * (workers or count_workers(loaded))
        self._can_append: dict[int, bool] = {}
        self._futures: dict[bytes, Future[list[TokenisedPrompt]]] = {}
        self._ready_bytes: dict[bytes, int] = {}
        """Bytes of those that are ready."""
        self._bytes_used = 0
        self._max_bytes = _byte_budget()
        self._lock = threading.Lock()

    def start(self, request: Generate | Rank) -> None:
        """Start on a request that will be asked soon, if there is room."""
        key = request_digest(request, "")
        with self._lock:
            full = len(self._futures) >= self._depth or self._bytes_used >= self._max_bytes
            if key not in self._futures and not full:
                self._futures[key] = self._submit(key, request)

    def get(self, request: Generate | Rank) -> list[TokenisedPrompt]:
        """The row of a request; of a ranking, one for each candidate.

        Raises MediaError, Unsupported and whatever the processor raises.
        """
        key = request_digest(request, "")
        with self._lock:
            future = self._futures.pop(key, None) or self._submit(key, request)
            self._bytes_used -= self._ready_bytes.pop(key, 0)
        return future.result()

    def _submit(self, key: bytes, request: Generate | Rank) -> Future[list[TokenisedPrompt]]:
        digests = [part.digest for message in request.messages for part in message.media()]
        about = "\0".join(digests).encode() or key
        index = zlib.crc32(about) % len(self._workers)
        worker = self._workers[index]
        if worker is None:
            tokeniser = PromptTokeniser(
                self._loaded, self._policy, self._can_append, len(self._workers)
            )
            worker = _PrefetchWorker(
                tokeniser, ThreadPoolExecutor(1, thread_name_prefix="snellen-prompts")
            )
            self._workers[index] = worker
        return worker.executor.submit(self._tokenise, worker.tokeniser, key, request)

    def _tokenise(
        self, tokeniser: PromptTokeniser, key: bytes, request: Generate | Rank
    ) -> list[TokenisedPrompt]:
        rows = tokeniser.tokenise(request)
        with self._lock:
            if key in self._futures and key not in self._ready_bytes:
                self._ready_bytes[key] = _media_bytes(rows)
                self._bytes_used += self._ready_bytes[key]
        return rows


def count_workers(loaded: LoadedModel) -> int:
    """Threads that make prompts ready beside a model: at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = loaded.threads if loaded.device == "cpu" else 1
    return max(1, min(_MAX_WORKERS, (cores or 1) - busy))


def _byte_budget() -> int:
    free = int(_FREE_FRACTION * read_proc_bytes("/proc/meminfo", "MemAvailable"))
    return max(_MIN_BYTES, min(_MAX_BYTES, free))


def _media_bytes(rows: Sequence[TokenisedPrompt]) -> int:
    """Rows of one request share their pictures."""
    return sum(part.nbytes for row in rows[:1] for part in row.media.values())
