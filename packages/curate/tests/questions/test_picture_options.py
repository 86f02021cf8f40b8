"""Questions whose options are pictures, in a data file that a user's own script wrote."""

from __future__ import annotations

import json
from pathlib import Path

from seed_files import disc

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant


def test_seedbench_reads_the_pictures_of_question_and_options(tmp_path: Path) -> None:
    files = []
    for number, colour in enumerate(("red", "green", "blue", "yellow", "red")):
        files.append(f"{number}.png")
        (tmp_path / files[-1]).write_bytes(disc(colour, 40 + number))
    row = {"index": "next", "question": "What will happen next?", "answer": "B", "image": files,
           "picture options": "4", "category": "Next Image Prediction",
           **{label: f"picture {n}" for n, label in enumerate("ABCD", 1)}}  # fmt: skip
    data = tmp_path / "drawn.jsonl"
    data.write_text(json.dumps(row) + "\n")
    variant = Variant(data=str(data), options={"version": "H", "level": "L3"})
    benchmark = open_benchmark("seedbench", variant)
    (sample,) = benchmark.samples(benchmark.open())
    assert [ref.source.read() for ref in sample.media] == [(tmp_path / "0.png").read_bytes()]
    assert list(sample.option_images) == list("ABCD")
    right = sample.option_images[sample.gold[0]]
    assert right.source.read() == (tmp_path / "2.png").read_bytes()
    assert sample.groups["dimension"] == "Next Image Prediction"
