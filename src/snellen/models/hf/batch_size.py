"""How many prompts go through a model together: the most that fit and still make it faster."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import NamedTuple

from snellen.models.hf.memory import Meter

GROWTH = 8
"""Times its first size that a batch may grow to."""
_TRIES = 2
"""Full batches of a size before another is tried."""
_FASTER = 1.05
"""A larger batch must cut the time per prompt by this factor to be kept."""
_SLACK = 1.25
"""By how much a batch may need more memory than those before it told."""
_LOOK_EVERY = 0.5
"""Seconds between two looks at the memory that is free."""


@dataclass(slots=True)
class Work:
    """What one batch was, told by whoever computes it."""

    prompts: int
    longest: int
    """Tokens of the longest prompt with its reply."""
    read: int = 0
    """Tokens of prompts that were computed."""
    said: int = 0
    """Tokens of replies."""
    reading: float = 0.0
    """Seconds until the prompts were read."""
    saying: float = 0.0
    _since: float = field(default_factory=time.perf_counter)

    def has_read(self, tokens: int) -> None:
        self.read, self.reading = tokens, time.perf_counter() - self._since

    def has_said(self, tokens: int) -> None:
        self.said, self.saying = tokens, time.perf_counter() - self._since - self.reading


@dataclass(slots=True)
class _Pace:
    """The best seconds per token seen with one size; other processes only make it worse."""

    batches: int = 0
    reading: float = math.inf
    saying: float = math.inf


class Sizes(NamedTuple):
    """Of the kinds of batches a model computes."""

    replies: Sizing
    candidates: Sizing


class Sizing:
    """The size of batches of one kind: grows from `first` up to `most`, doubling while what was
    measured says that the double fits (`meter`) and the last doubling paid; shrinks for good where
    memory was short. No answer depends on it."""

    def __init__(self, first: int, most: int, meter: Meter) -> None:
        self.size = first
        """Prompts that the next batch may hold."""
        self.largest = 0
        """Prompts of the largest batch that was computed."""
        self._most = most
        self._meter = meter
        self._paces: dict[int, _Pace] = defaultdict(_Pace)
        self._before: int | None = None
        self._prompts = self._read = self._said = 0
        self._need = 0.0
        """Bytes, the most that a batch took for each token of its longest prompt, per prompt."""
        self._free, self._looked = 0, -math.inf

    def room(self, longest: int) -> int:
        """How many prompts of `longest` tokens may be computed together."""
        return max(1, min(self.size, self._fitting(self._need * longest)))

    @contextmanager
    def measured(self, work: Work) -> Iterator[None]:
        """Around the computing of one batch, which tells `work` what it did."""
        used, highest = self._meter.used(), self._meter.highest()
        yield
        after = self._meter.highest()
        # A byte where a batch found room in what was already held; 0 where nothing is known.
        need = max(after - used, 1 if after else 0) / (work.prompts * work.longest)
        if after > highest:
            self._need = max(self._need, need)
        self.largest = max(self.largest, work.prompts)
        self._note(work)
        if work.prompts >= self.size:
            self._paces[self.size].batches += 1
            # Where loading, or an earlier batch, was higher, this one took no more than that.
            self._consider((self._need or need) * work.longest)

    def short(self, prompts: int) -> None:
        """Memory did not suffice for so many."""
        self.size = self._most = max(1, min(self.size, prompts) // 2)

    def _note(self, work: Work) -> None:
        self._prompts += work.prompts
        self._read += work.read
        self._said += work.said
        if work.prompts < self.size:
            return
        pace = self._paces[self.size]
        if work.read:
            pace.reading = min(pace.reading, work.reading / work.read)
        if work.said:
            pace.saying = min(pace.saying, work.saying / work.said)

    def _consider(self, need: float) -> None:
        """Bytes a prompt needs are known, at least as an upper bound."""
        if self.size >= self._most or self._paces[self.size].batches < _TRIES:
            return
        if self._before is not None and not self._pays(self._before, self.size):
            self.size = self._most = self._before
        elif need and 2 * self.size <= min(self._most, self._fitting(need)):
            self._before, self.size = self.size, 2 * self.size

    def _pays(self, smaller: int, larger: int) -> bool:
        return self._seconds(smaller) >= _FASTER * self._seconds(larger)

    def _seconds(self, size: int) -> float:
        """Of the mean prompt so far, at a size's pace."""
        pace = self._paces[size]
        parts = ((self._read, pace.reading), (self._said, pace.saying))
        return sum(tokens * each for tokens, each in parts if tokens and each < math.inf)

    def _fitting(self, need: float) -> int:
        """Prompts of so many bytes that fit into the memory that is free; as many as there are
        where nothing is known."""
        if not need:
            return self.size
        now = time.monotonic()
        if now - self._looked > _LOOK_EVERY:
            self._free, self._looked = self._meter.free(), now
        return int(self._free / (_SLACK * need))
