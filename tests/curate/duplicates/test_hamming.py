"""Multi-index hashing finds exactly the pairs that comparing everything finds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from snellen.curate.duplicates import hamming as module
from snellen.curate.duplicates.hamming import (
    HASH_BITS,
    HashTables,
    Matches,
    hamming,
    part_bits,
)

Triples = set[tuple[int, int, int]]


def near(hashes: np.ndarray, bits: int, seed: int) -> np.ndarray:
    """The hashes with up to `bits` bits flipped."""
    draw = np.random.default_rng(seed)
    flipped = hashes.copy()
    for _ in range(bits):
        flipped ^= np.uint64(1) << draw.integers(0, 64, len(hashes)).astype(np.uint64)
    return flipped


def triples(found: Matches) -> Triples:
    every = list(zip(*(column.tolist() for column in found), strict=True))
    assert len(set(every)) == len(every), "a pair is reported twice"
    return set(every)


def expected(queries: np.ndarray, hashes: np.ndarray, radius: int) -> Triples:
    distance = hamming(queries[:, None], hashes[None, :])
    query, row = np.nonzero(distance <= radius)
    return set(zip(query.tolist(), row.tolist(), distance[query, row].tolist(), strict=True))


@pytest.fixture(scope="module")
def hashes() -> np.ndarray:
    """Random hashes, near copies of some, and one that stands 300 times."""
    draw = np.random.default_rng(7)
    random = draw.integers(0, 1 << 64, 70_000, dtype=np.uint64)
    # Half of the bits the same everywhere, as flat regions make them: full buckets.
    skewed = draw.integers(0, 1 << 32, 3_000, dtype=np.uint64) & np.uint64(0x000000000003FFFF)
    same = np.full(300, random[5])
    return np.concatenate([random, near(random[:2_000], 5, 1), skewed, same])


@pytest.mark.parametrize("radius", [0, 1, 3, 4, 7, 8, 10, 13])
def test_search_is_exact(hashes: np.ndarray, radius: int) -> None:
    tables = HashTables.build(hashes)
    assert len(tables.parts) == 4
    queries = np.concatenate([near(hashes[:60], 6, 2), hashes[-1:], hashes[72_500:72_510]])
    assert triples(tables.search(queries, radius)) == expected(queries, hashes, radius)


def test_every_way_of_searching_finds_the_same(
    hashes: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = HashTables.build(hashes[:66_000])
    queries = near(hashes[:40], 8, 3)
    by_tables = triples(tables.search(queries, 8))
    monkeypatch.setattr(module, "_BATCH", 5_000)
    assert triples(tables.search(queries, 8)) == by_tables
    monkeypatch.setattr(module, "_COST_PROBE", 1e9)
    assert triples(tables.search(queries, 8)) == by_tables
    monkeypatch.delattr(np, "bitwise_count")
    assert triples(tables.search(queries[:5], 8)) == {one for one in by_tables if one[0] < 5}


def test_pairs_of_a_small_set() -> None:
    values = np.array([0, 1, 0b111, 1 << 63, 0, 0], np.uint64)
    found = triples(HashTables.build(values).pairs(1))
    # Rows of one hash are chained, all others paired.
    assert found == {
        (0, 4, 0), (4, 5, 0), (0, 1, 1), (1, 4, 1), (1, 5, 1), (0, 3, 1), (3, 4, 1), (3, 5, 1),
    }  # fmt: skip


def test_rows_keep_their_numbers_and_files_give_the_same(
    hashes: np.ndarray, tmp_path: Path
) -> None:
    some = hashes[:66_000]
    numbers = np.arange(len(some)) * 2 + 1
    tables = HashTables.build(some, numbers)
    for name, array in tables.arrays().items():
        np.save(tmp_path / f"{name}.npy", array)
    loaded = HashTables.load(tmp_path)
    queries = near(some[:30], 4, 5)
    assert triples(loaded.search(queries, 6)) == triples(tables.search(queries, 6))
    assert set(tables.search(some[:3], 0).row.tolist()) == {1, 3, 5}


def test_nothing_is_found_in_nothing() -> None:
    empty = HashTables.build(np.empty(0, np.uint64))
    assert triples(empty.search(np.zeros(3, np.uint64), 10)) == set()
    assert triples(empty.pairs(10)) == set()
    assert (
        triples(HashTables.build(np.zeros(5, np.uint64)).search(np.empty(0, np.uint64), 3)) == set()
    )


@pytest.mark.parametrize("count", [70_000, 10_000_000, 1 << 24, 1 << 40])
def test_parts_cover_every_bit_once(count: int) -> None:
    parts = part_bits(count)
    assert [shift for shift, _ in parts] == [0, *np.cumsum([bits for _, bits in parts])[:-1]]
    assert sum(bits for _, bits in parts) == HASH_BITS
    assert part_bits(100) == []
