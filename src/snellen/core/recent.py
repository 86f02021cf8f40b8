"""A cache of the values that were used last."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import Generic, TypeVar

T = TypeVar("T")


class RecentValues(Generic[T]):
    """Values by key, the least recently used dropped first, so that their sizes sum up to at most
    `budget`. The latest is kept whatever its size, unless `keeps_latest` is false."""

    def __init__(self, budget: int, size: Callable[[T], int], *, keeps_latest: bool = True) -> None:
        self._budget, self._size, self._least = budget, size, int(keeps_latest)
        self._used = 0
        self._values: OrderedDict[Hashable, T] = OrderedDict()

    def __contains__(self, key: Hashable) -> bool:
        return key in self._values

    def get(self, key: Hashable) -> T | None:
        if key not in self._values:
            return None
        self._values.move_to_end(key)
        return self._values[key]

    def put(self, key: Hashable, value: T) -> T:
        """Keep a value, in place of the one of that key; returns it."""
        if key in self._values:
            self._used -= self._size(self._values.pop(key))
        self._values[key] = value
        self._used += self._size(value)
        while self._used > self._budget and len(self._values) > self._least:
            self._used -= self._size(self._values.popitem(last=False)[1])
        return value

    def clear(self) -> None:
        self._values.clear()
        self._used = 0
