"""Batch sizes that adapt: the largest that fit into memory and still make prompts faster."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Generic, NamedTuple, TypeVar

from snellen.core.output import Failure
from snellen.models.hf.memory import MemoryMeter
from snellen.models.split_batch import MODEL_ERRORS, failure_from_error, split_and_retry

MAX_GROWTH = 8
"""A batch may grow to this many times its initial size."""
_BATCHES_PER_SIZE = 2
"""Full batches that are timed before the next size is tried."""
_MIN_SPEEDUP = 1.05
"""A larger batch must cut the time per prompt by this factor to be kept."""
_MEMORY_SLACK = 1.25
"""Factor by which a batch may need more memory than measured batches suggest."""
_CHECK_INTERVAL = 0.5
"""Seconds between two measurements of the free memory."""
T = TypeVar("T")
R = TypeVar("R")


@dataclass(slots=True)
class BatchTiming:
    """Size and duration of one batch, filled in by the code that computes it."""

    prompts: int
    max_length: int
    """Tokens of the longest prompt with its reply."""
    prefill_tokens: int = 0
    """Prompt tokens that were computed, not taken from a cache."""
    decoded_tokens: int = 0
    """Tokens of replies."""
    prefill_seconds: float = 0.0
    """Seconds until the prompts had been read."""
    decode_seconds: float = 0.0
    _started_at: float = field(default_factory=time.perf_counter)

    def record_prefill(self, tokens: int) -> None:
        self.prefill_tokens, self.prefill_seconds = tokens, time.perf_counter() - self._started_at

    def record_decode(self, tokens: int) -> None:
        self.decoded_tokens = tokens
        self.decode_seconds = time.perf_counter() - self._started_at - self.prefill_seconds


@dataclass(slots=True)
class _BestTimes:
    """Smallest seconds per token measured with one batch size.

    The minimum, not the mean: other processes can only make a batch slower.
    """

    batches: int = 0
    prefill: float = math.inf
    decode: float = math.inf


class BatchSizers(NamedTuple):
    """Separate sizes for generation and for scoring candidates, which need different memory."""

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
        """Prompts that the next batch may have, unless they are too long for the memory."""
        self.largest = 0
        """Prompts of the largest batch so far."""
        self._max_size = max_size
        self._meter = meter
        self._times: dict[int, _BestTimes] = defaultdict(_BestTimes)
        self._previous: int | None = None
        """Size before the last doubling."""
        self._prefill_tokens = self._decoded_tokens = 0
        self._bytes_per_token = 0.0
        """Largest memory of a batch, per prompt and token of its longest prompt (as padded)."""
        self._free_bytes, self._checked_at = 0, -math.inf

    def max_prompts(self, max_length: int) -> int:
        """How many prompts of up to `max_length` tokens the next batch may have, at least 1."""
        return max(1, min(self.size, self._count_fitting(self._bytes_per_token * max_length)))

    @contextmanager
    def measure(self, timing: BatchTiming) -> Iterator[None]:
        """Measure the memory of one batch, computed inside the `with` block, then adjust the size.

        The block fills in `timing`. A batch that raises is not counted.
        """
        used_before, peak_before = self._meter.used_bytes(), self._meter.peak_bytes()
        yield
        peak_after = self._meter.peak_bytes()
        # The peak is of the process so far. If this batch raised it, the difference to the memory
        # used before is what the batch took; if not, it is an upper bound. At least one byte, to
        # tell a batch that fitted into reserved memory from a meter that measures nothing (0).
        bytes_per_token = max(peak_after - used_before, 1 if peak_after else 0) / (timing.prompts * timing.max_length)
        if peak_after > peak_before:
            self._bytes_per_token = max(self._bytes_per_token, bytes_per_token)
        self.largest = max(self.largest, timing.prompts)
        self._record(timing)
        if timing.prompts >= self.size:
            self._times[self.size].batches += 1
            self._adjust((self._bytes_per_token or bytes_per_token) * timing.max_length)

    def shrink(self, prompts: int) -> None:
        """Halve the size for good, after a batch of `prompts` ran out of memory."""
        self.size = self._max_size = max(1, min(self.size, prompts) // 2)

    def _record(self, timing: BatchTiming) -> None:
        """Add a batch to the totals and, if it was full, to the best times of its size."""
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
        """Double the size, or take back the last doubling and stop, once enough is measured.

        `bytes_per_prompt` is at least what a prompt needs; 0 if unknown, which doubles nothing.
        """
        if self.size >= self._max_size or self._times[self.size].batches < _BATCHES_PER_SIZE:
            return
        if self._previous is not None and not self._is_faster(self._previous, self.size):
            self.size = self._max_size = self._previous
        elif bytes_per_prompt and 2 * self.size <= min(self._max_size, self._count_fitting(bytes_per_prompt)):
            self._previous, self.size = self.size, 2 * self.size

    def _is_faster(self, smaller: int, larger: int) -> bool:
        return self._mean_seconds(smaller) >= _MIN_SPEEDUP * self._mean_seconds(larger)

    def _mean_seconds(self, size: int) -> float:
        """Seconds that all tokens so far would take at the best times of a size.

        Over the same tokens for every size, because batches differ in the lengths of their prompts.
        """
        best = self._times[size]
        parts = ((self._prefill_tokens, best.prefill), (self._decoded_tokens, best.decode))
        return sum(tokens * per_token for tokens, per_token in parts if tokens and per_token < math.inf)

    def _count_fitting(self, bytes_per_prompt: float) -> int:
        """How many prompts of this many bytes fit into the free memory; the present size if their
        bytes are unknown (0)."""
        if not bytes_per_prompt:
            return self.size
        now = time.monotonic()
        if now - self._checked_at > _CHECK_INTERVAL:
            self._free_bytes, self._checked_at = self._meter.free_bytes(), now
        return int(self._free_bytes / (_MEMORY_SLACK * bytes_per_prompt))


class FinishedBatch(NamedTuple, Generic[T, R]):
    """The items of a batch with their results or failures, and how long it took."""

    items: Sequence[T]
    results: Sequence[R | Failure]
    seconds: float


def run_batches(
    items: Sequence[T],
    sizer: BatchSizer,
    work: Callable[[Sequence[T], BatchTiming], Sequence[R]],
    *,
    longest: Callable[[Sequence[T]], int] = lambda _: 1,
    one_by_one: bool = False,
    on_error: Callable[[], object] = lambda: None,
) -> Iterator[FinishedBatch[T, R]]:
    """Compute `work` of the items in order, in batches as large as `sizer` says. `work` fills in the
    timing of its batch. A batch that fails is split (`split_and_retry`), after `on_error`, and makes later
    ones smaller if memory was short. `longest` is the length in tokens of the longest prompt of some items
    with its reply; by default it is not known before prompts are encoded, and each counts as one token.
    """

    def compute_measured(batch: Sequence[T]) -> Sequence[R]:
        timing = BatchTiming(len(batch), longest(batch))
        try:
            with sizer.measure(timing):
                return work(batch, timing)
        except MODEL_ERRORS as error:
            on_error()
            if failure_from_error(error).kind == "out_of_memory":
                sizer.shrink(len(batch))
            raise

    start = 0
    while start < len(items):
        size = 1 if one_by_one else sizer.max_prompts(longest(items[start:]))
        batch = items[start : start + size]
        started = time.perf_counter()
        results = split_and_retry(batch, compute_measured)
        yield FinishedBatch(batch, results, time.perf_counter() - started)
        start += len(batch)
