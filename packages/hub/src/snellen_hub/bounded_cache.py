"""Values that are kept in memory up to a size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

Key = TypeVar("Key")
Value = TypeVar("Value")


class BoundedCache(Generic[Key, Value]):
    """Values by key. Those that were not asked for the longest go first. Thread-safe."""

    def __init__(self, capacity: int, size: Callable[[Value], int] = lambda _: 1) -> None:
        self._capacity = capacity
        self._size = size
        self._values: OrderedDict[Key, Value] = OrderedDict()
        self._used = 0
        self._lock = Lock()

    def get(self, key: Key) -> Value | None:
        with self._lock:
            if key in self._values:
                self._values.move_to_end(key)
            return self._values.get(key)

    def put(self, key: Key, value: Value) -> None:
        """Keep a value, unless it alone is larger than all may be."""
        with self._lock:
            earlier = self._values.pop(key, None)
            self._used -= 0 if earlier is None else self._size(earlier)
            self._values[key] = value
            self._used += self._size(value)
            while self._used > self._capacity:
                _, dropped = self._values.popitem(last=False)
                self._used -= self._size(dropped)
