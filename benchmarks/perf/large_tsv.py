"""Opening a large TSV with pictures, and reading all of it (see `tsv_index.py`)."""

from __future__ import annotations

import tempfile
from pathlib import Path

from benchmarks.perf import tsv_index
from benchmarks.perf.figures import Part, Size, figure, profiled

METHOD = (
    "Each part runs in a process of its own, so that its peak memory is its own. The bare loop "
    "reads the file line by line, decodes the last cell from base64 and hashes it."
)
MEMORY_BAR, SECOND_BAR = 400.0, 1.0


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        path, cache = Path(folder, "questions.tsv"), Path(folder, "cache")
        tsv_index.write_tsv(path, size.rows, size.megabytes)
        parts: dict[str, list[dict[str, float]]] = {}
        for repeat in range(min(size.repeats, 3)):
            for name, part in (
                ("bare", "bare"),
                ("first", "open"),
                ("second", "open"),
                ("iterate", "iterate"),
            ):
                told = tsv_index.measured(part, path, cache / str(repeat))
                parts.setdefault(name, []).append(told)
        sample = Path(folder, "sample.tsv")
        tsv_index.write_tsv(sample, max(100, size.rows // 10), size.megabytes / 10)
        limits = profiled(lambda: tsv_index.open_and_count(sample, Path(folder, "profile")))

    def taken(name: str, what: str) -> list[float]:
        return [told[what] for told in parts[name]]

    bare = taken("bare", "seconds")
    figures = (
        figure("bare loop", "s", bare),
        figure(
            "first opening", "s", taken("first", "seconds"), reference="bare loop", against=bare
        ),
        figure("first opening, peak memory", "MB", taken("first", "peak_mb"), bar=MEMORY_BAR),
        figure("second opening", "s", taken("second", "seconds"), bar=SECOND_BAR),
        figure("all rows with their pictures", "s", taken("iterate", "seconds"),
               reference="bare loop", against=bare),
        figure("all rows, peak memory", "MB", taken("iterate", "peak_mb"), bar=MEMORY_BAR),
    )  # fmt: skip
    title = f"A TSV of {size.rows:,} rows and {size.megabytes:,} MB"
    return Part("tsv", title, METHOD, figures, limits)
