"""Score recorded replies: the benchmark's own flow, driven without a model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.core.benchmark import Benchmark
from snellen.core.flow import drive
from snellen.core.record import Record
from snellen.models.replay import Replay, Reply


class Recorded(NamedTuple):
    records: list[Record]
    warnings: tuple[str, ...]


def recorded(benchmark: Benchmark, replies: Mapping[str, Reply], digest: str = "") -> Recorded:
    """Records of the benchmark's samples answered by `replies` (row id to reply).

    A sample without a reply is `missing`; replies that belong to no sample are warned about.
    """
    replay = Replay(replies, digest)
    asked: set[str] = set()
    records = []
    for sample in benchmark.samples(benchmark.open()):
        records.append(drive(benchmark.flow(sample), replay.reply))
        asked.add(sample.id)
        # Rows behind an early stop are no strangers.
        asked.update(rotation.row for rotation in sample.rotations)
    extra = [key for key in replies if key not in asked]
    warnings: tuple[str, ...] = ()
    if extra:
        warnings = (
            f"{len(extra)} prediction{'' if len(extra) == 1 else 's'} of no known question, not "
            f"counted (the first has the id {extra[0]!r})",
        )
    return Recorded(records, warnings)
