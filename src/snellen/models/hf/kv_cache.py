"""Key/value caches of single prompts: cut, stored, and joined into the cache of a batch.

Every layer is stored in full, also where it attends to a sliding window only: the attention mask
applies the window, and a full cache can be cut at any token. Keys and values of all layers of one
shape are stored as one tensor, so that a prompt is copied into a batch by one operation instead of
two for each layer: on a GPU launching a copy costs more than the copy.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snellen.core.grouping import group_by

if TYPE_CHECKING:
    from torch import Tensor


_SPARE_TOKENS = 64
"""Further tokens that the cache of a batch has room for, before it must be copied."""

CacheLayout = tuple[tuple[int, ...], ...]
"""Which parts are stored as one tensor: 2 n is the keys of layer n, 2 n + 1 its values."""


@dataclass(frozen=True, slots=True)
class PrefixKV:
    """Keys and values of one prompt's first `length` tokens."""

    layout: CacheLayout
    pieces: tuple[Tensor, ...]
    """One tensor for each entry of the layout, (parts, heads, length, head size)."""
    length: int
    next_position: int
    """Position of the token after them; below `length` where tokens of an image share positions."""

    @property
    def nbytes(self) -> int:
        return sum(piece.nbytes for piece in self.pieces)

    def truncate(self, length: int, image_prefix: PrefixKV) -> PrefixKV:
        """Its first `length` tokens, as views of the same memory.

        `image_prefix` is its image prefix: the tokens after that are text, with one position each,
        from which the next position follows.
        """
        pieces = tuple(piece[:, :, :length] for piece in self.pieces)
        return PrefixKV(self.layout, pieces, length, image_prefix.next_position + length - image_prefix.length)

    def copy_prefix(self, length: int) -> PrefixKV:
        """Its first `length` tokens, after which there must be text only, in memory of their own:
        a view would keep the tensors of the complete prompt alive."""
        if length == self.length:
            return self
        pieces = tuple(piece[:, :, :length].contiguous() for piece in self.pieces)
        return PrefixKV(self.layout, pieces, length, self.next_position + length - self.length)


EMPTY_PREFIX = PrefixKV((), (), 0, 0)


@dataclass(frozen=True, slots=True)
class LastPromptKV:
    """The last prompt that was read about some images: its token ids, keys and values."""

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
    # Shapes and dtypes are those of any row that is not empty: all are of one model.
    template = next(row for row in rows if row.length)
    parts: dict[int, Tensor] = {}
    """Keys (2 n) and values (2 n + 1) of layer n, (rows, heads, tokens, head size)."""
    for piece_index, (group, piece) in enumerate(zip(template.layout, template.pieces, strict=True)):
        _, heads, _, size = piece.shape
        # (parts of the group, rows, heads, tokens with spare room, head size), not initialised.
        buffer = piece.new_empty((len(group), len(rows), heads, max_length + extra_tokens + _SPARE_TOKENS, size))
        for row_index, row in enumerate(rows):
            start = max_length - row.length
            if start:
                # Hidden by the mask, but multiplied by 0 all the same: NaN would stay NaN.
                buffer[:, row_index, :, :start] = 0
            if row.length:
                buffer[:, row_index, :, start:max_length] = row.pieces[piece_index]
        parts |= dict(zip(group, buffer, strict=True))
    cache.layers = [
        _preallocated_layer().from_states(parts[key], parts[key + 1], max_length) for key in range(0, len(parts), 2)
    ]
    # 1 in the last `length` columns of each row.
    lengths = torch.tensor([row.length for row in rows])
    mask = torch.arange(max_length)[None, :] >= max_length - lengths[:, None]
    return cache, mask.long()


def split_cache(cache: Any, mask: Tensor, next_positions: Sequence[int]) -> list[PrefixKV]:
    """Split the cache of a batch into its rows, padding removed: the reverse of `batch_caches`.

    `mask` is (rows, tokens); `next_positions` has one position for each row. The rows are copies.

    Raises ValueError if a layer does not store every token (one that crops to its window).
    """
    import torch

    parts = [part for layer in cache.layers for part in (layer.keys, layer.values)]
    if any(part.shape[2] != mask.shape[1] for part in parts):
        raise ValueError("a layer of the model has let go of some tokens")
    groups = group_by(range(len(parts)), lambda index: (parts[index].shape, parts[index].dtype, parts[index].device))
    layout = tuple(map(tuple, groups.values()))
    rows = []
    # One transfer of the whole mask: each one makes the CPU wait for the GPU.
    for row_index, (row_mask, position) in enumerate(zip(mask.tolist(), next_positions, strict=True)):
        runs = list(_mask_runs(row_mask))
        pieces = []
        for group in layout:
            # (parts, heads, length, size) of each run of visible tokens. Several runs occur where
            # a row has padding inside: its cached prefix and its new tokens were padded apart.
            segments = [torch.stack([parts[index][row_index, :, start:end] for index in group]) for start, end in runs]
            pieces.append(segments[0] if len(segments) == 1 else torch.cat(segments, 2))
        rows.append(PrefixKV(layout, tuple(pieces), sum(row_mask), position))
    return rows


def _mask_runs(mask: Sequence[int]) -> Iterator[tuple[int, int]]:
    """Start and end of each run of ones."""
    start = None
    for index, is_visible in enumerate([*mask, 0]):
        if is_visible and start is None:
            start = index
        elif not is_visible and start is not None:
            yield start, index
            start = None


@functools.cache
def _preallocated_layer() -> Any:
    """The class `PreallocatedLayer`, made on first use because transformers is optional."""
    from transformers.cache_utils import DynamicLayer

    class PreallocatedLayer(DynamicLayer):  # type: ignore[misc]
        """A cache layer with spare room: a new token is written behind the others, where a
        `DynamicLayer` copies all of them for each new one."""

        def __init__(self) -> None:
            super().__init__()
            self._buffers: tuple[Tensor, Tensor] | None = None

        @classmethod
        def from_states(cls, keys: Tensor, values: Tensor, length: int) -> PreallocatedLayer:
            """A layer over buffers (rows, heads, capacity, head size) that hold `length` tokens."""
            layer = cls()
            layer.lazy_initialization(keys, values)
            layer._set_view((keys, values), length)
            return layer

        def update(self, key_states: Tensor, value_states: Tensor, *_: Any, **__: Any) -> tuple[Tensor, Tensor]:
            if not self.is_initialized:
                self.lazy_initialization(key_states, value_states)
            before = self.get_seq_length()
            after = before + key_states.shape[2]
            if self._buffers is None or self._buffers[0].shape[2] < after:
                extend = functools.partial(_extend_buffer, before=before, after=after)
                self._buffers = extend(self.keys, key_states), extend(self.values, value_states)
            self._buffers[0][:, :, before:after] = key_states
            self._buffers[1][:, :, before:after] = value_states
            self._set_view(self._buffers, after)
            return self.keys, self.values

        def batch_select_indices(self, indices: Tensor) -> None:
            if self._buffers is not None:  # not of the views, so that the spare room stays
                keys, values = (buffer[indices.to(buffer.device)] for buffer in self._buffers)
                self._set_view((keys, values), self.get_seq_length())

        def _set_view(self, buffers: tuple[Tensor, Tensor], length: int) -> None:
            # transformers reads `keys` and `values`: views of the part that is written.
            self._buffers = buffers
            self.keys, self.values = (buffer[:, :, :length] for buffer in buffers)

    return PreallocatedLayer


def _extend_buffer(existing: Tensor, states: Tensor, before: int, after: int) -> Tensor:
    """A buffer of at least `after` tokens that begins with the `before` existing ones."""
    rows, heads, _, size = states.shape
    buffer = states.new_empty((rows, heads, after + _SPARE_TOKENS, size))
    if before:
        buffer[:, :, :before] = existing
    return buffer


def cache_argument(model: Any) -> str:
    """The name by which a model takes its keys and values: `cache` from transformers 5.24 on."""
    return "cache" if "cache" in inspect.signature(model.forward).parameters else "past_key_values"


def cache_of(output: Any) -> Any:
    """The keys and values in what a model gives back; None if it gives none."""
    cache = getattr(output, "cache", None)
    return getattr(output, "past_key_values", None) if cache is None else cache
