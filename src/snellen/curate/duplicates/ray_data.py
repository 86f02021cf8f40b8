"""Hashing on a Ray cluster, by Ray Data: for more pictures than one machine reads.

Pictures and index lie on a file system that all nodes share. Nodes hash a shard each; the driver
alone writes files, so that a killed build goes on as it does on one machine.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from itertools import islice
from typing import Any

from snellen.curate.duplicates.build_index import Columns, MakeShards, ShardJob, make_shard
from snellen.curate.duplicates.hashing import open_hasher
from snellen.engine.ray.cluster import connect

_WINDOW = 256
"""Shards that are handed to the cluster at a time: their lists of names stay in memory."""


@contextmanager
def open_ray_data(address: str | None) -> Iterator[MakeShards]:
    """What hashes pictures on the cluster at `address` (None: one started on this machine).

    Raises MissingExtra, and UsageError if no cluster answers.
    """
    ray, began = connect(address)
    data = import_module("ray.data")
    context = data.DataContext.get_current()
    context.enable_progress_bars = False
    # Its log file has the details; on the terminal they would hide the report.
    logging.getLogger("ray.data").setLevel(logging.ERROR)
    try:
        yield partial(_make_shards, data)
    finally:
        if began:
            ray.shutdown()


def _make_shards(data: Any, jobs: Iterator[ShardJob]) -> Iterator[tuple[ShardJob, Columns]]:
    while window := list(islice(jobs, _WINDOW)):
        rows = data.from_items([{"job": job} for job in window])
        # An item a batch: a task hashes one shard, in one process on one core.
        made = rows.map_batches(_make_on_node, batch_size=1, zero_copy_batch=True)
        for row in made.iter_rows():
            yield row["shard"]


def _make_on_node(batch: dict[str, Any]) -> dict[str, list[tuple[ShardJob, Columns]]]:
    """Runs on a node."""
    with open_hasher(1) as hash_sources:
        return {"shard": [(job, make_shard(job, hash_sources)) for job in batch["job"]]}
