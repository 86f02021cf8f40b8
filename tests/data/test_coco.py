"""COCO's annotations as a benchmark, and what of them is refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant, final_summary
from snellen.core.errors import DataError
from snellen.core.output import Generated
from snellen.core.place import Box, load_places
from snellen.engine.offline.gold_check import answer_samples

ANNOTATIONS: dict[str, Any] = {
    "info": {},
    "images": [
        {"id": 5, "file_name": "a.png", "width": 100, "height": 50},
        {"id": 9, "file_name": "b.png", "width": 100, "height": 50},
    ],
    "categories": [{"id": 1, "name": "cat"}, {"id": 7, "name": "dog"}],
    "annotations": [
        {"id": 1, "image_id": 5, "category_id": 1, "bbox": [10, 10, 20, 30], "iscrowd": 0, "segmentation": [[0, 0]]},
        {"id": 2, "image_id": 5, "category_id": 7, "bbox": [50, 0, 50, 50], "iscrowd": 1},
    ],
}


def written(folder: Path, value: object) -> str:
    (folder / "annotations").mkdir(parents=True, exist_ok=True)
    file = folder / "annotations" / "instances_val2017.json"
    file.write_text(json.dumps(value))
    return str(file)


@pytest.mark.parametrize("pictures", ["val2017", "images", "images/val2017", "annotations"])
def test_boxes_labels_and_crowds_of_every_picture(tmp_path: Path, pictures: str) -> None:
    data = written(tmp_path, ANNOTATIONS)
    (tmp_path / pictures).mkdir(parents=True, exist_ok=True)
    for name in ("a.png", "b.png"):
        Image.new("RGB", (100, 50)).save(tmp_path / pictures / name)
    benchmark = open_benchmark(data, Variant(options={"coordinates": "pixels"}))
    one, other = benchmark.samples(benchmark.open())
    assert one.question == "Find every object of these kinds: cat, dog. Label each with its kind."
    gold = load_places(one.gold[0])
    assert (gold.boxes, gold.labels, gold.crowds, gold.crowd_labels) == (
        (Box(10, 10, 30, 40),),
        ("cat",),
        (Box(50, 0, 100, 50),),
        ("dog",),
    )
    assert (len(load_places(other.gold[0])), one.metadata, len(one.media)) == (0, {}, 1)
    assert one.media[0].source.read()
    in_crowd = '{"bbox_2d": [60, 10, 70, 20], "label": "dog"}'
    found = '{"bbox_2d": [10, 10, 30, 40], "label": "cat"}'
    replies = {"5": f"[{found}, {in_crowd}]", "9": "[]"}
    records = answer_samples(benchmark, [one, other], lambda sample, _: Generated(replies[sample.id]))
    assert [record.score for record in records] == [1, 1]
    summary = final_summary(benchmark, records)
    assert (summary.headline.name, summary.metrics["map"].value, summary.metrics["count"].value) == ("f1@0.5", 100, 100)
    # A cat in the crowd of dogs is wrong.
    replies["5"] = f"[{found}, {in_crowd.replace('dog', 'cat')}]"
    (record,) = answer_samples(benchmark, [one], lambda sample, _: Generated(replies[sample.id]))
    assert record.score == pytest.approx(2 / 3)


def test_a_picture_of_crowds_alone_has_no_place(tmp_path: Path) -> None:
    data = written(tmp_path, {**ANNOTATIONS, "annotations": ANNOTATIONS["annotations"][1:]})
    benchmark = open_benchmark(data, Variant(options={"coordinates": "pixels"}))
    samples = list(benchmark.samples(benchmark.open()))
    replies = {
        "5": '[{"bbox_2d": [60, 10, 70, 20], "label": "dog"}]',
        "9": '[{"bbox_2d": [1, 1, 9, 9], "label": "dog"}]',
    }
    records = answer_samples(benchmark, samples, lambda sample, _: Generated(replies[sample.id]))
    assert [record.score for record in records] == [1, 0]


def test_lvis_names_pictures_by_address_and_is_refused_where_kinds_are_not_marked(tmp_path: Path) -> None:
    pictures = [{"id": 5, "coco_url": "http://images.cocodataset.org/val2017/a.png", "width": 100, "height": 50}]
    value = {**ANNOTATIONS, "images": pictures}
    benchmark = open_benchmark(written(tmp_path, value))
    assert "val2017/a.png" in next(iter(benchmark.samples(benchmark.open()))).media[0].source.__repr__()
    pictures[0]["not_exhaustive_category_ids"] = [1]
    with pytest.raises(DataError, match="holds LVIS's annotations, in which some kinds of a picture are not marked"):
        open_benchmark(written(tmp_path / "lvis", value)).open()


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"annotations": [{"id": 1, "image_id": 5, "caption": "A cat."}]}, "holds COCO's captions of pictures"),
        ({"annotations": [{"image_id": 5, "segments_info": []}]}, "holds COCO's panoptic segments"),
        ({"categories": []}, "without the names of their kinds"),
        ({"images": []}, "holds no pictures"),
        (
            {"annotations": [{"id": 3, "image_id": 5, "category_id": 2, "bbox": [1, 1, 1, 1]}]},
            "annotation 3: no category",
        ),
        ({"annotations": [{"id": 3, "image_id": 6, "category_id": 1, "bbox": [1, 1, 1, 1]}]}, "image_id '6', which no"),
        (
            {"annotations": [{"id": 3, "image_id": 5, "category_id": 1, "bbox": [1, 1, -1, 1]}]},
            "annotation 3: its bbox is",
        ),
        (
            {"annotations": [{"id": 3, "image_id": 5, "category_id": 1, "bbox": "1 1 2 2"}]},
            "expected .x, y, width, height.",
        ),
        ({"annotations": [{"id": 3, "image_id": 5, "category_id": 1}]}, "annotation 3: its bbox is None"),
    ],
)
def test_other_annotations_are_refused(tmp_path: Path, changed: dict[str, Any], message: str) -> None:
    with pytest.raises(DataError, match=message):
        open_benchmark(written(tmp_path, {**ANNOTATIONS, **changed})).open()


def test_a_kind_above_the_others_is_not_asked_for(tmp_path: Path) -> None:
    kinds = [{"id": 0, "name": "pets", "supercategory": "none"}, {"id": 1, "name": "cat", "supercategory": "pets"}]
    kinds.append({"id": 7, "name": "dog", "supercategory": "pets"})
    benchmark = open_benchmark(written(tmp_path, {**ANNOTATIONS, "categories": kinds}))
    assert "kinds: cat, dog." in next(iter(benchmark.samples(benchmark.open()))).question
