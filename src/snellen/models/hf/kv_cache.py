"""Key/value caches of single prompts: kept, and put together into batches.

Every layer is held in full, without a sliding window's cropping: the attention mask looks after the
window, and a full cache can be cut at any token. Layers of one shape are held in one piece, so that
a prompt is put into a batch by one copy, and not by two a layer: on a GPU starting a copy costs
more than the copy.
"""

from __future__ import annotations

import functools
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Tensor


_ROOM = 64
"""Tokens for which a batch's cache has room beyond those it must hold."""

Plan = tuple[tuple[int, ...], ...]
"""Which parts are held in one piece: 2 n stands for the keys of layer n, 2 n + 1 for its values."""


@dataclass(frozen=True, slots=True)
class Kept:
    """What a model remembers of one prompt's first `length` tokens."""

    plan: Plan
    pieces: tuple[Tensor, ...]
    """One for each entry of the plan, of shape (parts, heads, length, size)."""
    length: int
    next_position: int
    """The position of the token behind them; smaller than `length` where pictures share one."""

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self.pieces)

    def cut(self, length: int, head: Kept) -> Kept:
        """Its first `length` tokens; those behind its head are text, a position each."""
        pieces = tuple(piece[:, :, :length] for piece in self.pieces)
        return Kept(self.plan, pieces, length, head.next_position + length - head.length)

    def begun(self, length: int) -> Kept:
        """Its first `length` tokens, behind which there is text alone, without the memory of the
        others."""
        if length == self.length:
            return self
        pieces = tuple(piece[:, :, :length].contiguous() for piece in self.pieces)
        return Kept(self.plan, pieces, length, self.next_position + length - self.length)


NOTHING = Kept((), (), 0, 0)


@dataclass(frozen=True, slots=True)
class Latest:
    """The last prompt that was read with some pictures."""

    ids: tuple[int, ...]
    kept: Kept

    @property
    def nbytes(self) -> int:
        return self.kept.nbytes


def stacked(rows: Sequence[Kept], more: int) -> tuple[Any, Tensor | None]:
    """One cache of all rows, filled up on the left, with room for `more` tokens and some further
    ones, and its mask of shape (rows, longest).

    It is empty, and there is no mask, where no row remembers anything.
    """
    import torch
    from transformers import DynamicCache

    cache = DynamicCache()
    cache.layer_class_to_replicate = _roomy()
    longest = max(row.length for row in rows)
    if longest == 0:
        return cache, None
    like = next(row for row in rows if row.length)
    parts: dict[int, Tensor] = {}
    for number, (group, piece) in enumerate(zip(like.plan, like.pieces, strict=True)):
        _, heads, _, size = piece.shape
        whole = piece.new_empty((len(group), len(rows), heads, longest + more + _ROOM, size))
        for place, row in enumerate(rows):
            start = longest - row.length
            if start:
                # What the mask hides must still be a number.
                whole[:, place, :, :start] = 0
            if row.length:
                whole[:, place, :, start:longest] = row.pieces[number]
        parts |= dict(zip(group, whole, strict=True))
    cache.layers = [
        _roomy().holding(parts[at], parts[at + 1], longest) for at in range(0, len(parts), 2)
    ]
    lengths = torch.tensor([row.length for row in rows])
    mask = torch.arange(longest)[None, :] >= longest - lengths[:, None]
    return cache, mask.long()


def taken(cache: Any, mask: Tensor, next_positions: Sequence[int]) -> list[Kept]:
    """Each row of a batch's cache by itself, what the mask hides left out.

    Raises ValueError where a layer does not hold every token.
    """
    import torch

    parts = [part for layer in cache.layers for part in (layer.keys, layer.values)]
    if any(part.shape[2] != mask.shape[1] for part in parts):
        raise ValueError("a layer of the model has let go of some tokens")
    groups: dict[Hashable, list[int]] = {}
    for number, part in enumerate(parts):
        groups.setdefault((part.shape, part.dtype, part.device), []).append(number)
    plan = tuple(map(tuple, groups.values()))
    rows = []
    # Looked at once: a GPU is waited for each time it is asked what a mask holds.
    for place, (shown, position) in enumerate(zip(mask.tolist(), next_positions, strict=True)):
        runs = list(_runs(shown))
        pieces = []
        for group in plan:
            found = [torch.stack([parts[number][place, :, start:end] for number in group])
                     for start, end in runs]  # fmt: skip
            pieces.append(found[0] if len(found) == 1 else torch.cat(found, 2))
        rows.append(Kept(plan, tuple(pieces), sum(shown), position))
    return rows


def _runs(shown: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where ones begin and end."""
    start = None
    for place, one in enumerate([*shown, 0]):
        if one and start is None:
            start = place
        elif not one and start is not None:
            yield start, place
            start = None


@functools.cache
def _roomy() -> Any:
    """The class of a layer with room behind what it holds."""
    from transformers.cache_utils import DynamicLayer

    class Roomy(DynamicLayer):  # type: ignore[misc]
        """Writes further tokens behind those it holds, where a `DynamicLayer` copies all of them
        for each new one."""

        def __init__(self) -> None:
            super().__init__()
            self._rooms: tuple[Tensor, Tensor] | None = None

        @classmethod
        def holding(cls, keys: Tensor, values: Tensor, length: int) -> Roomy:
            """A layer of which `length` tokens are written already."""
            layer = cls()
            layer.lazy_initialization(keys, values)
            layer._show((keys, values), length)
            return layer

        def update(
            self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
        ) -> tuple[Tensor, Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
            before = self.get_seq_length()
            after = before + key_states.shape[2]
            if self._rooms is None or self._rooms[0].shape[2] < after:
                self._rooms = (
                    _widened(self.keys, key_states, before, after),
                    _widened(self.values, value_states, before, after),
                )
            for room, states in zip(self._rooms, (key_states, value_states), strict=True):
                room[:, :, before:after] = states
            self._show(self._rooms, after)
            return self.keys, self.values

        def batch_select_indices(self, indices: Tensor) -> None:
            if self._rooms is not None:
                keys, values = (room[indices.to(room.device)] for room in self._rooms)
                self._show((keys, values), self.get_seq_length())

        def _show(self, rooms: tuple[Tensor, Tensor], length: int) -> None:
            self._rooms = rooms
            self.keys, self.values = (room[:, :, :length] for room in rooms)

    return Roomy


def _widened(held: Tensor, states: Tensor, before: int, after: int) -> Tensor:
    """What is held, with room for the states and some more."""
    rows, heads, _, size = states.shape
    room = states.new_empty((rows, heads, after + _ROOM, size))
    if before:
        room[:, :, :before] = held
    return room


class _Sized(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=_Sized)


class PrefixStore(Generic[T]):
    """What others may share, by key: the least recently used leave first when there is no room.
    A `budget` of 0 bytes keeps nothing."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._held = 0
        self._kept: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: Hashable, one: T) -> None:
        """Keep it, in place of what was kept under that key."""
        before = self._kept.pop(key, None)
        self._held += one.nbytes - (before.nbytes if before is not None else 0)
        self._kept[key] = one
        while self._held > self._budget:
            _, oldest = self._kept.popitem(last=False)
            self._held -= oldest.nbytes

    def clear(self) -> None:
        """Give the memory back, e.g. when the model ran out of it."""
        self._kept.clear()
        self._held = 0
