"""Hashing and searching on a Ray cluster, by Ray Data: for more pictures than one machine reads.

Pictures and index lie on a file system that all nodes share. Nodes hash a shard or search a block
each; the driver alone writes files, so that a killed build goes on as it does on one machine.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from snellen.curate.duplicates.build_index import MakeShards, Shard, ShardJob, make_shard
from snellen.curate.duplicates.hamming import HashTables, Matches
from snellen.curate.duplicates.hash_index import HashIndex, SearchBlocks
from snellen.curate.duplicates.hashing import open_hasher
from snellen.curate.duplicates.index_format import TABLES
from snellen.curate.duplicates.picture_hashes import Hashes
from snellen.engine.ray.cluster import connect

_WINDOW = 256
"""Shards that are handed to the cluster at a time: their lists of names stay in memory."""


class OnRay(NamedTuple):
    """What hashes pictures and searches hashes on a cluster."""

    make_shards: MakeShards
    search_blocks: SearchBlocks


@contextmanager
def open_ray_data(address: str | None) -> Iterator[OnRay]:
    """Ray Data on the cluster at `address` (None: one started on this machine).

    Raises MissingExtra, and UsageError if no cluster answers.
    """
    ray, began = connect(address)
    data = import_module("ray.data")
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    # Its log file has the details; on the terminal they would hide the report.
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield OnRay(partial(_make_shards, data), partial(_search_blocks, data))
    finally:
        if began:
            ray.shutdown()


def _make_shards(data: Any, jobs: Iterator[ShardJob]) -> Iterator[Shard]:
    while window := list(islice(jobs, _WINDOW)):
        rows = data.from_items([{"job": job} for job in window])
        # An item a batch: a task hashes one shard, in one process on one core.
        made = rows.map_batches(_make_on_node, batch_size=1, zero_copy_batch=True)
        for row in made.iter_rows():
            yield row["shard"]


def _make_on_node(batch: dict[str, Any]) -> dict[str, list[Shard]]:
    """Runs on a node."""
    with open_hasher(1) as hasher:
        return {"shard": [make_shard(job, hasher.hash) for job in batch["job"]]}


def _search_blocks(data: Any, index: HashIndex, hashes: Hashes, radius: int) -> Matches:
    """Rows of all blocks whose pHash is within the radius, a task for each block."""
    blocks = [
        {"folder": str(index.folder / TABLES / f"{number:03}"), "first": block.first}
        for number, block in enumerate(index.info.blocks)
    ]
    search = partial(_search_on_node, hashes=hashes, radius=radius)
    found = data.from_items(blocks).map_batches(search, batch_size=1)
    parts = [
        Matches(np.asarray(row["query"]), np.asarray(row["row"]), np.asarray(row["distance"]))
        for row in found.iter_rows()
    ]
    return Matches.join(parts)


def _search_on_node(batch: dict[str, Any], hashes: Hashes, radius: int) -> dict[str, list[Any]]:
    """Runs on a node."""
    columns: dict[str, list[Any]] = {"query": [], "row": [], "distance": []}
    for folder, first in zip(batch["folder"], batch["first"], strict=True):
        near = HashTables.load(Path(folder)).search(hashes, radius)
        columns["query"].append(near.query)
        columns["row"].append(near.row + int(first))
        columns["distance"].append(near.distance)
    return columns
