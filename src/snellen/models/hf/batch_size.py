"""How many prompts go through a model together: the most that fit and still make it faster."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from snellen.models.hf.memory import MemoryMeter

MAX_GROWTH = 8
"""Times its first size that a batch may grow to."""
_BATCHES_PER_SIZE = 2
"""Full batches of a size before another is tried."""
_MIN_SPEEDUP = 1.05
"""A larger batch must cut the time per prompt by this factor to be kept."""
_MEMORY_SLACK = 1.25
"""By how much a batch may need more memory than those before it told."""
_CHECK_INTERVAL = 0.5
"""Seconds between two looks at the memory that is free."""


@dataclass(slots=True)
class BatchTiming:
    """What one batch was, told by whoever computes it."""

    prompts: int
    max_length: int
    """Tokens of the longest prompt with its reply."""
    prefill_tokens: int = 0
    """Tokens of prompts that were computed."""
    decoded_tokens: int = 0
    """Tokens of replies."""
    prefill_seconds: float = 0.0
    """Seconds until the prompts were read."""
    decode_seconds: float = 0.0
    _started_at: float = field(default_factory=time.perf_counter)

    def record_prefill(self, tokens: int) -> None:
        self.prefill_tokens, self.prefill_seconds = tokens, time.perf_counter() - self._started_at

    def record_decode(self, tokens: int) -> None:
        self.decoded_tokens, self.decode_seconds = (
            tokens,
            time.perf_counter() - self._started_at - self.prefill_seconds,
        )


@dataclass(slots=True)
class _BestTimes:
    """The best seconds per token seen with one size; other processes only make it worse."""

    batches: int = 0
    prefill: float = math.inf
    decode: float = math.inf


class BatchSizers(NamedTuple):
    """Of the kinds of batches a model computes."""

    replies: BatchSizer
    candidates: BatchSizer


class BatchSizer:
    """Adapts the size of batches of one kind to the memory and the speed of the machine.

    It starts at `initial` and doubles up to `max_size` as long as the doubled batch fits into the
    memory that `meter` measures and the last doubling made prompts faster. It shrinks for good
    when memory ran out. No answer depends on the size.
    """

    def __init__(self, initial: int, max_size: int, meter: MemoryMeter) -> None:
        self.size = initial
        """Prompts that the next batch may hold."""
        self.largest = 0
        """Prompts of the largest batch that was computed."""
        self._max_size = max_size
        self._meter = meter
        self._times: dict[int, _BestTimes] = defaultdict(_BestTimes)
        self._previous: int | None = None
        self._prompts = self._prefill_tokens = self._decoded_tokens = 0
        self._bytes_per_token = 0.0
        """Bytes, the most that a batch took for each token of its longest prompt, per prompt."""
        self._free_bytes, self._checked_at = 0, -math.inf

    def max_prompts(self, max_length: int) -> int:
        """How many prompts of `max_length` tokens may be computed together."""
        return max(1, min(self.size, self._count_fitting(self._bytes_per_token * max_length)))

    @contextmanager
    def measure(self, timing: BatchTiming) -> Iterator[None]:
        """Around the computing of one batch, which tells `timing` what it did."""
        used_before, peak_before = self._meter.used_bytes(), self._meter.peak_bytes()
        yield
        peak_after = self._meter.peak_bytes()
        # A byte where a batch found room in what was already held; 0 where nothing is known.
        bytes_per_token = max(peak_after - used_before, 1 if peak_after else 0) / (
            timing.prompts * timing.max_length
        )
        if peak_after > peak_before:
            self._bytes_per_token = max(self._bytes_per_token, bytes_per_token)
        self.largest = max(self.largest, timing.prompts)
        self._record(timing)
        if timing.prompts >= self.size:
            self._times[self.size].batches += 1
            # Where loading, or an earlier batch, was higher, this one took no more than that.
            self._adjust((self._bytes_per_token or bytes_per_token) * timing.max_length)

    def shrink(self, prompts: int) -> None:
        """Memory did not suffice for so many."""
        self.size = self._max_size = max(1, min(self.size, prompts) // 2)

    def _record(self, timing: BatchTiming) -> None:
        self._prompts += timing.prompts
        self._prefill_tokens += timing.prefill_tokens
        self._decoded_tokens += timing.decoded_tokens
        if timing.prompts < self.size:
            return
        best = self._times[self.size]
        if timing.prefill_tokens:
            best.prefill = min(best.prefill, timing.prefill_seconds / timing.prefill_tokens)
        if timing.decoded_tokens:
            best.decode = min(best.decode, timing.decode_seconds / timing.decoded_tokens)

    def _adjust(self, bytes_per_prompt: float) -> None:
        """Bytes a prompt needs are known, at least as an upper bound."""
        if self.size >= self._max_size or self._times[self.size].batches < _BATCHES_PER_SIZE:
            return
        if self._previous is not None and not self._is_faster(self._previous, self.size):
            self.size = self._max_size = self._previous
        elif bytes_per_prompt and 2 * self.size <= min(
            self._max_size, self._count_fitting(bytes_per_prompt)
        ):
            self._previous, self.size = self.size, 2 * self.size

    def _is_faster(self, smaller: int, larger: int) -> bool:
        return self._mean_seconds(smaller) >= _MIN_SPEEDUP * self._mean_seconds(larger)

    def _mean_seconds(self, size: int) -> float:
        """Of the mean prompt so far, at a size's pace."""
        best = self._times[size]
        parts = ((self._prefill_tokens, best.prefill), (self._decoded_tokens, best.decode))
        return sum(tokens * each for tokens, each in parts if tokens and each < math.inf)

    def _count_fitting(self, bytes_per_prompt: float) -> int:
        """Prompts of so many bytes that fit into the memory that is free; as many as there are
        where nothing is known."""
        if not bytes_per_prompt:
            return self.size
        now = time.monotonic()
        if now - self._checked_at > _CHECK_INTERVAL:
            self._free_bytes, self._checked_at = self._meter.free_bytes(), now
        return int(self._free_bytes / (_MEMORY_SLACK * bytes_per_prompt))
