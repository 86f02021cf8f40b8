"""Opening a large TSV with pictures, and reading all of it (see `tsv_index.py`)."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from pathlib import Path

from benchmarks.perf import picking, tsv_index
from benchmarks.perf.figures import Part, Size, figure, profiled

METHOD = (
    "Each part runs in a process of its own, so that its peak memory is its own. The bare loop "
    "reads the file line by line, decodes the last cell from base64 and hashes it. Picked samples "
    "come from a file of photographs; the bare loop knows where each cell is, seeks, reads and "
    "decodes it. Indexing grows with the bytes of the file, picking with the pictures that are "
    "picked and, far less, with the rows."
)
MEMORY_BAR, SECOND_BAR = 150.0, 1.0
INDEX_BAR, PICK_BAR = 60.0, 80.0
"""Percent of the bare loop's speed."""


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        path, cache = Path(folder, "questions.tsv"), Path(folder, "cache")
        tsv_index.write_tsv(path, size.rows, size.megabytes)
        parts: dict[str, list[dict[str, float]]] = {}
        for repeat in range(min(size.repeats, 3)):
            for name, part in (("bare", "bare"), ("first", "open"), ("second", "open"), ("iterate", "iterate")):
                told = tsv_index.measured(part, path, cache / str(repeat))
                parts.setdefault(name, []).append(told)
        sample = Path(folder, "sample.tsv")
        tsv_index.write_tsv(sample, max(100, size.rows // 10), size.megabytes / 10)
        bare_pick, pick = picking.measured(Path(folder), size)
        limits = profiled(lambda: tsv_index.open_and_count(sample, Path(folder, "profile")))

    def taken(name: str, what: str) -> list[float]:
        return [told[what] for told in parts[name]]

    bare = taken("bare", "seconds")
    figures = (
        figure("bare loop", "s", bare),
        figure("first opening", "s", taken("first", "seconds"), reference="bare loop", against=bare),
        figure(
            "first opening, of the bare loop's speed",
            "%",
            shares(bare, taken("first", "seconds")),
            bar=INDEX_BAR,
            at_least=True,
        ),
        figure("first opening, peak memory", "MB", taken("first", "peak_mb"), bar=MEMORY_BAR),
        figure("second opening", "s", taken("second", "seconds"), bar=SECOND_BAR),
        figure("all rows with their pictures", "s", taken("iterate", "seconds"), reference="bare loop", against=bare),
        figure("all rows, peak memory", "MB", taken("iterate", "peak_mb"), bar=MEMORY_BAR),
        figure("bare loop over random pictures", "s", bare_pick),
        figure(
            "random samples, pictures decoded", "s", pick, reference="bare loop over random pictures", against=bare_pick
        ),
        figure("random samples, of the bare loop's speed", "%", shares(bare_pick, pick), bar=PICK_BAR, at_least=True),
    )
    title = f"A TSV of {size.rows:,} rows and {size.megabytes:,} MB"
    return Part("tsv", title, METHOD, figures, limits)


def shares(bare: Sequence[float], taken: Sequence[float]) -> list[float]:
    """Speeds in percent of the bare loop's, pair by pair."""
    return [100 * least / ours for least, ours in zip(bare, taken, strict=True)]
