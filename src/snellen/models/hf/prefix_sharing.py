"""Compute what prompts have in common once: their images, their text, their keys and values.

The *image prefix* of a prompt is everything up to its last image token. Two kinds of prefix are
reused:

- An image prefix is cached while further prompts about the same images may come: the rotations of
  a question, the two questions about an MME image.
- A longer prefix that prompts of one batch share is computed once and copied into each row: the
  context of a ranking's candidates, a question before its rotated options.

`PrefixSharing.prefill` reads a batch in three steps, each of which starts from the result of the
one before:

1. One row of every image prefix that is not cached is read, as far as all rows with that image
   prefix agree (`_uncached_groups`).
2. Longer prefixes of several rows are read, one row for each (`_prefill_shared`).
3. The remaining tokens of all rows are read in one forward pass (`_prefill_batch`).

Positions are passed with every call: some architectures (Qwen2-VL and later) otherwise continue
from those of the last prompt they have read.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.grouping import group_by
from snellen.core.recent import RecentValues
from snellen.models.hf.kv_cache import (
    EMPTY_PREFIX,
    LastPromptKV,
    PrefixKV,
    batch_caches,
    cache_argument,
    cache_of,
    split_cache,
)
from snellen.models.hf.tokenise import PrefixSharingUnsupported, TokenisedPrompt, shared_prefix_length

if TYPE_CHECKING:
    from torch import Tensor


MIN_SHARED_TOKENS = 16
"""Tokens that prompts must share after the image prefix before a forward pass of its own pays."""


@dataclass(frozen=True, slots=True)
class SharedPrefixGroup:
    """Rows of a batch, by index, that share their images and their first `length` tokens."""

    indices: tuple[int, ...]
    length: int


def prefix_groups(rows: Sequence[TokenisedPrompt]) -> Iterator[SharedPrefixGroup]:
    """Group rows that share at least `MIN_SHARED_TOKENS` tokens after a common image prefix.

    Rows that share with no other are in no group.
    """
    for indices in group_by(range(len(rows)), lambda index: rows[index].image_prefix_key()).values():
        # In lexical order rows with a long common prefix are neighbours, so that one pass is
        # enough: a row joins the group before it or begins the next.
        indices.sort(key=lambda index: rows[index].ids)
        group: list[int] = []
        length = 0
        for index in indices:
            row = rows[index]
            # `length` is what all rows of the group share; comparing with the first one is enough.
            shared = min(length or max_prefix_length(row), max_prefix_length(row))
            if group:
                shared = min(shared, shared_prefix_length(rows[group[0]].ids, row.ids))
            if group and shared < row.image_prefix_length + MIN_SHARED_TOKENS:
                yield from _group_if_shared(group, length)
                group, shared = [], max_prefix_length(row)
            group.append(index)
            length = shared
        yield from _group_if_shared(group, length)


def _group_if_shared(indices: Sequence[int], length: int) -> Iterator[SharedPrefixGroup]:
    if len(indices) > 1:
        yield SharedPrefixGroup(tuple(indices), length)


def shareable_length(first: TokenisedPrompt, second: TokenisedPrompt) -> int:
    """How many first tokens of two rows can be read once for both."""
    return min(shared_prefix_length(first.ids, second.ids), max_prefix_length(first), max_prefix_length(second))


def max_prefix_length(row: TokenisedPrompt) -> int:
    """How many first tokens of a row may come from a cache.

    The last forward pass must read the token before the scored ones (the last token, if none is
    scored), because its logits predict the next token.
    """
    return len(row.ids) - row.scored_tokens - 1


_SMALL_MODEL = 30_000_000
"""Parameters up to which reading some text again is cheaper than keeping its keys and values."""


@dataclass(slots=True)
class PrefillState:
    """A batch of prompts that the model has read, ready to be continued token by token."""

    logits: Tensor
    """(rows, kept_logits, vocab_size): predictions of the token after each of the last
    `kept_logits` tokens."""
    cache: Any
    mask: Tensor
    """(rows, tokens in the cache): 0 where a row has padding, which may also be in its middle."""
    positions: Tensor
    """(rows,): position of the next token, on the model's device, so that no step waits for a
    transfer."""


class PrefixSharing:
    """Reads prompts with one model and continues them, computing shared prefixes once.

    `budget` is the memory for cached prefixes in bytes. At most `batch_size` prefixes are computed
    in one forward pass.
    """

    def __init__(self, model: Any, budget: int, batch_size: int) -> None:
        self._model = model
        self._image_prefixes: RecentValues[PrefixKV] = RecentValues(
            2 * budget // 3, lambda prefix: prefix.nbytes, keeps_latest=False
        )
        self._last_prompts: RecentValues[LastPromptKV] = RecentValues(
            budget // 3, lambda prompt: prompt.nbytes, keeps_latest=False
        )
        self._batch_size = batch_size
        self._cache_argument = cache_argument(model)
        self._accepted_arguments = frozenset(inspect.signature(model.forward).parameters)
        # Models whose positions depend on the images (Qwen2-VL and later) compute them here.
        methods = (getattr(module, "get_rope_index", None) for module in model.modules())
        self._rope_index: Callable[..., Any] | None = next(filter(None, methods), None)
        self._axes = 1 if self._rope_index is None else _count_axes(model)
        self.keeps_prompts = model.num_parameters() > _SMALL_MODEL
        """Whether complete prompts are cached, one for each image prefix, not only the prefixes."""
        self.prefill_tokens = 0
        """Prompt tokens computed so far. Those of image prefixes count twice, because the vision
        tower has computed the images as well."""

    def prefill(self, rows: Sequence[TokenisedPrompt], kept_logits: int = 1) -> PrefillState:
        """Read the prompts to their end; the state has the last `kept_logits` logits of each."""
        cached = self._find_prefixes(rows)
        state = self._prefill_batch(rows, cached, [len(row.ids) for row in rows], kept_logits)
        if self.keeps_prompts and not any(row.scored_tokens for row in rows):
            # The next rotation of a question begins with the same text.
            prefixes = split_cache(state.cache, state.mask, state.positions.tolist())
            for row, prefix in zip(rows, prefixes, strict=True):
                self._last_prompts.put(row.image_prefix_key(), LastPromptKV(row.ids, prefix))
        return state

    def logits_unshared(self, row: TokenisedPrompt) -> Tensor:
        """The last logits, shape (vocab_size,), of one prompt in a plain forward pass."""
        import torch

        ids = torch.tensor([row.ids], device=self._model.device)
        inputs = {name: values[None].to(self._model.device) for name, values in row.token_type_inputs.items()}
        with torch.inference_mode():
            out = self._model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                use_cache=False,
                **self._logits_argument(1),
                **inputs,
                **self._media_inputs([row]),
            )
        logits: Tensor = out.logits[0, -1]
        return logits

    def clear(self) -> None:
        """Free the memory of all cached prefixes."""
        self._image_prefixes.clear()
        self._last_prompts.clear()

    def step(self, state: PrefillState, tokens: Tensor) -> Tensor:
        """Read one more token of each row, `tokens` (rows,), and update the state.

        Returns the logits of the token after it, (rows, vocab_size).
        """
        import torch

        ones = state.mask.new_ones((len(tokens), 1))
        state.mask = torch.cat([state.mask, ones], 1)
        # Generated text has the same position on every axis: (rows,) to (axes, rows, 1).
        positions = _drop_single_axis(state.positions[None, :, None].expand(self._axes, -1, -1))
        state.positions = state.positions + 1
        out = self._forward(tokens[:, None], state.mask, positions, state.cache, 1)
        logits: Tensor = out.logits[:, -1]
        return logits

    def _find_prefixes(self, rows: Sequence[TokenisedPrompt]) -> list[PrefixKV]:
        """The longest prefix of each row that is computed, after computing the shared ones."""
        # Held for this batch besides the cache, which may drop an entry while the batch needs it.
        image_prefixes: dict[Hashable, PrefixKV] = {}
        prefixes: dict[int, PrefixKV] = {}
        """Of rows that share one, by the row's index."""
        for groups in self._uncached_groups(rows, image_prefixes):
            firsts = [rows[group.indices[0]] for group in groups]
            computed = self._prefill_groups(firsts, [EMPTY_PREFIX] * len(groups), groups)
            for group, row, prefix in zip(groups, firsts, computed, strict=True):
                # The text after the images is of use to this batch alone: it is not cached.
                image_prefix = prefix.copy_prefix(row.image_prefix_length)
                image_prefixes[row.image_prefix_key()] = image_prefix
                self._image_prefixes.put(row.image_prefix_key(), image_prefix)
                prefixes |= dict.fromkeys(group.indices, prefix)
        self._prefill_shared(rows, image_prefixes, prefixes)
        return [
            prefixes.get(index) or self._find_prefix(row, max_prefix_length(row), image_prefixes)
            for index, row in enumerate(rows)
        ]

    def _uncached_groups(
        self, rows: Sequence[TokenisedPrompt], image_prefixes: dict[Hashable, PrefixKV]
    ) -> Iterator[Sequence[SharedPrefixGroup]]:
        """Batches of groups whose image prefix must be computed, one group for each image prefix.

        A group's length is what all its rows share, or the image prefix for a single row. Groups
        of one batch have media of the same shapes, so that they can be stacked. Image prefixes
        that are cached are added to `image_prefixes` instead.
        """
        with_images = (index for index, row in enumerate(rows) if row.image_prefix_length)
        by_image_prefix = group_by(with_images, lambda index: rows[index].image_prefix_key())
        shapes: dict[Hashable, list[SharedPrefixGroup]] = defaultdict(list)
        for key, indices in by_image_prefix.items():
            cached = self._image_prefixes.get(key)
            if cached is not None:
                image_prefixes[key] = cached
                continue
            first = rows[indices[0]]
            length = min(
                (shareable_length(first, rows[index]) for index in indices[1:]), default=first.image_prefix_length
            )
            shape = tuple((name, tuple(part.shape[1:])) for name, part in first.media.items())
            shapes[shape].append(SharedPrefixGroup(tuple(indices), length))
        for groups in shapes.values():
            for start in range(0, len(groups), self._batch_size):
                yield groups[start : start + self._batch_size]

    def _prefill_shared(
        self,
        rows: Sequence[TokenisedPrompt],
        image_prefixes: Mapping[Hashable, PrefixKV],
        prefixes: dict[int, PrefixKV],
    ) -> None:
        """Compute prefixes shared by several rows beyond the image prefix, unless cached.

        `prefixes` (by row index) is updated for the rows of every group.
        """
        groups = list(prefix_groups(rows))
        for start in range(0, len(groups), self._batch_size):
            batch = groups[start : start + self._batch_size]
            firsts = [rows[group.indices[0]] for group in batch]
            cached = [
                prefixes.get(group.indices[0]) or self._find_prefix(row, group.length, image_prefixes)
                for row, group in zip(firsts, batch, strict=True)
            ]
            if any(prefix.length < group.length for prefix, group in zip(cached, batch, strict=True)):
                cached = self._prefill_groups(firsts, cached, batch)
            for group, prefix in zip(batch, cached, strict=True):
                prefixes |= dict.fromkeys(group.indices, prefix)

    def _prefill_groups(
        self, firsts: Sequence[TokenisedPrompt], cached: Sequence[PrefixKV], groups: Sequence[SharedPrefixGroup]
    ) -> list[PrefixKV]:
        """Compute the shared prefix of each group from its first row, on top of `cached`."""
        state = self._prefill_batch(firsts, cached, [group.length for group in groups], 1)
        return split_cache(state.cache, state.mask, state.positions.tolist())

    def _find_prefix(self, row: TokenisedPrompt, limit: int, image_prefixes: Mapping[Hashable, PrefixKV]) -> PrefixKV:
        """The longest prefix of a row, at most `limit` tokens, that is computed already: part of
        the last prompt with its images, else its image prefix, which may be empty."""
        image_prefix = image_prefixes.get(row.image_prefix_key(), EMPTY_PREFIX)
        last_prompt = self._last_prompts.get(row.image_prefix_key())
        if last_prompt is None:
            return image_prefix
        length = min(shared_prefix_length(last_prompt.ids, row.ids), limit)
        return (
            last_prompt.prefix.truncate(length, image_prefix)
            if length >= image_prefix.length + MIN_SHARED_TOKENS
            else image_prefix
        )

    def _prefill_batch(
        self, rows: Sequence[TokenisedPrompt], cached: Sequence[PrefixKV], lengths: Sequence[int], kept_logits: int
    ) -> PrefillState:
        """Read each row from the end of its cached prefix up to `lengths`, in one forward pass.

        Images are passed for rows whose prefix does not contain them yet. Raises
        PrefixSharingUnsupported if the model returns no cache.
        """
        import torch

        device = self._model.device
        row_positions = [
            self._token_positions(row, prefix, end) for row, prefix, end in zip(rows, cached, lengths, strict=True)
        ]
        # Row i reads the tokens start..end; a row with nothing to read is all padding.
        spans = [(prefix.length, end) for prefix, end in zip(cached, lengths, strict=True)]
        ids, mask, positions, token_type_inputs = _pad_left(rows, spans, row_positions, self._axes)
        # The prefixes are padded on the left as well, by themselves. A row of the full mask,
        # (longest prefix + width), is therefore [padding, prefix, padding, new tokens]: the gap in
        # the middle does no harm, because positions are explicit and the mask hides it.
        cache, cached_mask = batch_caches(cached, ids.shape[1])
        full_mask = (mask if cached_mask is None else torch.cat([cached_mask, mask], 1)).to(device)
        # A prefix is empty or holds all images of its row, so that media go in whole or not at
        # all. Their order is that of the rows: models match images to image tokens in batch order.
        rows_with_media = [
            row for row, prefix in zip(rows, cached, strict=True) if prefix.length < row.image_prefix_length
        ]
        self.prefill_tokens += sum(end - start for start, end in spans)
        self.prefill_tokens += sum(row.image_prefix_length for row in rows_with_media)
        inputs = {name: values.to(device) for name, values in token_type_inputs.items()}
        inputs |= self._media_inputs(rows_with_media)
        positions = _drop_single_axis(positions.to(device))
        out = self._forward(ids.to(device), full_mask, positions, cache, kept_logits, **inputs)
        filled = cache_of(out)
        if filled is None:
            raise PrefixSharingUnsupported("it does not give back the keys and values of a prompt")
        next_positions = torch.tensor(list(map(_next_position, row_positions, cached)), device=device)
        return PrefillState(out.logits[:, -kept_logits:], filled, full_mask, next_positions)

    def _token_positions(self, row: TokenisedPrompt, cached: PrefixKV, end: int) -> Tensor:
        """Positions of a row's tokens from the end of its prefix to `end`: (axes, tokens)."""
        import torch

        # Text after the images: one position a token, the same on every axis.
        if self._rope_index is None or cached.length >= row.image_prefix_length:
            positions = torch.arange(cached.next_position, cached.next_position + end - cached.length)
            return positions[None].expand(self._axes, -1)
        # Computed in main memory, where the images' sizes are: it takes many small steps, each of
        # which would be a launch on a GPU. Of the complete row, since some architectures count an
        # image together with the token that ends it, which may lie after `end`.
        ids = torch.tensor([row.ids])
        inputs = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            **{name: values[None] for name, values in row.token_type_inputs.items()},
            **row.media,
        }
        parameters = inspect.signature(self._rope_index).parameters
        rope_positions, _ = self._rope_index(**{name: part for name, part in inputs.items() if name in parameters})
        remaining: Tensor = rope_positions[:, 0, cached.length : end]
        return remaining

    def _media_inputs(self, rows: Sequence[TokenisedPrompt]) -> dict[str, Tensor]:
        """Image inputs of rows, concatenated along their first axis; {} for no rows."""
        import torch

        if not rows:
            return {}
        inputs = {}
        device = self._model.device
        for name in rows[0].media:
            # Moved one by one: each may be in pinned memory, from which the copy is asynchronous.
            parts = [row.media[name].to(device, non_blocking=True) for row in rows]
            batch = torch.cat(parts)
            inputs[name] = batch.to(self._model.dtype) if batch.is_floating_point() else batch
        return inputs

    def _forward(
        self, ids: Tensor, mask: Tensor, positions: Tensor, cache: Any, kept_logits: int, **inputs: Tensor
    ) -> Any:
        """One forward pass of new tokens on top of a cache, which it extends.

        `ids` is (rows, tokens), `mask` (rows, tokens in the cache and new ones), `positions`
        (rows, tokens) or (axes, rows, tokens).
        """
        import torch

        with torch.inference_mode():
            return self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                use_cache=True,
                **{self._cache_argument: cache},
                **self._logits_argument(kept_logits),
                **inputs,
            )

    def _logits_argument(self, kept_logits: int) -> dict[str, int]:
        """The argument that limits logits to the last tokens, if the model takes it."""
        name = "logits_to_keep"
        return {name: kept_logits} if name in self._accepted_arguments else {}


def _count_axes(model: Any) -> int:
    """Axes of positions: time, height and width, and in some models one more for the text."""
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    sections = rope.get("xdrope_section") or rope.get("mrope_section") or ()
    return len(sections) or 3


def _drop_single_axis(positions: Tensor) -> Tensor:
    """Positions as models take them: (1, rows, tokens) as (rows, tokens); more axes stay."""
    return positions[0] if positions.shape[0] == 1 else positions


def _next_position(positions: Tensor, cached: PrefixKV) -> int:
    """The position after a row's: text goes on after the largest on any axis, since an image may
    occupy fewer positions than it has tokens."""
    return int(positions.max()) + 1 if positions.numel() else cached.next_position


class _PaddedRows(NamedTuple):
    ids: Tensor
    mask: Tensor
    positions: Tensor
    token_types: dict[str, Tensor]


def _pad_left(
    rows: Sequence[TokenisedPrompt], spans: Sequence[tuple[int, int]], row_positions: Sequence[Tensor], axes: int
) -> _PaddedRows:
    """The tokens of each row's span as tensors, padded on the left, so that the last token of every
    row is in the last column.

    All are filled in main memory, to be moved once: on a GPU each small write is a launch.
    """
    import torch

    width = max(end - start for start, end in spans)
    ids = torch.zeros((len(rows), width), dtype=torch.long)
    mask = torch.zeros_like(ids)
    positions = torch.zeros((axes, len(rows), width), dtype=torch.long)
    dtypes = {name: values.dtype for name, values in rows[0].token_type_inputs.items()}
    token_types = {name: torch.zeros_like(ids, dtype=dtype) for name, dtype in dtypes.items()}
    for index, (row, (start, end)) in enumerate(zip(rows, spans, strict=True)):
        offset = width - (end - start)
        ids[index, offset:] = torch.tensor(row.ids[start:end])
        mask[index, offset:] = 1
        positions[:, index, offset:] = row_positions[index]
        for name, values in row.token_type_inputs.items():
            token_types[name][index, offset:] = values[start:end]
    return _PaddedRows(ids, mask, positions, token_types)
