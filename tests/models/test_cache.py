"""Caches of prompts: put together into batches, written on, and taken apart again."""

from __future__ import annotations

from typing import Any

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from transformers import DynamicCache

from snellen.models.hf.kv_cache import EMPTY_PREFIX, PrefixKV, batch_caches, split_cache

SHAPES = [(2, 4, 4), (2, 4, 4), (1, 6, 3)]
"""Of each layer: heads, size of a key, size of a value."""


def kept(length: int, seed: int) -> PrefixKV:
    if not length:
        return EMPTY_PREFIX
    generator = torch.Generator().manual_seed(seed)
    cache = DynamicCache()
    for layer, (heads, key, value) in enumerate(SHAPES):
        keys = torch.randn(1, heads, length, key, generator=generator)
        values = torch.randn(1, heads, length, value, generator=generator)
        cache.update(keys, values, layer)
    [one] = split_cache(cache, torch.ones(1, length, dtype=torch.long), [length])
    return one


def parts(one: PrefixKV) -> dict[int, Any]:
    return {
        number: part
        for group, piece in zip(one.layout, one.pieces, strict=True)
        for number, part in zip(group, piece, strict=True)
    }


@settings(max_examples=40, deadline=None)
@given(
    lengths=st.lists(st.integers(0, 9), min_size=1, max_size=4),
    steps=st.lists(st.integers(1, 50), min_size=1, max_size=4),
    data=st.data(),
)
def test_as_a_dynamic_cache_of_the_same_tokens(lengths: list[int], steps: list[int], data: st.DataObject) -> None:
    """What is read on goes behind what was kept, row by row, also when rows leave."""
    rows = [kept(length, seed) for seed, length in enumerate(lengths)]
    cache, mask = batch_caches(rows, 3)
    mask = torch.zeros(len(rows), 0, dtype=torch.long) if mask is None else mask
    longest = mask.shape[1]
    assert mask.sum(1).tolist() == lengths
    plain: list[dict[int, Any]] = [parts(row) for row in rows]
    alive = list(range(len(rows)))
    for number, step in enumerate(steps):
        generator = torch.Generator().manual_seed(100 + number)
        for layer, (heads, key, value) in enumerate(SHAPES):
            new = [torch.randn(len(alive), heads, step, size, generator=generator) for size in (key, value)]
            shown = cache.update(*new, layer)
            for side in (0, 1):
                assert shown[side].shape[2] == longest + step
                for at, place in enumerate(alive):
                    before = plain[place].get(2 * layer + side, new[side][at, :, :0])
                    plain[place][2 * layer + side] = torch.cat([before, new[side][at]], 1)
        longest += step
        mask = torch.cat([mask, torch.ones(len(alive), step, dtype=torch.long)], 1)
        assert cache.get_seq_length() == longest
        left = data.draw(st.lists(st.sampled_from(range(len(alive))), min_size=1, unique=True))
        cache.batch_select_indices(torch.tensor(left))
        mask, alive = mask[left], [alive[at] for at in left]
    if not longest:
        return
    found = split_cache(cache, mask, [7] * len(alive))
    for one, place in zip(found, alive, strict=True):
        expected = plain[place]
        assert one.length == lengths[place] + sum(steps)
        for number, part in parts(one).items():
            wanted = expected.get(number)
            assert torch.equal(part, wanted if wanted is not None else part[:, :0])


def test_cache_of_a_batch_extends_without_copying() -> None:
    cache, _ = batch_caches([kept(5, 1), kept(3, 2)], 2)
    room = cache.layers[0].keys.untyped_storage().data_ptr()
    for _ in range(20):
        cache.update(torch.zeros(2, 2, 1, 4), torch.zeros(2, 2, 1, 4), 0)
        assert cache.layers[0].keys.untyped_storage().data_ptr() == room
    assert cache.layers[0].keys.shape == (2, 2, 25, 4)


def test_copied_prefix_keeps_only_its_own_memory() -> None:
    whole = kept(8, 3)
    begun = whole.copy_prefix(5)
    assert (begun.length, begun.next_position) == (5, 5)
    assert begun.nbytes == whole.nbytes * 5 // 8
    cut = whole.truncate(6, begun)
    assert (cut.length, cut.next_position) == (6, 6)
    for mine, theirs in zip(parts(cut).values(), parts(begun).values(), strict=True):
        assert torch.equal(mine[:, :5], theirs)


def test_detects_layer_that_dropped_tokens() -> None:
    cache = DynamicCache()
    cache.update(torch.zeros(1, 2, 4, 4), torch.zeros(1, 2, 4, 4), 0)
    cache.update(torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 3, 4), 1)
    with pytest.raises(ValueError, match="let go of some tokens"):
        split_cache(cache, torch.ones(1, 4, dtype=torch.long), [4])
