"""What a run holds in memory when it reads its records at the end."""

from __future__ import annotations

import gc
import tracemalloc
from pathlib import Path

import pytest
from benchmarks.perf.samples_file import write_samples

import snellen
from snellen.core.record import Record
from snellen.engine.loop import plan
from snellen.store.runs import RunWriter


def test_ids_of_samples_are_freed_before_the_records_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    held: list[int] = []
    read_records = RunWriter.records

    def records(writer: RunWriter) -> list[Record]:
        gc.collect()
        held.append(tracemalloc.get_traced_memory()[0])
        return read_records(writer)

    monkeypatch.setattr(RunWriter, "records", records)
    monkeypatch.setattr(plan, "_MOST_KEPT", 0)  # as in a run of more samples than are kept
    tracemalloc.start()
    try:
        for count in (10, 200, 1200):
            write_samples(tmp_path, count)
            snellen.evaluate("random", str(tmp_path / f"q{count}.tsv"), out=tmp_path / str(count), html=False)
    finally:
        tracemalloc.stop()
    assert (held[2] - held[1]) / 1000 < 60  # bytes; the ids alone take more than 100
