"""What the built-in benchmarks of places declare beside their verdicts, which `tests/differential` holds."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snellen import Scored, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.place import load_places
from snellen.core.sample import Sample

LAYOUTS = Path(__file__).parent / "layouts"


def samples_of(name: str, file: str, **options: str) -> list[Sample]:
    benchmark = open_benchmark(name, Variant(data=str(LAYOUTS / file), options=options))
    return list(benchmark.samples(benchmark.open()))


def scored(name: str, rows: list[dict[str, Any]], replies: list[str], folder: Path) -> Scored:
    data, said = folder / "data.jsonl", folder / "said.jsonl"
    data.write_text("".join(json.dumps({**row, "index": n}) + "\n" for n, row in enumerate(rows)))
    said.write_text("".join(json.dumps({"index": n, "prediction": one}) + "\n" for n, one in enumerate(replies)))
    return score(name, said, data=data)


def rows_of(file: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (LAYOUTS / file).read_text().splitlines()]


def test_a_part_of_refcoco_is_asked_alone() -> None:
    everything = samples_of("refcoco", "refcoco.tsv")
    part = samples_of("refcoco", "refcoco.tsv", part="refcoco-testA")
    assert 0 < len(part) < len(everything)
    assert {sample.groups["category"] for sample in part} == {"RefCOCO test-A"}


def test_gold_shapes_follow_the_row() -> None:
    golds = {
        sample.groups["box_type"]: load_places(sample.gold[0]) for sample in samples_of("osworld-g", "osworld-g.jsonl")
    }
    assert golds["bbox"].boxes
    assert golds["polygon"].polygons
    assert len(golds["refusal"]) == 0


def test_the_mask_is_not_shown() -> None:
    for name in ("where2place", "refspatial-bench"):
        for sample in samples_of(name, f"{name}.jsonl"):
            assert len(sample.media) == 1
            assert load_places(sample.gold[0]).masks


@pytest.mark.parametrize(
    ("reply", "right"),
    [("[]", 1.0), ('{"bbox_2d": null}', 1.0), ("There is no such boat.", 1.0), ("[0.1, 0.2, 0.4, 0.6]", 0.0)],
)
def test_no_box_is_right_where_nothing_is_as_described(reply: str, right: float, tmp_path: Path) -> None:
    rows = [row for row in rows_of("groundingme.jsonl") if row["subtask_l1"] == "Rejection"]
    [record] = scored("groundingme", rows[:1], [reply], tmp_path).records
    assert record.score == right


@pytest.mark.parametrize(
    ("coordinates", "right", "outcome"), [("fractions", 0.0, "other_space"), ("thousandths", 1.0, "answered")]
)
def test_a_box_counts_in_the_declared_space_alone(coordinates: str, right: float, outcome: str, tmp_path: Path) -> None:
    rows = [{**rows_of("groundingme.jsonl")[0], "bbox": [64, 96, 256, 288], "width": 640, "height": 480}]
    name = f"groundingme:coordinates={coordinates}"
    [record] = scored(name, rows, ['{"bbox_2d": [100, 200, 400, 600]}'], tmp_path).records
    assert (record.score, record.outcome) == (right, outcome)


def test_questions_of_one_benchmark_ask_for_places_or_yes_and_no() -> None:
    samples = samples_of("robospatial-home", "robospatial-home.tsv")
    assert {sample.kind for sample in samples} == {"place", "yes_no"}
    assert not any("Your answer should be" in sample.question for sample in samples)


def test_map_is_the_mean_of_the_data_sets(tmp_path: Path) -> None:
    """One data set without an error, one without a right box."""
    row = {**rows_of("odinw-13.jsonl")[0], "bboxes": [[10, 10, 50, 40]], "labels": ["dog"]}
    rows = [{**row, "dataset_name": name, "image_width": 64, "image_height": 48} for name in ("Aquarium", "pothole")]
    said = '[{"bbox_2d": [%s], "label": "dog"}]'
    replies = [said % "10, 10, 50, 40", said % "0, 0, 5, 5"]
    summary = scored("odinw-13:coordinates=pixels", rows, replies, tmp_path).summary
    assert summary.headline.name == "map"
    assert summary.headline.value == pytest.approx(50.0)
