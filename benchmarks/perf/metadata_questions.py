"""Questions of a million metadata records: `python -m benchmarks.perf.metadata_questions [N]`.

Captions of six words over a vocabulary as skewed as that of a language, counts and labels, from
four sources. Templates ask for a count, a label, and a caption whose wrong options are found by
text similarity among all captions. Prints seconds and peak memory of the process.
"""

from __future__ import annotations

import json
import random
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from snellen_curate.metadata.build import MetadataQuestionOptions, build_questions
from snellen_curate.metadata.records import MetadataHeader, MetadataRecord, SourceFacts, write_records

TEMPLATES = """
[[templates]]
subtask = "counting"
answer = "count"
questions = ["How many {label}s are there?"]

[[templates]]
subtask = "recognition"
answer = "label"
questions = ["What is it?"]

[[templates]]
subtask = "captioning"
answer = "caption"
questions = ["Which caption fits?"]
distractors = [{ by = "other_items", near = "text" }]
"""
WORDS = 20_000
PICTURES = 500
LABELS = [f"label {number}" for number in range(80)]


def records(count: int) -> Iterator[MetadataRecord]:
    rng = random.Random(0)
    words = [f"w{number}" for number in range(WORDS)]
    # The word of rank r is drawn with a chance of about 1 / r (Zipf).
    cumulative = []
    total = 0.0
    for rank in range(1, WORDS + 1):
        total += 1 / rank
        cumulative.append(total)
    for number in range(count):
        label = rng.choice(LABELS)
        yield MetadataRecord(
            id=f"r{number}",
            source=f"source-{number % 4}",
            # Many records share a picture; only that of a drawn record is read.
            images=(f"{number % PICTURES}.png",),
            label=label,
            counts={label: rng.randint(1, 9), rng.choice(LABELS): rng.randint(1, 9)},
            captions=(" ".join(rng.choices(words, cum_weights=cumulative, k=6)),),
        )


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main(count: int) -> dict[str, float]:
    """Seconds, megabytes and numbers of one build."""
    with tempfile.TemporaryDirectory(prefix="snellen-perf-") as name:
        folder = Path(name)
        header = MetadataHeader(sources={f"source-{number}": SourceFacts("CC0-1.0") for number in range(4)})
        path = folder / "records.jsonl"
        write_records(path, header, records(count))
        (folder / "templates.toml").write_text(TEMPLATES)
        for number in range(PICTURES):
            Image.new("RGB", (32, 24), (number % 256, number // 256, 0)).save(folder / f"{number}.png")
        before = peak_megabytes()
        begin, begin_cpu = time.perf_counter(), time.process_time()
        counts = build_questions(
            path, folder / "templates.toml", folder / "out", MetadataQuestionOptions(per_subtask=200)
        )
        seconds, cpu = time.perf_counter() - begin, time.process_time() - begin_cpu
        return {
            "records": count,
            "file_mb": path.stat().st_size / 1e6,
            "items": counts.items,
            "seconds": seconds,
            "cpu_seconds": cpu,
            "before_mb": before,
            "peak_mb": peak_megabytes(),
        }


if __name__ == "__main__":
    measured = main(int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
    print(json.dumps({name: round(value, 2) for name, value in measured.items()}))
