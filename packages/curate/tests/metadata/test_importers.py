"""Importers on data sets that are made here in their real layouts, against the libraries that
belong to them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from PIL import Image

from snellen.cli import main
from snellen.core.errors import DataError, UnknownName, UsageError
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata
from snellen_curate.metadata.records import MetadataRecord, RecordFiles, count_labels


def make_image(path: Path, colour: str = "red", size: tuple[int, int] = (40, 30)) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", size, colour).save(path)
    return path


def read(path: Path) -> list[MetadataRecord]:
    lines = list(RecordFiles(path))
    assert not [line.problem for line in lines if line.problem]
    return [line.record for line in lines if line.record]


CATEGORIES = [
    {"id": 1, "name": "person", "supercategory": "person", "keypoints": ["nose", "left_eye"], "skeleton": [[1, 2]]},
    {"id": 18, "name": "dog", "supercategory": "animal"},
    {"id": 17, "name": "cat", "supercategory": "animal"},
]
BY = "http://creativecommons.org/licenses/by/2.0/"
LICENSES = [{"id": 4, "name": "Attribution License", "url": BY}]
IMAGES = [
    {
        "id": 7,
        "file_name": "7.jpg",
        "width": 40,
        "height": 30,
        "license": 4,
        "flickr_url": "http://farm1.staticflickr.com/1/2_3_z.jpg",
        "coco_url": "http://c/7.jpg",
    },
    {"id": 9, "file_name": "9.jpg", "width": 40, "height": 30, "license": 99},
    {"id": 11, "file_name": "11.jpg", "width": 40, "height": 30},
]


@pytest.fixture
def coco(tmp_path: Path) -> Path:
    folder = tmp_path / "coco"
    for image in IMAGES:
        make_image(folder / "val" / str(image["file_name"]))
    instances = [
        {
            "id": 1,
            "image_id": 7,
            "category_id": 18,
            "bbox": [1, 2, 10, 5],
            "area": 50,
            "iscrowd": 0,
            "segmentation": [[1, 2, 11, 2, 11, 7]],
        },
        {
            "id": 2,
            "image_id": 7,
            "category_id": 18,
            "bbox": [20, 2, 25.004, 5],
            "area": 50,
            "iscrowd": 0,
            "segmentation": [],
        },
        {"id": 3, "image_id": 7, "category_id": 17, "bbox": [5, 5, 0, 3], "area": 0, "iscrowd": 0},
        {"id": 4, "image_id": 9, "category_id": 1, "bbox": [0, 0, 20, 20], "area": 400, "iscrowd": 0},
        {
            "id": 5,
            "image_id": 9,
            "category_id": 17,
            "bbox": [0, 0, 30, 20],
            "area": 600,
            "iscrowd": 1,
            "segmentation": {"counts": [0, 600], "size": [30, 40]},
        },
    ]
    keypoints = [
        {
            "id": 4,
            "image_id": 9,
            "category_id": 1,
            "bbox": [0, 0, 20, 20],
            "area": 400,
            "iscrowd": 0,
            "num_keypoints": 1,
            "keypoints": [3, 4, 2, 0, 0, 0],
        }
    ]
    captions = [
        {"id": 100, "image_id": 7, "caption": "two dogs "},
        {"id": 101, "image_id": 7, "caption": "dogs at play"},
    ]
    shared = {"images": IMAGES, "licenses": LICENSES, "info": {"year": 2017}}
    files = {
        "instances": {**shared, "annotations": instances, "categories": CATEGORIES},
        "keypoints": {**shared, "annotations": keypoints, "categories": CATEGORIES[:1]},
        "captions": {**shared, "annotations": captions},
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    return folder


def test_coco_files_about_the_same_images_become_one_record_each(coco: Path, tmp_path: Path) -> None:
    out = tmp_path / "out" / "records.jsonl"
    paths = tuple(str(coco / f"{name}.json") for name in ("instances", "captions", "keypoints"))
    request = ImportRequest(paths=paths, out=out, images=coco / "val", source="coco")
    counts = import_metadata("coco", request)
    assert (counts.records, counts.without_licence, counts.with_problems) == (3, 2, 0)
    dogs, person, empty = read(out)
    assert dogs.id == "coco/7"
    assert (out.parent / dogs.images[0]).resolve() == coco / "val" / "7.jpg"
    assert (dogs.license, dogs.url) == ("CC-BY-2.0", "http://farm1.staticflickr.com/1/2_3_z.jpg")
    # Cut at the border of 40 pixels; the cat without an area is left out.
    assert [box.corners for box in dogs.boxes] == [(1, 2, 11, 7), (20, 2, 40, 7)]
    assert dogs.label == "dog"
    assert count_labels(dogs) == {"dog": 2}
    assert dogs.captions == ("two dogs", "dogs at play")
    # The crowd of cats is there, and nobody counted it.
    assert set(person.labels) == {"person", "cat"}
    assert count_labels(person) == {"person": 1}
    assert person.keypoints[0].points == {"nose": (3, 4)}
    assert not empty.boxes
    assert RecordFiles(out).header.spaces["coco"] == {"person": "person", "dog": "animal", "cat": "animal"}


def test_coco_agrees_with_pycocotools(coco: Path, tmp_path: Path, capsys: Any) -> None:
    oracle = pytest.importorskip("pycocotools.coco").COCO(str(coco / "instances.json"))
    capsys.readouterr()
    out = tmp_path / "records.jsonl"
    import_metadata("coco", ImportRequest(paths=(str(coco / "instances.json"),), out=out))
    names = {each["id"]: each["name"] for each in oracle.loadCats(oracle.getCatIds())}
    for record in read(out):
        number = int(record.id.split("/")[1])
        expected = [
            (names[each["category_id"]], bool(each["iscrowd"]))
            for each in oracle.loadAnns(oracle.getAnnIds(imgIds=number))
            if each["area"]
        ]
        assert [(box.label, box.crowd) for box in record.boxes] == expected


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("", "is empty; expected a COCO annotation file"),
        ("[1, 2]", "is not a COCO annotation file"),
        ('{"images": [], "annotations": [{"image_id": 3}]}', "image 3, which is not listed"),
        ('{"images": []}', "no pictures were found"),
    ],
)
def test_refuses_files_that_are_not_coco(content: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(content)
    out = tmp_path / "records.jsonl"
    with pytest.raises(DataError, match=sentence):
        import_metadata("coco", ImportRequest(paths=(str(tmp_path / "a.json"),), out=out))
    assert not out.exists()


def test_folders_named_by_label(tmp_path: Path) -> None:
    for name in ("train/animal/guinea_pig/1.png", "train/animal/cat/1.png", "val/car/2.jpg", "x.png"):
        make_image(tmp_path / "zoo" / name)
    (tmp_path / "zoo" / "notes.txt").write_text("no picture")
    out = tmp_path / "records.jsonl"
    request = ImportRequest(paths=(str(tmp_path / "zoo"),), out=out, license="CC0-1.0", subtask="animals")
    assert import_metadata("image-folder", request).without_licence == 0
    by_label = {record.label: record for record in read(out)}
    assert set(by_label) == {"guinea pig", "cat", "car", ""}
    assert by_label["cat"].subtask == "animals"
    assert by_label["cat"].images == ("zoo/train/animal/cat/1.png",)
    assert RecordFiles(out).header.spaces == {"zoo": {"guinea pig": "animal", "cat": "animal", "car": ""}}


def test_a_folder_agrees_with_the_hugging_face_library(tmp_path: Path) -> None:
    """Its label of each picture, by the library's own reader of image folders."""
    datasets = pytest.importorskip("datasets")
    for name in ("cat/a.png", "cat/b.png", "dog/c.png"):
        make_image(tmp_path / "zoo" / name)
    out = tmp_path / "records.jsonl"
    import_metadata("image-folder", ImportRequest(paths=(str(tmp_path / "zoo"),), out=out))
    loaded = datasets.load_dataset(
        "imagefolder", data_dir=str(tmp_path / "zoo"), cache_dir=str(tmp_path / "cache"), split="train"
    ).cast_column("image", datasets.Image(decode=False))
    names = loaded.features["label"].names
    theirs = {(Path(row["image"]["path"]).name, names[row["label"]]) for row in loaded}
    assert {(Path(each.images[0]).name, each.label) for each in read(out)} == theirs


def test_a_folder_with_a_listing(tmp_path: Path) -> None:
    for name in ("a.png", "b.png"):
        make_image(tmp_path / "signs" / name)
    (tmp_path / "signs" / "metadata.csv").write_text("file_name,text,font\na.png,STOP,serif\nb.png,GO,mono\n")
    out = tmp_path / "records.jsonl"
    import_metadata("image-folder", ImportRequest(paths=(str(tmp_path / "signs"),), out=out))
    first, second = read(out)
    assert (first.id, first.text, first.annotation) == ("signs/a.png", "STOP", {"font": "serif"})
    assert second.images == ("signs/b.png",)


def saved_dataset(folder: Path) -> Any:
    """A data set of the Hugging Face library with pictures inside, class labels and boxes."""
    datasets = pytest.importorskip("datasets")
    names = ["cat", "dog"]
    features = datasets.Features(
        {
            "image": datasets.Image(),
            "label": datasets.ClassLabel(names=names),
            "caption": datasets.Value("string"),
            "objects": {
                "bbox": datasets.Sequence(datasets.Sequence(datasets.Value("float32"), length=4)),
                "category": datasets.Sequence(datasets.ClassLabel(names=names)),
            },
            "weather": datasets.Value("string"),
        }
    )
    rows = [
        {
            "image": Image.new("RGB", (40, 30), colour),
            "label": index % 2,
            "caption": f"a {colour}",
            "objects": {"bbox": [[1.0, 2.0, 10.0, 5.0]], "category": [index % 2]},
            "weather": "sunny",
        }
        for index, colour in enumerate(("red", "blue", "green"))
    ]
    dataset = datasets.Dataset.from_list(rows, features=features)
    dataset.save_to_disk(str(folder))
    return dataset


@pytest.mark.parametrize("layout", ["saved", "parquet"])
def test_hugging_face_data_sets_have_names_for_labels(layout: str, tmp_path: Path) -> None:
    dataset = saved_dataset(tmp_path / "pets")
    spec = str(tmp_path / "pets")
    if layout == "parquet":
        spec = str(tmp_path / "pets.parquet")
        dataset.to_parquet(spec)
    out = tmp_path / "out" / "records.jsonl"
    import_metadata("table", ImportRequest(paths=(spec,), out=out, license="CC0-1.0"))
    records = read(out)
    assert [record.label for record in records] == ["cat", "dog", "cat"]
    assert [record.space for record in records] == ["pets"] * 3
    assert records[1].boxes[0].label == "dog"
    assert records[1].boxes[0].corners == (1, 2, 11, 7)
    assert records[1].captions == ("a blue",)
    assert records[1].annotation == {"weather": "sunny"}
    for record, row in zip(records, dataset, strict=True):
        with Image.open(out.parent / record.images[0]) as image:
            assert image.convert("RGB").tobytes() == row["image"].convert("RGB").tobytes()
    assert RecordFiles(out).header.spaces == {"pets": {"cat": "", "dog": ""}}


def test_tables_with_other_column_names(tmp_path: Path) -> None:
    make_image(tmp_path / "a.png")
    rows = [{"uid": "u1", "photo": "a.png", "breed": "poodle", "wrong": ["pug", "boxer"], "n": 3}]
    (tmp_path / "dogs.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "records.jsonl"
    columns = {"id": "uid", "image": "photo", "label": "breed", "wrong_answers": "wrong"}
    import_metadata("table", ImportRequest(paths=(str(tmp_path / "dogs.jsonl"),), out=out, columns=columns))
    (record,) = read(out)
    assert (record.id, record.label) == ("dogs/u1", "poodle")
    assert record.wrong_answers == ("pug", "boxer")
    assert record.images == ("a.png",)
    assert record.annotation == {"n": "3"}


@pytest.mark.parametrize(
    ("columns", "sentence"), [({"lable": "breed"}, "unknown field"), ({"label": "bred"}, "did you mean breed")]
)
def test_columns_that_there_are_not(columns: dict[str, str], sentence: str, tmp_path: Path) -> None:
    (tmp_path / "dogs.jsonl").write_text('{"image": "a.png", "breed": "pug"}\n')
    request = ImportRequest(paths=(str(tmp_path / "dogs.jsonl"),), out=tmp_path / "out.jsonl", columns=columns)
    with pytest.raises(UnknownName, match=sentence):
        import_metadata("table", request)
    assert not (tmp_path / "out.jsonl").exists()


def test_visual_genome(tmp_path: Path) -> None:
    folder = tmp_path / "vg"
    make_image(folder / "VG_100K" / "1.jpg")
    url = "https://example.org/a/VG_100K/1.jpg"
    thing = {"x": 1, "y": 1, "w": 5, "h": 5}
    files: dict[str, Any] = {
        "image_data": [{"image_id": 1, "width": 40, "height": 30, "url": url}],
        "objects": [
            {
                "image_id": 1,
                "image_url": url,
                "objects": [
                    {**thing, "names": ["cup"], "object_id": 5, "synsets": []},
                    {"x": 38, "y": 2, "w": 9, "h": 9, "names": ["lamp"], "object_id": 6},
                ],
            }
        ],
        "regions": [
            {"id": 1, "regions": [{"region_id": 3, "phrase": "a red cup", "x": 0, "y": 0, "width": 9, "height": 9}]}
        ],
        "relationships": [
            {
                "image_id": 1,
                "relationships": [
                    {
                        "predicate": "ON",
                        "subject": {**thing, "name": "cup"},
                        "object": {**thing, "names": ["table"]},
                        "relationship_id": 1,
                    }
                ],
            }
        ],
    }
    for name, content in files.items():
        (folder / f"{name}.json").write_text(json.dumps(content))
    out = tmp_path / "records.jsonl"
    paths = tuple(str(folder / f"{name}.json") for name in files)
    import_metadata("visual-genome", ImportRequest(paths=paths, out=out, source="vg"))
    (record,) = read(out)
    assert record.images == ("vg/VG_100K/1.jpg",)
    assert [(box.label, box.expression) for box in record.boxes] == [("", "a red cup"), ("cup", ""), ("lamp", "")]
    assert record.boxes[2].corners == (38, 2, 40, 11)
    assert msgspec.to_builtins(record.relations) == ({"subject": "cup", "predicate": "on", "object": "table"},)
    # Nobody looked for what has no name here, nor for all cups.
    assert record.categories == ("cup", "lamp")
    assert not count_labels(record)


def test_unknown_importer_and_target_that_is_read(tmp_path: Path) -> None:
    file = tmp_path / "a.json"
    file.write_text("{}")
    with pytest.raises(UnknownName, match="did you mean coco"):
        import_metadata("cocoo", ImportRequest(paths=(str(file),), out=tmp_path / "out.jsonl"))
    with pytest.raises(UsageError, match="what is read"):
        import_metadata("coco", ImportRequest(paths=(str(file),), out=file))


def test_metadata_command(coco: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "records"
    command = ["curate", "metadata", "coco", str(coco / "instances.json"), "--out", str(out)]
    assert main([*command, "--media", str(coco / "val"), "--facts", "source=coco", "--json"]) == 0
    printed = json.loads(capsys.readouterr().out)
    assert printed["records"] == 3
    assert printed["without_licence"] == 2
    assert main(["curate", "metadata", "coco", str(tmp_path / "no.json"), "--out", str(out)]) == 2
    assert capsys.readouterr().err == f"snellen: {tmp_path}/no.json: there is no such file or folder\n"
