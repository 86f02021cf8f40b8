"""The flags of a benchmark as a data set folder, whose review `snellen curate review` opens."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import msgspec
from sqlalchemy import select

from snellen.core.errors import UsageError
from snellen.core.sample import is_own_data
from snellen.data_sets.decisions import Decision, Evidence
from snellen.data_sets.items import ItemTable, open_items
from snellen.data_sets.step import SourceInfo, open_step
from snellen_hub.benchmark_data import Protocol, open_hosted, unpack_data
from snellen_hub.database.tables import HostedBenchmark, HostedMedium
from snellen_hub.hosting import find_hosted_benchmark
from snellen_hub.hub import Hub
from snellen_hub.samples.browsing import check_public
from snellen_hub.samples.flags import FLAG_KINDS, FlaggedItem, read_flags

STEP = "hub-flags"


class WrittenFlags(NamedTuple):
    """What was written into a folder."""

    items: int
    flagged: int
    flags: int


def write_review_folder(hub: Hub, name: str, out: Path) -> WrittenFlags:
    """Write the data of a benchmark and its open flags into a data set folder.

    Raises UsageError for an unknown benchmark, a hidden split, or if nothing is flagged, and what
    `open_step` raises.
    """
    with hub.database.reading() as session:
        row = find_hosted_benchmark(session, name)
        check_public(row)
        flagged = read_flags(session, row.id)
        media = session.scalars(select(HostedMedium).where(HostedMedium.benchmark_id == row.id)).all()
    if not flagged:
        raise UsageError(f"no item of {name} is flagged; there is nothing to review")
    with TemporaryDirectory(prefix="snellen-flags-") as folder:
        table = _open_table(row, unpack_data(hub.storage, row, media, Path(folder)))
        return _write(hub, row, table, flagged, out)


def _open_table(row: HostedBenchmark, path: Path) -> ItemTable:
    protocol = msgspec.convert(row.protocol, Protocol)
    if not row.spec:
        return open_items(path, protocol.columns)
    benchmark = open_hosted(row.spec, protocol, path)
    table = benchmark.open()
    is_own = is_own_data(table)
    return ItemTable(benchmark.name, row.spec, table, benchmark, is_own=is_own)


def _write(hub: Hub, row: HostedBenchmark, table: ItemTable, flagged: Sequence[FlaggedItem], out: Path) -> WrittenFlags:
    address = f"{hub.config.url}/benchmarks/{row.name}"
    source = SourceInfo(row.name, address, table.digest, len(table))
    settings = {
        "benchmark": row.name,
        "version": row.version,
        "flags": [flag.id for each in flagged for flag in each.flags],
    }
    with open_step(out, STEP, settings, source) as step:
        items = step.write_items(table)
        if not step.was_complete:
            for each in flagged:
                step.decide(_decision(each))
        count = sum(len(each.flags) for each in flagged)
        step.finish({"items": items, "flagged": len(flagged), "flags": count})
    return WrittenFlags(items, len(flagged), count)


def _decision(flagged: FlaggedItem) -> Decision:
    kinds = flagged.kinds()
    reason = "readers of the hub: " + "; ".join(
        f"{FLAG_KINDS.get(kind, kind)} ({count})" for kind, count in kinds.items()
    )
    evidence = tuple(Evidence(flag.account.name, reply=flag.reason, verdict=flag.kind) for flag in flagged.flags)
    return Decision(flagged.item, "flag", STEP, next(iter(kinds)), reason, evidence)
