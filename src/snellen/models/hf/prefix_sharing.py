"""Prompts that begin alike are computed once: their pictures, their words, their cache.

A prompt's head (up to its last picture) is kept while others with the same pictures may come: the
rotations of a question, the two questions about an MME image. What prompts in one batch share
beyond that is computed once as well: the context of the candidates of a ranking, a question before
its rotated options. Positions are given for every call, since some architectures keep those of the
last prompt to themselves.
"""

from __future__ import annotations

import inspect
from collections import defaultdict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from snellen.models.hf.kv_cache import (
    EMPTY_PREFIX,
    LastPromptKV,
    PrefixCache,
    PrefixKV,
    batch_caches,
    split_cache,
)
from snellen.models.hf.tokenise import (
    PrefixSharingUnsupported,
    TokenisedPrompt,
    shared_prefix_length,
)

if TYPE_CHECKING:
    from torch import Tensor


MIN_SHARED_TOKENS = 16
"""Tokens two prompts must share beyond their heads before it pays to compute them apart."""


@dataclass(frozen=True, slots=True)
class SharedPrefixGroup:
    """Rows of a batch that share their first `length` tokens and pictures."""

    indices: tuple[int, ...]
    length: int


def prefix_groups(rows: Sequence[TokenisedPrompt]) -> Iterator[SharedPrefixGroup]:
    """Rows that share enough beyond their heads, next to each other in the order of their ids."""
    by_image_prefix: dict[Hashable, list[int]] = defaultdict(list)
    for index, row in enumerate(rows):
        by_image_prefix[row.image_prefix_key()].append(index)
    for indices in by_image_prefix.values():
        indices.sort(key=lambda place: rows[place].ids)
        group: list[int] = []
        length = 0
        for index in indices:
            row = rows[index]
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
    """Tokens that can be computed once for two rows."""
    return min(
        shared_prefix_length(first.ids, second.ids),
        max_prefix_length(first),
        max_prefix_length(second),
    )


def max_prefix_length(row: TokenisedPrompt) -> int:
    """Tokens that may be computed before: the rest must hold one whose logits are asked for."""
    return len(row.ids) - row.scored_tokens - 1


_SMALL_MODEL = 30_000_000
"""Parameters up to which computing a few words again is cheaper than keeping them."""


@dataclass(slots=True)
class PrefillState:
    """A batch of prompts that the model has read."""

    logits: Tensor
    """(rows, kept, words): about the token behind each of the last `cached` ones."""
    cache: Any
    mask: Tensor
    """(rows, tokens in the cache): 0 where a row is filled up."""
    positions: Tensor
    """(rows,): of the next token of each, on the model's device, so that no step waits for it."""


class PrefixSharing:
    """Reads prompts with one model. At most `batch_size` pictures go through it together."""

    def __init__(self, model: Any, budget: int, batch_size: int) -> None:
        self._model = model
        self._image_prefixes: PrefixCache[PrefixKV] = PrefixCache(2 * budget // 3)
        self._last_prompts: PrefixCache[LastPromptKV] = PrefixCache(budget // 3)
        self._batch_size = batch_size
        self._accepted_arguments = frozenset(inspect.signature(model.forward).parameters)
        self._rope_index: Callable[..., Any] | None = next(
            (found for part in model.modules() if (found := getattr(part, "get_rope_index", None))),
            None,
        )
        self._axes = 1 if self._rope_index is None else _count_axes(model)
        self.keeps_prompts = model.num_parameters() > _SMALL_MODEL
        """Whether what was read of a prompt beyond its head is kept for the next."""
        self.prefill_tokens = 0
        """Tokens of prompts that were computed so far; those of pictures count twice, since the
        vision tower has computed them as well."""

    def prefill(self, rows: Sequence[TokenisedPrompt], kept_logits: int = 1) -> PrefillState:
        """Reads the prompts to their end; `kept_logits` last logits of each are given back."""
        cached = self._find_prefixes(rows)
        state = self._prefill_batch(rows, cached, [len(row.ids) for row in rows], kept_logits)
        if self.keeps_prompts and not any(row.scored_tokens for row in rows):
            # The next rotation of a question begins with the same words.
            prefixes = split_cache(state.cache, state.mask, state.positions.tolist())
            for row, kept in zip(rows, prefixes, strict=True):
                self._last_prompts.put(row.image_prefix_key(), LastPromptKV(row.ids, kept))
        return state

    def logits_unshared(self, row: TokenisedPrompt) -> Tensor:
        """The last logits (words) of one prompt read by itself, as transformers would."""
        import torch

        ids = torch.tensor([row.ids], device=self._model.device)
        inputs = {
            name: mark[None].to(self._model.device) for name, mark in row.token_type_inputs.items()
        }
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
        """Give back the memory of everything kept."""
        self._image_prefixes.clear()
        self._last_prompts.clear()

    def step(self, state: PrefillState, tokens: Tensor) -> Tensor:
        """Reads one more token of each row, (rows,), and gives the logits (rows, words) behind."""
        import torch

        ones = state.mask.new_ones((len(tokens), 1))
        state.mask = torch.cat([state.mask, ones], 1)
        positions = _drop_single_axis(state.positions[None, :, None].expand(self._axes, -1, -1))
        state.positions = state.positions + 1
        out = self._forward(tokens[:, None], state.mask, positions, state.cache, 1)
        logits: Tensor = out.logits[:, -1]
        return logits

    def _find_prefixes(self, rows: Sequence[TokenisedPrompt]) -> list[PrefixKV]:
        """What is already computed of each prompt, after computing what several share."""
        image_prefixes: dict[Hashable, PrefixKV] = {}
        longest: dict[int, PrefixKV] = {}
        for batch in self._uncached_groups(rows, image_prefixes):
            firsts = [rows[cluster.indices[0]] for cluster in batch]
            prefixes = self._prefill_groups(firsts, [EMPTY_PREFIX] * len(batch), batch)
            for cluster, row, kept in zip(batch, firsts, prefixes, strict=True):
                image_prefix = kept.copy_prefix(row.image_prefix_length)
                image_prefixes[row.image_prefix_key()] = image_prefix
                self._image_prefixes.put(row.image_prefix_key(), image_prefix)
                longest |= dict.fromkeys(cluster.indices, kept)
        self._prefill_shared(rows, image_prefixes, longest)
        return [
            longest.get(place) or self._find_prefix(row, max_prefix_length(row), image_prefixes)
            for place, row in enumerate(rows)
        ]

    def _uncached_groups(
        self, rows: Sequence[TokenisedPrompt], image_prefixes: dict[Hashable, PrefixKV]
    ) -> Iterator[Sequence[SharedPrefixGroup]]:
        """Rows whose heads are not known, those of one head together with all that they share, in
        batches that fit together; the others' heads are noted."""
        by_image_prefix: dict[Hashable, list[int]] = defaultdict(list)
        for index, row in enumerate(rows):
            if row.image_prefix_length:
                by_image_prefix[row.image_prefix_key()].append(index)
        shapes: dict[Hashable, list[SharedPrefixGroup]] = defaultdict(list)
        for key, indices in by_image_prefix.items():
            cached = self._image_prefixes.get(key)
            if cached is not None:
                image_prefixes[key] = cached
                continue
            first = rows[indices[0]]
            length = min(
                (shareable_length(first, rows[place]) for place in indices[1:]),
                default=first.image_prefix_length,
            )
            shape = tuple((name, tuple(part.shape[1:])) for name, part in first.media.items())
            shapes[shape].append(SharedPrefixGroup(tuple(indices), length))
        for group in shapes.values():
            for start in range(0, len(group), self._batch_size):
                yield group[start : start + self._batch_size]

    def _prefill_shared(
        self,
        rows: Sequence[TokenisedPrompt],
        image_prefixes: Mapping[Hashable, PrefixKV],
        longest: dict[int, PrefixKV],
    ) -> None:
        """Computes what several rows share well beyond their heads, where it is not known."""
        groups = list(prefix_groups(rows))
        for start in range(0, len(groups), self._batch_size):
            batch = groups[start : start + self._batch_size]
            firsts = [rows[cluster.indices[0]] for cluster in batch]
            cached = [
                longest.get(cluster.indices[0])
                or self._find_prefix(row, cluster.length, image_prefixes)
                for row, cluster in zip(firsts, batch, strict=True)
            ]
            if any(kept.length < one.length for kept, one in zip(cached, batch, strict=True)):
                cached = self._prefill_groups(firsts, cached, batch)
            for cluster, kept in zip(batch, cached, strict=True):
                longest |= dict.fromkeys(cluster.indices, kept)

    def _prefill_groups(
        self,
        firsts: Sequence[TokenisedPrompt],
        cached: Sequence[PrefixKV],
        groups: Sequence[SharedPrefixGroup],
    ) -> list[PrefixKV]:
        """What clusters share, read on from what is known of the first row of each."""
        state = self._prefill_batch(firsts, cached, [cluster.length for cluster in groups], 1)
        return split_cache(state.cache, state.mask, state.positions.tolist())

    def _find_prefix(
        self, row: TokenisedPrompt, limit: int, image_prefixes: Mapping[Hashable, PrefixKV]
    ) -> PrefixKV:
        """The longest beginning of a row, up to `limit`, that is computed already."""
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
        self,
        rows: Sequence[TokenisedPrompt],
        cached: Sequence[PrefixKV],
        lengths: Sequence[int],
        kept_logits: int,
    ) -> PrefillState:
        """Reads each prompt from what is known of it up to its end, as one batch. Pictures are
        handed over where nothing is known."""
        import torch

        device = self._model.device
        spans = [(kept.length, end) for kept, end in zip(cached, lengths, strict=True)]
        width = max(end - start for start, end in spans)
        ids = torch.zeros((len(rows), width), dtype=torch.long)
        mask = torch.zeros_like(ids)
        row_positions = [
            self._token_positions(row, kept, end)
            for row, kept, end in zip(rows, cached, lengths, strict=True)
        ]
        positions = torch.zeros((self._axes, len(rows), width), dtype=torch.long)
        token_type_inputs = {name: torch.zeros((len(rows), width), dtype=mark.dtype)
                 for name, mark in rows[0].token_type_inputs.items()}  # fmt: skip
        for row_index, (row, (start, end)) in enumerate(zip(rows, spans, strict=True)):
            offset = width - (end - start)
            ids[row_index, offset:] = torch.tensor(row.ids[start:end])
            mask[row_index, offset:] = 1
            positions[:, row_index, offset:] = row_positions[row_index]
            for name, mark in row.token_type_inputs.items():
                token_type_inputs[name][row_index, offset:] = mark[start:end]
        cache, cached_mask = batch_caches(cached, width)
        full_mask = mask if cached_mask is None else torch.cat([cached_mask, mask], 1)
        full_mask = full_mask.to(device)
        rows_with_media = [
            row
            for row, kept in zip(rows, cached, strict=True)
            if kept.length < row.image_prefix_length
        ]
        self.prefill_tokens += sum(end - start for start, end in spans) + sum(
            row.image_prefix_length for row in rows_with_media
        )
        inputs = {
            name: mark.to(device) for name, mark in token_type_inputs.items()
        } | self._media_inputs(rows_with_media)
        out = self._forward(
            ids.to(device),
            full_mask,
            _drop_single_axis(positions.to(device)),
            cache,
            kept_logits,
            **inputs,
        )
        next_positions = [int(place.max()) + 1 if place.numel() else kept.next_position
                 for place, kept in zip(row_positions, cached, strict=True)]  # fmt: skip
        if getattr(out, "past_key_values", None) is None:
            raise PrefixSharingUnsupported("it does not give back the keys and values of a prompt")
        positions = torch.tensor(next_positions, device=device)
        return PrefillState(out.logits[:, -kept_logits:], out.past_key_values, full_mask, positions)

    def _token_positions(self, row: TokenisedPrompt, cached: PrefixKV, end: int) -> Tensor:
        """Positions of a row's tokens from what is known up to `end`: (axes, tokens)."""
        import torch

        if self._rope_index is None or cached.length >= row.image_prefix_length:
            positions = torch.arange(
                cached.next_position, cached.next_position + end - cached.length
            )
            return positions[None].expand(self._axes, -1)
        # In main memory, as the pictures' sizes are: these are many small steps. Of the whole row,
        # since some architectures count a picture together with the sign that ends it.
        ids = torch.tensor([row.ids])
        token_type_inputs = {name: mark[None] for name, mark in row.token_type_inputs.items()}
        inputs = {
            "input_ids": ids,
            "attention_mask": torch.ones_like(ids),
            **token_type_inputs,
            **row.media,
        }
        parameters = inspect.signature(self._rope_index).parameters
        rope_positions, _ = self._rope_index(
            **{name: part for name, part in inputs.items() if name in parameters}
        )
        remaining: Tensor = rope_positions[:, 0, cached.length : end]
        return remaining

    def _media_inputs(self, rows: Sequence[TokenisedPrompt]) -> dict[str, Tensor]:
        import torch

        if not rows:
            return {}
        inputs = {}
        device = self._model.device
        for name in rows[0].media:
            # One by one, since each may lie in memory that the device reads by itself.
            parts = [row.media[name].to(device, non_blocking=True) for row in rows]
            batch = torch.cat(parts)
            inputs[name] = batch.to(self._model.dtype) if batch.is_floating_point() else batch
        return inputs

    def _forward(
        self,
        ids: Tensor,
        mask: Tensor,
        positions: Tensor,
        cache: Any,
        kept_logits: int,
        **inputs: Tensor,
    ) -> Any:
        import torch

        with torch.inference_mode():
            return self._model(
                input_ids=ids,
                attention_mask=mask,
                position_ids=positions,
                past_key_values=cache,
                use_cache=True,
                **self._logits_argument(kept_logits),
                **inputs,
            )

    def _logits_argument(self, kept_logits: int) -> dict[str, int]:
        return (
            {"logits_to_keep": kept_logits} if "logits_to_keep" in self._accepted_arguments else {}
        )


def _count_axes(model: Any) -> int:
    """Axes along which positions are counted: time, height, width, and for some the text's own."""
    rope = getattr(model.config.get_text_config(), "rope_parameters", None) or {}
    sections = rope.get("xdrope_section") or rope.get("mrope_section") or ()
    return len(sections) or 3


def _drop_single_axis(positions: Tensor) -> Tensor:
    """(1, rows, tokens) as (rows, tokens); (3, rows, tokens) stays."""
    return positions[0] if positions.shape[0] == 1 else positions
