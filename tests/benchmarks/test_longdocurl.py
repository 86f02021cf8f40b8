"""LongDocURL: answers by their type, by three rules, and pictures that the file names as its authors' machine does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.output import Generated
from snellen.core.record import run_flow

ROW = {"question_id": "a", "question": "What?", "evidence_pages": [5], "evidence_sources": ["Table", "Text"]}


def score(folder: Path, gold: Any, kind: str, reply: str, rule: str = "snellen") -> float | None:
    file = folder / "rows.jsonl"
    file.write_text(json.dumps({**ROW, "answer": gold, "answer_format": kind}))
    benchmark = open_benchmark("longdocurl", Variant(data=str(file), rule=rule))
    [sample] = benchmark.samples(benchmark.open())
    result: float | None = run_flow(benchmark.flow(sample), lambda request: Generated(reply)).score
    return result


@pytest.mark.parametrize(
    ("gold", "kind", "reply", "ours", "authors"),
    [
        (5, "Integer", "5", 1.0, 1.0),
        (5, "Integer", "**Answer:** 5", 1.0, 0.0),
        (1250, "Integer", "1,250", 1.0, 0.0),
        (12.5, "Float", "12.6", 1.0, 1.0),
        (0.125, "Float", "12.5%", 1.0, 1.0),
        ("80 kg", "String", "80kg", 1.0, 1.0),
        ("team", "String", "tea", 0.75, 1.0),
        ("Not answerable", "None", "This is not mentioned in the document.", 1.0, 0.0),
        ("5 m", "String", "Not answerable", 0.0, 0.0),
        (["Box A", "Box B"], "List", '["Box B", "Box A"]', 1.0, 1.0),
        (["Box A"], "List", '["Box A", "x", "y", "z"]', 0.5, 0.5),
        ([3, 7], "List", "[7, 3]", 0.0, 0.0),
        ([{"page": 3, "name": "x"}], "List", "['3-x']", 1.0, 1.0),
    ],
)
def test_answers_by_their_type(tmp_path: Path, gold: Any, kind: str, reply: str, ours: float, authors: float) -> None:
    assert score(tmp_path, gold, kind, reply) == pytest.approx(ours)
    assert score(tmp_path, gold, kind, reply, "official") == pytest.approx(authors)


def test_a_question_counts_under_each_of_its_sources(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    row = {**ROW, "answer": "a", "answer_format": "String", "task_tag": "Locating"}
    rows = [{**row, "question_id": name} for name in "xy"]
    file.write_text("\n".join(map(json.dumps, rows)))
    benchmark = open_benchmark("longdocurl", Variant(data=str(file)))
    samples = list(benchmark.samples(benchmark.open()))
    records = [
        run_flow(benchmark.flow(sample), lambda request, said=said: Generated(said))
        for sample, said in zip(samples, "ab", strict=True)
    ]
    summary = benchmark.summarise(records)
    assert {name: metric.value for name, metric in summary.groups["evidence"].items()} == {"Table": 50.0, "Text": 50.0}
    assert summary.groups["task_tag"]["Locating"].value == summary.headline.value == 50.0


def test_pictures_of_another_machine_are_found_beside_the_file(tmp_path: Path) -> None:
    place = tmp_path / "pdf_pngs" / "4000-4999" / "4055"
    place.mkdir(parents=True)
    Image.new("RGB", (8, 6), "red").save(place / "a_0.png")
    Image.new("RGB", (8, 6), "blue").save(tmp_path / "a_1.png")
    file = tmp_path / "rows.jsonl"
    names = [f"/nowhere/data/pdf_pngs/4000-4999/4055/a_{page}.png" for page in (0, 1)]
    file.write_text(json.dumps({**ROW, "answer": 5, "answer_format": "Integer", "images": names}))
    benchmark = open_benchmark("longdocurl", Variant(data=str(file)))
    [sample] = benchmark.samples(benchmark.open())
    there, missing = sample.media
    assert there.source.read() == (place / "a_0.png").read_bytes()
    # A name alone says too little: another picture may have it.
    assert "no image file" in missing.source.reason
