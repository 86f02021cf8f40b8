"""Key/value caches of single prompts: kept, and put together into batches.

Every layer is held in full, without a sliding window's cropping: the attention mask looks after the
window, and a full cache can be cut at any token.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

if TYPE_CHECKING:
    from torch import Tensor


@dataclass(frozen=True, slots=True)
class Kept:
    """What a model remembers of one prompt's first `length` tokens."""

    layers: tuple[tuple[Tensor, Tensor], ...]
    """Keys and values of each layer, each of shape (heads, length, size)."""
    length: int
    next_position: int
    """The position of the token behind them; smaller than `length` where pictures share one."""

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for layer in self.layers for part in layer)

    def cut(self, length: int, head: Kept) -> Kept:
        """Its first `length` tokens; those behind its head are text, a position each."""
        layers = tuple((keys[:, :length], values[:, :length]) for keys, values in self.layers)
        return Kept(layers, length, head.next_position + length - head.length)

    def begun(self, length: int) -> Kept:
        """Its first `length` tokens, behind which there is text alone, without the memory of the
        others."""
        if length == self.length:
            return self
        layers = tuple((keys[:, :length].contiguous(), values[:, :length].contiguous())
                       for keys, values in self.layers)  # fmt: skip
        return Kept(layers, length, self.next_position + length - self.length)


NOTHING = Kept((), 0, 0)


@dataclass(frozen=True, slots=True)
class Latest:
    """The last prompt that was read with some pictures."""

    ids: tuple[int, ...]
    kept: Kept

    @property
    def nbytes(self) -> int:
        return self.kept.nbytes


def stacked(rows: Sequence[Kept]) -> tuple[Any, Tensor | None]:
    """One cache of all rows, filled up on the left, and its mask of shape (rows, longest).

    Both are empty where no row remembers anything.
    """
    import torch
    from transformers import DynamicCache

    longest = max(row.length for row in rows)
    cache = DynamicCache()
    if longest == 0:
        return cache, None
    model = next(row for row in rows if row.length)
    for number, like in enumerate(model.layers):
        parts = []
        for side in (0, 1):
            heads, _, size = like[side].shape
            whole = like[side].new_zeros((len(rows), heads, longest, size))
            for place, row in enumerate(rows):
                if row.length:
                    whole[place, :, longest - row.length :] = row.layers[number][side]
            parts.append(whole)
        cache.update(parts[0], parts[1], number)
    lengths = torch.tensor([row.length for row in rows])
    mask = torch.arange(longest)[None, :] >= longest - lengths[:, None]
    return cache, mask.long().to(model.layers[0][0].device)


def taken(cache: Any, mask: Tensor, next_positions: Sequence[int]) -> list[Kept]:
    """Each row of a batch's cache by itself, what the mask hides left out."""
    rows = []
    for place, position in enumerate(next_positions):
        real = mask[place].nonzero()[:, 0]
        layers = tuple(
            (layer.keys[place][:, real], layer.values[place][:, real]) for layer in cache.layers
        )
        rows.append(Kept(layers, len(real), position))
    return rows


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
