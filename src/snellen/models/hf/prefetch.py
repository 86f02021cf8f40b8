"""Prompts tokenised ahead of the model in threads, so that the model never waits for a JPEG."""

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
"""Bytes that prefetched prompts may take: a part of the free memory, within two bounds."""
_MAX_WORKERS = 8
"""More threads do not help: the Python part of a processor holds the GIL."""


class _PrefetchWorker(NamedTuple):
    """A tokeniser with the one thread that uses it."""

    tokeniser: PromptTokeniser
    executor: ThreadPoolExecutor


class PromptPrefetcher:
    """Tokenises requests ahead of time (`start`), or at the latest when they are due (`get`).

    Requests about the same images go to the same thread, which caches the processed images.
    """

    def __init__(self, loaded: LoadedModel, policy: str, depth: int, workers: int | None = None) -> None:
        """At most `depth` requests are prefetched, by `workers` threads: by default one for each
        core that the model does not use."""
        # A copy, because the model's thread uses the original.
        self._loaded = replace(loaded, processor=copy.deepcopy(loaded.processor))
        self._policy = policy
        self._depth = depth
        self._workers: list[_PrefetchWorker | None] = [None] * (workers or count_workers(loaded))
        self._can_append: dict[int, bool] = {}
        self._futures: dict[bytes, Future[list[TokenisedPrompt]]] = {}
        self._ready_bytes: dict[bytes, int] = {}
        """Of prompts that are ready and not fetched yet."""
        self._bytes_used = 0
        """Sum of `_ready_bytes`."""
        self._max_bytes = _byte_budget()
        self._lock = threading.Lock()
        """Of all of the above, which workers and the model's thread change."""

    def start(self, request: Generate | Rank) -> None:
        """Begin to tokenise a request that will be due soon, if there is room."""
        key = request_digest(request, "")
        with self._lock:
            full = len(self._futures) >= self._depth or self._bytes_used >= self._max_bytes
            if key not in self._futures and not full:
                self._futures[key] = self._submit(key, request)

    def get(self, request: Generate | Rank) -> list[TokenisedPrompt]:
        """The prompts of a request as `PromptTokeniser.tokenise` returns them; waits for them.

        Raises MediaError, Unsupported and whatever the processor raises.
        """
        key = request_digest(request, "")
        with self._lock:
            future = self._futures.pop(key, None) or self._submit(key, request)
            self._bytes_used -= self._ready_bytes.pop(key, 0)
        return future.result()

    def _submit(self, key: bytes, request: Generate | Rank) -> Future[list[TokenisedPrompt]]:
        """Hand a request to the worker of its images. The lock must be held."""
        digests = [part.digest for message in request.messages for part in message.media()]
        routing_key = "\0".join(digests).encode() or key
        index = zlib.crc32(routing_key) % len(self._workers)
        worker = self._workers[index]
        if worker is None:
            tokeniser = PromptTokeniser(self._loaded, self._policy, self._can_append, len(self._workers))
            worker = _PrefetchWorker(tokeniser, ThreadPoolExecutor(1, thread_name_prefix="snellen-prompts"))
            self._workers[index] = worker
        return worker.executor.submit(self._tokenise, worker.tokeniser, key, request)

    def _tokenise(self, tokeniser: PromptTokeniser, key: bytes, request: Generate | Rank) -> list[TokenisedPrompt]:
        rows = tokeniser.tokenise(request)
        with self._lock:
            # Not counted if `get` has fetched it meanwhile.
            if key in self._futures and key not in self._ready_bytes:
                self._ready_bytes[key] = _media_bytes(rows)
                self._bytes_used += self._ready_bytes[key]
        return rows


def count_workers(loaded: LoadedModel) -> int:
    """Threads that tokenise while the model computes: at least one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    busy = loaded.threads if loaded.device == "cpu" else 1
    return max(1, min(_MAX_WORKERS, (cores or 1) - busy))


def _byte_budget() -> int:
    free = int(_FREE_FRACTION * read_proc_bytes("/proc/meminfo", "MemAvailable"))
    return max(_MIN_BYTES, min(_MAX_BYTES, free))


def _media_bytes(rows: Sequence[TokenisedPrompt]) -> int:
    """Bytes of the image inputs of one request, which all its rows share."""
    return sum(part.nbytes for row in rows[:1] for part in row.media.values())
