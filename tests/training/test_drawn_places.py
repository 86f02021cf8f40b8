"""The drawn pictures of places: gold is what the pixels say, and the file is what the script writes."""

from __future__ import annotations

import base64
import csv
import io
import json
from collections import Counter
from pathlib import Path

import pytest
from PIL import Image
from scipy.ndimage import find_objects, label
from training.tiny import places
from training.tiny.world import COLOURS

from snellen.core.arrays import np
from snellen.core.place import Mask
from snellen.scoring.places.masks import pixels_of_mask

DATA = Path(__file__).parents[2] / "src/snellen/benchmarks/data/eyechart_places.tsv"


@pytest.fixture(scope="module")
def rows() -> list[places.Row]:
    return places.build()


@pytest.fixture(scope="module")
def cells() -> list[dict[str, str]]:
    with DATA.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t"))


@pytest.fixture(scope="module")
def pictures(cells) -> dict[str, np.ndarray]:
    """The pixels of the picture of each row, (height, width, 3)."""
    shown: dict[str, np.ndarray] = {}
    for cell in cells:
        if cell["image"].isdigit():
            shown[cell["index"]] = shown[cell["image"]]
        else:
            picture = Image.open(io.BytesIO(base64.b64decode(cell["image"]))).convert("RGB")
            shown[cell["index"]] = np.asarray(picture)
    return shown


def test_the_bundled_file_is_what_the_script_writes(rows, tmp_path) -> None:
    file = tmp_path / "places.tsv"
    places.write(rows, file)
    with file.open(newline="") as written, DATA.open(newline="") as bundled:
        for one, other in zip(
            csv.DictReader(written, delimiter="\t"), csv.DictReader(bundled, delimiter="\t"), strict=True
        ):
            assert {name: one[name] for name in one if name != "image"} == {
                name: other[name] for name in other if name != "image"
            }
    assert DATA.stat().st_size <= 300_000


def test_tasks_formats_and_absent_kinds_are_mixed(rows) -> None:
    assert Counter(row.task for row in rows) == places.TASKS
    formats = Counter(row.drawing.format for row in rows)
    assert min(formats[name] for name in ("square", "wide", "tall")) >= 50
    assert len({row.drawing.size for row in rows}) == len(places.SIZES)
    several = [row for row in rows if row.task in ("labels", "count")]
    assert sum(not row.golds for row in several) == 11
    assert sum(len(row.golds) > 1 for row in several) >= 30


def test_pictures_are_not_those_of_training() -> None:
    seen = {str(row.drawing) for row in places.build("train")}
    assert not seen & {str(row.drawing) for row in places.build("test")}


def test_shapes_of_all_sizes_of_coco_are_asked_for(rows) -> None:
    areas = [
        (right - left) * (bottom - top)
        for row in rows
        if row.task == "box"
        for left, top, right, bottom in [places.box_of(row.drawing, row.golds[0])]
    ]
    assert sum(area < 32**2 for area in areas) >= 15
    assert sum(32**2 <= area < 96**2 for area in areas) >= 15
    assert sum(area >= 96**2 for area in areas) >= 5


def test_every_box_ends_at_the_pixels_of_its_shape(rows, cells, pictures) -> None:
    """The gold boxes are those around the connected pixels of the colours in the picture."""
    checked = 0
    for row, cell in zip(rows, cells, strict=True):
        if row.task == "point":
            continue
        boxes = json.loads(cell["bbox"])
        boxes = [boxes] if row.task == "box" else boxes
        assert len(boxes) == len(row.golds)
        for box, thing in zip(boxes, row.golds, strict=True):
            same = (pictures[cell["index"]] == COLOURS[thing.colour]).all(axis=2)
            regions = find_objects(label(same, np.ones((3, 3)))[0])
            assert box in [[across.start, down.start, across.stop, down.stop] for down, across in regions]
            checked += 1
    assert checked >= 200


def test_every_mask_is_the_drawn_pixels(rows, cells, pictures) -> None:
    for row, cell in zip(rows, cells, strict=True):
        if row.task != "point":
            continue
        [found] = json.loads(cell["mask"])
        height, width = found["size"]
        pixels = pixels_of_mask(Mask(width, height, tuple(found["counts"])))
        same = (pictures[cell["index"]] == COLOURS[row.golds[0].colour]).all(axis=2)
        assert pixels.shape == same.shape
        assert same[pixels].all()


def test_a_question_about_one_shape_fits_one_alone_and_all_of_a_kind_are_gold(rows) -> None:
    for row in rows:
        things = row.drawing.scene.things
        asked = row.question.split(".")[0].split(";")[0].split("the ")[-1].split("every ")[-1]
        words = set(asked.split())
        fits = [
            thing
            for thing in things
            if (not words & set(COLOURS) or thing.colour in words) and (words & {thing.shape, "object"})
        ]
        if row.task in ("box", "point"):
            assert fits == list(row.golds), row.question
        else:
            assert sorted(map(str, fits)) == sorted(map(str, row.golds)), row.question
        assert not row.labels or row.labels == tuple(f"{thing.colour} {thing.shape}" for thing in row.golds)
