"""Values with a key in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

KeyT = TypeVar("KeyT")
ValueT = TypeVar("ValueT")


def group_by(values: Iterable[ValueT], key: Callable[[ValueT], KeyT]) -> dict[KeyT, list[ValueT]]:
    """The values by their key, keys and values in the order in which they come."""
    groups: dict[KeyT, list[ValueT]] = {}
    for value in values:
        groups.setdefault(key(value), []).append(value)
    return groups
