"""`snellen curate statistics` over a million items, beside plain readers of the same file."""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from benchmarks.perf.figures import Part, Size, figure, profiled

METHOD = (
    "Questions of eleven words with four options of one to four, in JSON Lines, without media. "
    "Each figure is of a process of its own, in seconds of processor time. The plain reader "
    "decodes every line with `json.loads` and keeps nothing. The items are those of `open_items`, "
    "from the row index, which is made before. The statistics take 250 items at once: the texts of "
    "all of them are split into words together, and what the rules pick of their options is found in "
    "arrays. They keep numbers, not texts; the text probe is trained on 20,000 questions, however "
    "many there are."
)
MEMORY_BAR = 1_000.0
RATIO_BAR = 12.0
"""Megabytes for a million items, and times of the plain reader, the probe aside."""
VOCABULARY = 20_000
FREQUENT = "the of a is in what which picture shown object colour how many between left right"


def measure(size: Size) -> Part:
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as folder:
        path = Path(folder, "items.jsonl")
        write_items(path, size.items)
        parts: dict[str, list[dict[str, float]]] = {}
        parts["index"] = [measured("index", path)]
        for _ in range(min(size.repeats, 2)):
            for name in ("plain", "items", "statistics", "probe"):
                parts.setdefault(name, []).append(measured(name, path))
        sample = Path(folder, "sample.jsonl")
        write_items(sample, max(200, size.items // 50))
        limits = profiled(lambda: take_statistics(sample, probe=0))

    def taken(name: str, what: str = "seconds") -> list[float]:
        return [part[what] for part in parts[name]]

    plain = taken("plain")
    statistics = taken("statistics")
    each = [1e6 * seconds / size.items for seconds in statistics]
    figures = (
        figure("plain reader", "s", plain),
        figure("first opening, the row index", "s", taken("index")),
        figure("all items", "s", taken("items"), reference="plain reader", against=plain),
        figure("statistics", "s", statistics, reference="plain reader", against=plain, ratio_bar=RATIO_BAR),
        figure("statistics of an item", "µs", each),
        figure("statistics, peak memory", "MB", taken("statistics", "peak_mb"), bar=MEMORY_BAR),
        figure("statistics and text probe", "s", taken("probe"), reference="plain reader", against=plain),
        figure("statistics and text probe, peak memory", "MB", taken("probe", "peak_mb")),
    )
    return Part("statistics", f"Statistics of {size.items:,} items", METHOD, figures, limits)


def write_items(path: Path, items: int) -> None:
    """Questions whose words are of a vocabulary, and random keys."""
    draw = random.Random(0)
    words = [f"word{number}" for number in range(VOCABULARY)]
    frequent = FREQUENT.split()
    with path.open("w", encoding="utf-8") as file:
        for number in range(items):
            row: dict[str, object] = {
                "index": number,
                "question": " ".join(draw.choices(frequent, k=8) + draw.choices(words, k=3)) + "?",
            }
            for label in "ABCD":
                row[label] = " ".join(draw.choices(words, k=draw.randint(1, 4)))
            row |= {"answer": draw.choice("ABCD"), "category": f"c{number % 20}"}
            file.write(json.dumps(row) + "\n")


def measured(part: str, path: Path) -> dict[str, float]:
    """Processor seconds and peak resident megabytes of one part in a fresh process."""
    command = [sys.executable, "-m", "benchmarks.perf.item_statistics", part, str(path)]
    environment = os.environ | {"SNELLEN_CACHE": str(path.parent / "cache")}
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment)
    result: dict[str, float] = json.loads(done.stdout)
    return result


def take_statistics(path: Path, probe: int) -> None:
    from snellen_curate.statistics.measuring import StatisticsOptions, measure_data

    measure_data(path, StatisticsOptions(probe=probe))


def run_part(part: str, path: Path) -> None:
    # Imports are not what is measured.
    import numpy  # noqa: F401

    import snellen_curate.statistics.measuring  # noqa: F401
    from snellen.data_sets.items import open_items

    started = time.process_time()
    if part == "plain":
        with path.open("rb") as file:
            for line in file:
                json.loads(line)
    elif part == "index":
        open_items(path)
    elif part == "items":
        for _ in open_items(path):
            pass
    else:
        take_statistics(path, probe=20_000 if part == "probe" else 0)
    seconds = time.process_time() - started
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(json.dumps({"seconds": seconds, "peak_mb": peak}))


if __name__ == "__main__":
    run_part(sys.argv[1], Path(sys.argv[2]))
