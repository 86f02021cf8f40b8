"""Values that are kept in memory up to a size."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from threading import Lock
from typing import Generic, TypeVar

from snellen.core.recent import RecentValues

Key = TypeVar("Key", bound=Hashable)
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values by key. Those that were not asked for the longest go first. Thread-safe."""

    def __init__(self, capacity: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        self._values: RecentValues[Value] = RecentValues(capacity, size, keeps_latest=False)
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, unless it alone is larger than all may be."""
        with self._lock:
            self._values.put(key, value)
