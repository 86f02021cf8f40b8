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


_SPARE_TOKENS = 64
"""Tokens for which a batch's cache has room beyond those it must hold."""

CacheLayout = tuple[tuple[int, ...], ...]
"""Which parts are held in one piece: 2 n stands for the keys of layer n, 2 n + 1 for its values."""


@dataclass(frozen=True, slots=True)
class PrefixKV:
    """What a model remembers of one prompt's first `length` tokens."""

    layout: CacheLayout
    pieces: tuple[Tensor, ...]
    """One for each entry of the plan, of shape (parts, heads, length, size)."""
    length: int
    next_position: int
    """The position of the token behind them; smaller than `length` where pictures share one."""

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self.pieces)

    def truncate(self, length: int, image_prefix: PrefixKV) -> PrefixKV:
        """Its first `length` tokens; those behind its head are text, a position each."""
        pieces = tuple(piece[:, :, :length] for piece in self.pieces)
        return PrefixKV(
            self.layout, pieces, length, image_prefix.next_position + length - image_prefix.length
        )

    def copy_prefix(self, length: int) -> PrefixKV:
        """Its first `length` tokens, behind which there is text alone, without the memory of the
        others."""
        if length == self.length:
            return self
        pieces = tuple(piece[:, :, :length].contiguous() for piece in self.pieces)
        return PrefixKV(self.layout, pieces, length, self.next_position + length - self.length)


EMPTY_PREFIX = PrefixKV((), (), 0, 0)


@dataclass(frozen=True, slots=True)
class LastPromptKV:
    """The last prompt that was read with some pictures."""

    ids: tuple[int, ...]
    prefix: PrefixKV

    @property
    def nbytes(self) -> int:
        return self.prefix.nbytes


def batch_caches(rows: Sequence[PrefixKV], extra_tokens: int) -> tuple[Any, Tensor | None]:
    """Join the caches of several prompts into the cache of one batch, padded on the left.

    The buffers have room for `extra_tokens` further tokens and `_SPARE_TOKENS` more. Returns the
    cache and its mask, shape (rows, longest row), 1 where a token is; an empty cache and None if
    every row is empty.
    """
    import torch
    from transformers import DynamicCache

    cache = DynamicCache()
    cache.layer_class_to_replicate = _preallocated_layer()
    max_length = max(row.length for row in rows)
    if max_length == 0:
        return cache, None
    template = next(row for row in rows if row.length)
    parts: dict[int, Tensor] = {}
    for piece_index, (group, piece) in enumerate(
        zip(template.layout, template.pieces, strict=True)
    ):
        _, heads, _, size = piece.shape
        buffer = piece.new_empty(
            (len(group), len(rows), heads, max_length + extra_tokens + _SPARE_TOKENS, size)
        )
        for row_index, row in enumerate(rows):
            start = max_length - row.length
            if start:
                # What the mask hides must still be a number.
                buffer[:, row_index, :, :start] = 0
            if row.length:
                buffer[:, row_index, :, start:max_length] = row.pieces[piece_index]
        parts |= dict(zip(group, buffer, strict=True))
    cache.layers = [
        _preallocated_layer().from_states(parts[key], parts[key + 1], max_length)
        for key in range(0, len(parts), 2)
    ]
    lengths = torch.tensor([row.length for row in rows])
    mask = torch.arange(max_length)[None, :] >= max_length - lengths[:, None]
    return cache, mask.long()


def split_cache(cache: Any, mask: Tensor, next_positions: Sequence[int]) -> list[PrefixKV]:
    """Each row of a batch's cache by itself, what the mask hides left out.

    Raises ValueError where a layer does not hold every token.
    """
    import torch

    parts = [part for layer in cache.layers for part in (layer.keys, layer.values)]
    if any(part.shape[2] != mask.shape[1] for part in parts):
        raise ValueError("a layer of the model has let go of some tokens")
    groups: dict[Hashable, list[int]] = {}
    for part_index, part in enumerate(parts):
        groups.setdefault((part.shape, part.dtype, part.device), []).append(part_index)
    layout = tuple(map(tuple, groups.values()))
    rows = []
    # One transfer of the whole mask: each one makes the CPU wait for the GPU.
    for row_index, (row_mask, position) in enumerate(
        zip(mask.tolist(), next_positions, strict=True)
    ):
        runs = list(_mask_runs(row_mask))
        pieces = []
        for group in layout:
            # (parts, heads, length, size) of each run of visible tokens. Several runs occur where
            # a row has padding inside: its cached prefix and its new tokens were padded apart.
            segments = [
                torch.stack([parts[index][row_index, :, start:end] for index in group])
                for start, end in runs
            ]
            pieces.append(segments[0] if len(segments) == 1 else torch.cat(segments, 2))
        rows.append(PrefixKV(layout, tuple(pieces), sum(row_mask), position))
    return rows


def _mask_runs(mask: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Where ones begin and end."""
    start = None
    for index, is_visible in enumerate([*mask, 0]):
        if is_visible and start is None:
            start = index
        elif not is_visible and start is not None:
            yield start, index
            start = None


@functools.cache
def _preallocated_layer() -> Any:
    """The class of a layer with room behind what it holds."""
    from transformers.cache_utils import DynamicLayer

    class PreallocatedLayer(DynamicLayer):  # type: ignore[misc]
        """Writes further tokens behind those it holds, where a `DynamicLayer` copies all of them
        for each new one."""

        def __init__(self) -> None:
            super().__init__()
            self._buffers: tuple[Tensor, Tensor] | None = None

        @classmethod
        def from_states(cls, keys: Tensor, values: Tensor, length: int) -> PreallocatedLayer:
            """A layer of which `length` tokens are written already."""
            layer = cls()
            layer.lazy_initialization(keys, values)
            layer._set_view((keys, values), length)
            return layer

        def update(
            self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any
        ) -> tuple[Tensor, Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
            before = self.get_seq_length()
            after = before + key_states.shape[2]
            if self._buffers is None or self._buffers[0].shape[2] < after:
                self._buffers = (
                    _extend_buffer(self.keys, key_states, before, after),
                    _extend_buffer(self.values, value_states, before, after),
                )
            for room, states in zip(self._buffers, (key_states, value_states), strict=True):
                room[:, :, before:after] = states
            self._set_view(self._buffers, after)
            return self.keys, self.values

        def batch_select_indices(self, indices: Tensor) -> None:
            if self._buffers is not None:
                keys, values = (room[indices.to(room.device)] for room in self._buffers)
                self._set_view((keys, values), self.get_seq_length())

        def _set_view(self, buffers: tuple[Tensor, Tensor], length: int) -> None:
            self._buffers = buffers
            self.keys, self.values = (room[:, :, :length] for room in buffers)

    return PreallocatedLayer


def _extend_buffer(existing: Tensor, states: Tensor, before: int, after: int) -> Tensor:
    """What is held, with room for the states and some more."""
    rows, heads, _, size = states.shape
    buffer = states.new_empty((rows, heads, after + _SPARE_TOKENS, size))
    if before:
        buffer[:, :, :before] = existing
    return buffer


class _HasBytes(Protocol):
    @property
    def nbytes(self) -> int: ...


T = TypeVar("T", bound=_HasBytes)


class PrefixCache(Generic[T]):
    """What others may share, by key: the least recently used leave first when there is no room.
    A `budget` of 0 bytes keeps nothing."""

    def __init__(self, budget: int) -> None:
        self._budget = budget
        self._bytes_used = 0
        self._entries: OrderedDict[Hashable, T] = OrderedDict()

    def get(self, key: Hashable) -> T | None:
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: Hashable, entry: T) -> None:
        """Keep it, in place of what was kept under that key."""
        replaced = self._entries.pop(key, None)
        self._bytes_used += entry.nbytes - (replaced.nbytes if replaced is not None else 0)
        self._entries[key] = entry
        while self._bytes_used > self._budget:
            _, oldest = self._entries.popitem(last=False)
            self._bytes_used -= oldest.nbytes

    def clear(self) -> None:
        """Give the memory back, e.g. when the model ran out of it."""
        self._entries.clear()
        self._bytes_used = 0
