"""Clean pictures and boxes for visual referring, from made-up annotation files of each layout."""

from __future__ import annotations

import base64
import io
import json
import random
from pathlib import Path
from typing import Any

import pytest
from mmt_rows import row, write
from PIL import Image, ImageDraw

from snellen import evaluate
from snellen.benchmarks.abilities.mmt_bench.referring.annotations import LAYOUTS, read_annotations
from snellen.benchmarks.abilities.mmt_bench.referring.subtasks import SUBTASKS
from snellen.benchmarks.abilities.mmt_bench.tasks import by_study
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.data.tables.open_table import open_table
from snellen.prompts.derived_images import load_image
from snellen.store.runs import find_runs

Box = tuple[int, int, int, int]
SIZE = (120, 90)
WAYS = ("box", "pixel", "normalised", "both")
BOXES: dict[str, list[Box]] = {
    "1": [(10, 10, 50, 60), (60, 20, 110, 80)],
    "2": [(20, 30, 70, 85), (15, 5, 100, 40), (80, 50, 110, 70)],
    "3": [(5, 5, 60, 60)],
}


def clean(name: str) -> Image.Image:
    """A picture of soft shapes, different for each name."""
    rng = random.Random(name)
    image = Image.new("RGB", SIZE, tuple(rng.randint(90, 200) for _ in range(3)))  # type: ignore[arg-type]
    pen = ImageDraw.Draw(image)
    for _ in range(12):
        x, y, radius = rng.randint(0, 120), rng.randint(0, 90), rng.randint(5, 25)
        colour = tuple(rng.randint(90, 200) for _ in range(3))
        pen.ellipse((x - radius, y - radius, x + radius, y + radius), fill=colour)
    return image


def published(name: str, boxes: list[Box], colours: list[str], scale: float = 1.0) -> str:
    """As the authors make a picture: boxes of two pixels, saved as JPEG."""
    image = clean(name)
    pen = ImageDraw.Draw(image)
    for box, colour in zip(boxes, colours, strict=True):
        ink = {"red": (255, 0, 0), "green": (0, 255, 0)}[colour]
        pen.rectangle(box, outline=ink, width=2)
    if scale != 1.0:
        image = image.resize((round(SIZE[0] * scale), round(SIZE[1] * scale)))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=90)
    return base64.b64encode(out.getvalue()).decode()


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    folder = tmp_path / "pictures"
    folder.mkdir()
    for name in BOXES:
        clean(name).save(folder / f"{name}.jpg", quality=95, subsampling=0)
    return folder


def coco(folder: Path, **changes: Any) -> Path:
    """COCO's instances file of the pictures; the annotation ids are 10, 11, 20, ..."""
    document: dict[str, Any] = {
        "info": {"year": 2017},
        "images": [
            {"id": int(name), "file_name": f"{name}.jpg", "width": 120, "height": 90, "license": 1} for name in BOXES
        ],
        "annotations": [
            {
                "id": 10 * int(name) + place,
                "image_id": int(name),
                "category_id": 1,
                "area": 9.5,
                "bbox": [x, y, right - x, bottom - y],
                "iscrowd": 0,
                "segmentation": [[1, 2, 3, 4]],
            }
            for name, boxes in BOXES.items()
            for place, (x, y, right, bottom) in enumerate(boxes)
        ],
        "categories": [{"id": 1, "name": "person"}],
    }
    path = folder / "instances.json"
    path.write_text(json.dumps(document | changes))
    return path


def genome(folder: Path, kind: str) -> Path:
    """Visual Genome's objects.json or region_descriptions.json."""
    sides = ("w", "h") if kind == "objects" else ("width", "height")
    number = "object_id" if kind == "objects" else "region_id"
    entries = [
        {
            ("image_id" if kind == "objects" else "id"): int(name),
            kind: [
                {
                    number: 10 * int(name) + place,
                    "x": x,
                    "y": y,
                    "names": ["thing"],
                    "phrase": "a",
                    sides[0]: right - x,
                    sides[1]: bottom - y,
                }
                for place, (x, y, right, bottom) in enumerate(boxes)
            ],
        }
        for name, boxes in BOXES.items()
    ]
    path = folder / f"{kind}.json"
    path.write_text(json.dumps(entries))
    return path


def other_layouts(folder: Path) -> dict[str, Path]:
    """One file of each remaining layout, about the same boxes."""
    hico = [
        {
            "file_name": f"{name}.jpg",
            "hoi_annotation": [],
            "annotations": [{"bbox": box, "category_id": 1} for box in boxes],
        }
        for name, boxes in BOXES.items()
    ]
    counted = {
        f"{name}.jpg": {
            "box_examples_coordinates": [
                [[x, y], [x, bottom], [right, bottom], [right, y]] for x, y, right, bottom in boxes
            ]
        }
        for name, boxes in BOXES.items()
    }
    (x, y, right, bottom), (x2, y2, right2, bottom2) = BOXES["1"]
    faces = f"1.jpg {x} {y} {right - x} {bottom - y} {x2} {y2} {right2 - x2} {bottom2 - y2} 1 0 1\n"
    table = ["image,x1,y1,x2,y2,id"] + [
        f"{name}.jpg,{','.join(map(str, box))},{10 * int(name) + place}"
        for name, boxes in BOXES.items()
        for place, box in enumerate(boxes)
    ]
    texts = {"hico": json.dumps(hico), "fsc147": json.dumps(counted), "faces": faces, "csv": "\n".join(table)}
    paths = {layout: folder / f"{layout}.txt" for layout in texts}
    for layout, text in texts.items():
        paths[layout].write_text(text)
    return paths


def test_every_layout_says_the_same(pictures: Path, tmp_path: Path) -> None:
    files = {
        "coco": [coco(tmp_path)],
        "visual-genome": [genome(tmp_path, "objects"), genome(tmp_path, "regions")],
        **{layout: [path] for layout, path in other_layouts(tmp_path).items()},
    }
    assert files.keys() == LAYOUTS.keys()
    for layout, paths in files.items():
        for path in paths:
            for picture in read_annotations(layout, path, pictures):
                assert picture.path.is_file()
                got = [tuple(map(int, box.corners)) for box in picture.boxes]
                assert got == BOXES[picture.path.stem], layout


RELATION = row(
    1,
    "social_relation_recognition",
    "relation_reasoning",
    question="What is the relation of the two (each face marked with a GREEN bounding box)?",
    image=published("1", BOXES["1"], ["green", "green"]),
)
INTERACTION = row(
    2,
    "human_object_interaction_recognition",
    "relation_reasoning",
    question="What do the people (marked as RED) do with the object (marked as GREEN)?",
    # The object stands before the person in the annotation file; a third box is not drawn.
    image=published("2", BOXES["2"][1::-1], ["red", "green"], scale=0.8),
)
KEYPOINTS = row(
    3,
    "human_keypoint_detection",
    "keypoint_detection",
    question="Detect the keypoints of the human (marked as RED box).",
    image=published("3", BOXES["3"], ["red"]),
)
STRANGE = row(
    4,
    "instance_captioning",
    "visual_captioning",
    question="Describe the region (marked as RED).",
    image=published("9", [(3, 3, 40, 40)], ["red"]),
)
OTHER = row(5, "weather_recognition", "visual_recognition")


def convert(folder: Path, pictures: Path, rows: list[dict[str, str]], *more: str) -> tuple[int, Any]:
    """The exit code of the command, and the file that it wrote."""
    data = write(folder / "mmt.tsv", rows)
    code = main(
        [
            "data",
            "referring",
            str(data),
            "--annotations",
            "coco",
            str(coco(folder)),
            str(pictures),
            "-o",
            str(folder / "clean.tsv"),
            "--json",
            *more,
        ]
    )
    return code, folder / "clean.tsv"


def boxes_of(path: Path) -> dict[str, list[list[float]]]:
    return {each.cells["index"]: json.loads(each.cells["boxes"]) for each in open_table(str(path))}


def test_rows_are_found_by_their_picture(pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [RELATION, INTERACTION, KEYPOINTS, STRANGE, OTHER]
    code, path = convert(tmp_path, pictures, rows)
    counts = json.loads(capsys.readouterr().out)["subtasks"]
    assert code == 1
    assert counts["instance_captioning"]["problems"] == {"4": "no picture of the sources is like its own"}
    found = boxes_of(path)
    assert found["1"] == [list(box) for box in BOXES["1"]]
    # Red is spoken of first: the second box of the file is the person.
    assert found["2"] == [list(BOXES["2"][1]), list(BOXES["2"][0])]
    assert found["3"] == [list(BOXES["3"][0])]
    assert found.keys() == {"1", "2", "3"}
    for each in open_table(str(path)):
        image = load_image(each.media[0])
        original = pictures / f"{each.cells['index']}.jpg"
        assert image.tobytes() == Image.open(original).convert("RGB").tobytes()


def test_all_four_prompts_run_on_what_was_written(pictures: Path, tmp_path: Path) -> None:
    _, path = convert(tmp_path, pictures, [RELATION, INTERACTION, KEYPOINTS])
    evaluate(
        ["random"],
        [f"mmt-bench:referring={way},tasks=referring" for way in ("box", "pixel", "normalised", "both")],
        out=tmp_path / "runs",
        variant=Variant(data=str(path)),
    )
    runs = find_runs(tmp_path / "runs")
    assert {run.info.config.parameters["referring"] for run in runs} == set(WAYS)
    assert all(run.info.counts.done == 3 for run in runs)
    written = next(run for run in runs if run.info.config.parameters["referring"] == "pixel")
    questions = {record.id: record.question for record in written.records()}
    assert "people (at [15, 5, 100, 40]) do with the object (at [20, 30, 70, 85])" in questions["2"]
    assert main(["analyse", "gains", str(tmp_path / "runs"), "--by", "referring=box"]) == 0


@pytest.mark.parametrize(
    ("link", "problem"),
    [
        ("1,7,", "its link names the picture 7, which no source has"),
        ("1,1,99", "its link names the box 99 of the picture 1, which has 10, 11"),
        ("1,4,40", "4.jpg: there is no such file"),
        ("1,3,31", "the box 31 of the picture 3 is [100, 80, 140, 95], and the picture 120 x 90"),
        ("1,3,32", "the box 32 of the picture 3 has no area"),
    ],
    ids=["picture", "box", "missing", "range", "area"],
)
def test_a_wrong_link_leaves_its_row_out(
    link: str, problem: str, pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    document = json.loads(coco(tmp_path).read_text())
    document["images"].append({"id": 4, "file_name": "4.jpg"})
    document["annotations"] += [
        {"id": 40, "image_id": 4, "bbox": [1, 1, 5, 5]},
        {"id": 31, "image_id": 3, "bbox": [100, 80, 40, 15]},
        {"id": 32, "image_id": 3, "bbox": [10, 10, 0, 15]},
    ]
    links = tmp_path / "links.csv"
    links.write_text(f"index,image,boxes\n{link}\n3,3,30\n")
    path = tmp_path / "more.json"
    path.write_text(json.dumps(document))
    data = write(tmp_path / "mmt.tsv", [RELATION, KEYPOINTS])
    out = tmp_path / "clean.tsv"
    code = main(
        [
            "data",
            "referring",
            str(data),
            "--annotations",
            "coco",
            str(path),
            str(pictures),
            "--links",
            str(links),
            "-o",
            str(out),
        ]
    )
    said = capsys.readouterr().out
    assert code == 1
    assert "social_relation_recognition: 0 of 1 rows have clean pictures" in said
    assert problem in said
    assert boxes_of(out) == {"3": [list(BOXES["3"][0])]}


def test_a_link_needs_no_likeness(pictures: Path, tmp_path: Path) -> None:
    links = tmp_path / "links.csv"
    links.write_text("index,image,boxes\n4,2.jpg,21 20\n")
    code, path = convert(tmp_path, pictures, [STRANGE], "--links", str(links))
    assert code == 0
    assert boxes_of(path) == {"4": [list(BOXES["2"][1]), list(BOXES["2"][0])]}


def test_boxes_that_explain_nothing_are_not_taken(
    pictures: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    moved = KEYPOINTS | {"image": published("3", [(50, 20, 110, 85)], ["red"])}
    code, _ = convert(tmp_path, pictures, [moved])
    assert code == 1
    (problem,) = json.loads(capsys.readouterr().out)["subtasks"]["human_keypoint_detection"]["problems"].values()
    assert problem.startswith("it is like the picture 3, but none of the boxes")


@pytest.mark.parametrize(
    ("layout", "text", "says"),
    [
        ("coco", "[1]", "is not a COCO annotation file"),
        ("coco", '{"images": [], "annotations": [{"id": 5, "image_id": 1}]}', "5 is about"),
        ("coco", '{"images": [], "annotations": []}', "has no picture with a box"),
        ("visual-genome", '[{"objects": []}]', "neither image_id nor id"),
        ("hico", '[{"file_name": "a", "hoi_annotation": [{"subject_id": 0, "object_id": 1}]}]', "and 0 boxes"),
        ("faces", "a.jpg 1 2 3", "line 1: expected a picture and two faces"),
        ("csv", "image,x1\na,1", "has no column y1"),
        ("csv", "image,x1,y1,x2,y2\na,1,2,3,x", "line 2: expected numbers"),
    ],
)
def test_a_file_of_another_form_is_refused(layout: str, text: str, says: str, pictures: Path, tmp_path: Path) -> None:
    path = tmp_path / "annotations"
    path.write_text(text)
    with pytest.raises(DataError, match=says):
        read_annotations(layout, path, pictures)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ([], "DATA and --annotations and -o are missing"),
        (["D", "--annotations", "coco", "none.json", "PICTURES", "-o", "o.tsv"], "there is no such"),
        (["D", "--annotations", "coko", "none.json", "PICTURES", "-o", "o.tsv"], "unknown layout"),
        (["D", "--annotations", "coco", "none.json", "nowhere", "-o", "o.tsv"], "no such folder"),
        (
            ["D", "--annotations", "coco", "none.json", "PICTURES", "-o", "o.tsv", "--links", "no.csv"],
            "no.csv: there is no such file",
        ),
    ],
)
def test_command_mistakes_give_one_sentence(
    arguments: list[str],
    says: str,
    pictures: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    data = write(tmp_path / "mmt.tsv", [RELATION])
    given = [{"D": str(data), "PICTURES": str(pictures)}.get(each, each) for each in arguments]
    assert main(["data", "referring", *given]) == 2
    assert says in capsys.readouterr().err


def test_the_fourteen_subtasks_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    assert sorted(each.name for each in SUBTASKS) == sorted(by_study()["referring"])
    assert all(layout in LAYOUTS for each in SUBTASKS for _, layout in each.sources)
    assert main(["data", "referring", "--list"]) == 0
    said = capsys.readouterr().out
    assert all(f"{each.name}: {each.marks}" in said for each in SUBTASKS)
