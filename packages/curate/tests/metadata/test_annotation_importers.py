"""Importers of annotations of objects: one picture, written in each layout, is one record."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from random import Random

import pytest
from PIL import Image

from snellen.cli import main
from snellen.core.errors import DataError
from snellen_curate.metadata.build import build_questions
from snellen_curate.metadata.draw import NO_FREQUENCIES
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata
from snellen_curate.metadata.records import CategoryTree, MetadataRecord, RecordFiles
from snellen_curate.metadata.targets import find_targets
from snellen_curate.metadata.templates import QuestionTemplate
from snellen_curate.open_data import open_items

SIZE = (200, 100)


def read(path: Path) -> list[MetadataRecord]:
    lines = list(RecordFiles(path))
    assert not [line.problem for line in lines if line.problem]
    return [line.record for line in lines if line.record]


def make_image(path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", SIZE, "red").save(path)


def imported(
    importer: str, path: Path, out: Path, images: Path | None = None
) -> tuple[list[MetadataRecord], dict[str, int]]:
    request = ImportRequest(paths=(str(path),), out=out, images=images, source="made")
    counts = import_metadata(importer, request)
    assert counts.with_problems == 0
    records = read(out)
    for record in records:
        assert (out.parent / record.images[0]).is_file()
    return records, counts.left_out


def yolo_folder(folder: Path, names: str) -> Path:
    make_image(folder / "images" / "train" / "a.jpg")
    make_image(folder / "images" / "train" / "empty.jpg")
    labels = folder / "labels" / "train"
    labels.mkdir(parents=True)
    lines = ["1 0.1 0.5 0.1 0.4", "0 0.5 0.5 0.7 0.5 0.6 0.9", "1 1.4 0.5 0.1 0.1"]
    (labels / "a.txt").write_text("\n".join(lines))
    (folder / "data.yaml").write_text(f"path: .\ntrain: images/train\n{names}")
    return folder


@pytest.mark.parametrize(
    "names",
    [
        "names:\n  0: cup\n  1: 'traffic light'\nnc: 2\n",
        "names:\n- cup\n- traffic light\n",
        "nc: 2\nnames: ['cup', \"traffic light\"]  # two\n",
        "names: [\n  'cup',\n  'traffic light',\n]\n",
    ],
)
def test_yolo(names: str, tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", names)
    for path in (folder, folder / "data.yaml"):
        (record, empty), left_out = imported("yolo", path, tmp_path / "records.jsonl")
        boxes = [(box.label, box.corners) for box in record.boxes]
        assert boxes == [("traffic light", (10, 30, 30, 70)), ("cup", (100, 50, 140, 90))]
        assert (record.width, record.height) == SIZE
        assert not empty.boxes
        assert left_out == {
            "a box without an area in the picture": 1,
            "the text file of a picture, which then has no objects": 1,
        }


def test_yolo_poses_are_read_for_their_boxes(tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "kpt_shape: [1, 2]\nnames: [cup, bus]\n")
    (folder / "labels" / "train" / "a.txt").write_text("0 .5 .5 .5 .5 .9 .9\n")
    (record, _), left_out = imported("yolo", folder, tmp_path / "records.jsonl")
    assert [box.corners for box in record.boxes] == [(50, 25, 150, 75)]
    assert left_out["the keypoints of an object"] == 1


def test_yolo_with_images_behind_a_link(tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "names: [cup, bus]\n")
    (folder / "images").rename(tmp_path / "pool")
    (folder / "images").symlink_to(tmp_path / "pool", target_is_directory=True)
    (tmp_path / "pool" / "back").symlink_to(tmp_path / "pool", target_is_directory=True)
    records, _ = imported("yolo", folder, tmp_path / "records.jsonl")
    assert [len(record.boxes) for record in records] == [2, 0]


@pytest.mark.parametrize("other", ["names: [cup\n", "a: 1\n---\nb: 2\n", "names: coco.names\n", "names: [[cup]]\n"])
def test_yolo_passes_over_other_settings_beside_its_own(other: str, tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "names: [cup, bus]\n")
    (folder / "args.yaml").write_text(other)
    records, _ = imported("yolo", folder, tmp_path / "records.jsonl")
    assert [box.label for box in records[0].boxes] == ["bus", "cup"]


@pytest.mark.parametrize("place", [("data.yaml",), ("classes.txt",), ("labels", "classes.txt")])
def test_yolo_finds_the_names_of_the_classes(place: tuple[str, ...], tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "nc: 2\n")
    names = folder.joinpath(*place)
    names.write_text("names: [cup, bus]" if names.suffix == ".yaml" else "cup\nbus\n")
    records, _ = imported("yolo", folder, tmp_path / "records.jsonl")
    assert [box.label for box in records[0].boxes] == ["bus", "cup"]


def test_yolo_takes_any_names_that_yaml_has(tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "names: {0: 'cup, blue #1', 1: no}\n")
    records, _ = imported("yolo", folder, tmp_path / "records.jsonl")
    assert [box.label for box in records[0].boxes] == ["no", "cup, blue #1"]


def test_yolo_of_one_split_with_the_names_above_it(tmp_path: Path) -> None:
    for split in ("train", "valid"):
        make_image(tmp_path / split / "images" / "1.JPG")
        (tmp_path / split / "labels").mkdir()
        (tmp_path / split / "labels" / "1.txt").write_text("0 .5 .5 .5 .5\n")
    (tmp_path / "data.yaml").write_text("names: [cup]\n")
    (tmp_path / "train" / "labels" / "2.txt").write_text("0 .5 .5 .5 .5\n")
    # The names of another data set.
    (tmp_path / "train" / "other").mkdir()
    (tmp_path / "train" / "other" / "classes.txt").write_text("bus\n")
    (record,), left_out = imported("yolo", tmp_path / "train", tmp_path / "records.jsonl")
    assert record.label == "cup"
    assert left_out == {"a text file without a picture": 1}
    records, _ = imported("yolo", tmp_path / "data.yaml", tmp_path / "records.jsonl")
    assert [record.id for record in records] == ["made/train/images/1", "made/valid/images/1"]


VOC = """<annotation><filename>{name}</filename><size><width>9</width></size>
<object><name>cup</name><difficult>0</difficult><bndbox>
<xmin>1</xmin><ymin>11</ymin><xmax>50</xmax><ymax>60</ymax></bndbox></object>
<object><name>bus</name><difficult>1</difficult><bndbox>
<xmin>101</xmin><ymin>11</ymin><xmax>260</xmax><ymax>60.0</ymax></bndbox></object></annotation>"""


def test_voc(tmp_path: Path) -> None:
    make_image(tmp_path / "VOC" / "JPEGImages" / "a.jpg")
    annotations = tmp_path / "VOC" / "Annotations"
    annotations.mkdir()
    (annotations / "a.xml").write_text(VOC.format(name="a.jpg"))
    (record,), _ = imported("voc", annotations, tmp_path / "records.jsonl")
    assert [(box.label, box.corners, box.crowd) for box in record.boxes] == [
        ("cup", (0, 10, 50, 60), False),
        ("bus", (100, 10, 200, 60), True),
    ]


@pytest.mark.parametrize(
    ("annotation", "named", "found"),
    [
        ("Annotations/val/1.xml", "1.jpg", "JPEGImages/val/1.jpg"),
        ("Annotations/1.xml", "1.jpg", "images/1.JPG"),
        ("Annotations/1.XML", "2007_000001", "JPEGImages/2007_000001.jpg"),
        ("val/1.xml", "C:\\photos\\1.png", "val/1.jpg"),
    ],
)
def test_voc_finds_the_image(annotation: str, named: str, found: str, tmp_path: Path) -> None:
    make_image(tmp_path / found)
    (tmp_path / annotation).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / annotation).write_text(VOC.format(name=named))
    (record,), _ = imported("voc", tmp_path, tmp_path / "records.jsonl")
    assert record.images == (found,)
    images = tmp_path / found.split("/")[0]
    (record,), _ = imported("voc", tmp_path / annotation, tmp_path / "records.jsonl", images)
    assert record.images == (found,)


def test_files_of_one_name_are_two_records(tmp_path: Path) -> None:
    for split in ("train", "val"):
        make_image(tmp_path / split / "1.jpg")
        (tmp_path / split / "1.xml").write_text(VOC.format(name="1.jpg"))
    records, _ = imported("voc", tmp_path, tmp_path / "records.jsonl")
    assert [record.id for record in records] == ["made/train/1", "made/val/1"]


def test_labelme(tmp_path: Path) -> None:
    make_image(tmp_path / "a.jpg")
    shapes = [
        {"label": "cup", "points": [[50, 60], [10, 20]], "shape_type": "rectangle"},
        {"label": "bus", "points": [[100, 10], [120, 10], [110, 40.5]], "shape_type": "polygon"},
        {"label": "wheel", "points": [[50, 50], [50, 60]], "shape_type": "circle"},
        {"label": "nose", "points": [[5, 5]], "shape_type": "point"},
    ]
    file = {"version": "5", "shapes": shapes, "imagePath": "..\\x\\a.jpg", "imageData": None}
    (tmp_path / "a.json").write_text(json.dumps(file))
    (record,), left_out = imported("labelme", tmp_path / "a.json", tmp_path / "records.jsonl")
    assert [(box.label, box.corners) for box in record.boxes] == [
        ("cup", (10, 20, 50, 60)),
        ("bus", (100, 10, 120, 40.5)),
        ("wheel", (40, 40, 60, 60)),
    ]
    assert left_out == {"a shape of type 'point'": 1}


def test_labelme_parts_of_a_group_are_one_object(tmp_path: Path) -> None:
    make_image(tmp_path / "a.jpg")
    parts = [("cup", 0, 10), ("cup", 0, 80), ("bus", 0, 20), ("cup", None, 30), ("__ignore__", None, 0)]
    shapes = [
        {"label": label, "group_id": group, "points": [[left, 5], [left + 9, 15]], "shape_type": "rectangle"}
        for label, group, left in parts
    ]
    (tmp_path / "a.json").write_text(json.dumps({"shapes": shapes, "imagePath": "a.jpg"}))
    (record,), left_out = imported("labelme", tmp_path / "a.json", tmp_path / "records.jsonl")
    assert [(box.label, box.corners) for box in record.boxes] == [
        ("cup", (10, 5, 89, 15)),
        ("bus", (20, 5, 29, 15)),
        ("cup", (30, 5, 39, 15)),
    ]
    assert left_out == {"a shape of type '__ignore__'": 1}
    assert RecordFiles(tmp_path / "records.jsonl").header.spaces == {"made": {"cup": "", "bus": ""}}


def test_coco_files_with_nulls(tmp_path: Path) -> None:
    """As LabelMe's own tools write them; others write an empty list for no box."""
    make_image(tmp_path / "1.jpg")
    file = json.loads(coco_file("1.jpg", "cup"))
    file["licenses"] = [{"id": 0, "name": None, "url": None}]
    file["categories"][0]["supercategory"] = None
    file["images"][0] |= {"license": 0, "flickr_url": None, "coco_url": None}
    file["annotations"][1] = {"image_id": 1, "category_id": 1, "bbox": []}
    (tmp_path / "a.json").write_text(json.dumps(file))
    (record,), left_out = imported("coco", tmp_path / "a.json", tmp_path / "records.jsonl")
    assert [box.label for box in record.boxes] == ["cup"]
    assert (record.license, record.url) == ("", "")
    assert left_out == {"an object without a box": 2}


def test_blanks_around_labels_make_no_other_category(tmp_path: Path) -> None:
    make_image(tmp_path / "a.jpg")
    corners = [[50, 60], [10, 20]]
    shapes = [{"label": label, "points": corners, "shape_type": "rectangle"} for label in ("cup", "cup ", " ", "")]
    (tmp_path / "a.json").write_text(json.dumps({"shapes": shapes, "imagePath": "a.jpg"}))
    records, left_out = imported("labelme", tmp_path / "a.json", tmp_path / "records.jsonl")
    assert records[0].label == "cup"
    assert left_out == {"a box without a label": 2}
    assert RecordFiles(tmp_path / "records.jsonl").header.spaces == {"made": {"cup": ""}}


def test_panoptic_segments_are_objects_and_stuff_is_none(tmp_path: Path) -> None:
    make_image(tmp_path / "1.jpg")
    segments = [
        {"id": 5, "category_id": 1, "bbox": [0, 0, 50, 40], "iscrowd": 0, "area": 9},
        {"id": 6, "category_id": 2, "bbox": [0, 40, 200, 60], "iscrowd": 0, "area": 9},
        {"id": 7, "category_id": 1, "bbox": [0, 0, 90, 90], "iscrowd": 1, "area": 9},
    ]
    file = {
        "images": [{"id": 1, "file_name": "1.jpg", "width": 200, "height": 100}],
        "annotations": [{"image_id": 1, "file_name": "1.png", "segments_info": segments}],
        "categories": [{"id": 1, "name": "dog", "isthing": 1}, {"id": 2, "name": "floor-other-merged", "isthing": 0}],
    }
    (tmp_path / "panoptic.json").write_text(json.dumps(file))
    (record,), _ = imported("coco", tmp_path / "panoptic.json", tmp_path / "records.jsonl")
    assert [(box.label, box.crowd) for box in record.boxes] == [("dog", False), ("dog", True)]
    assert record.labels == ("dog", "floor")


def test_lvis_says_what_was_looked_for(tmp_path: Path) -> None:
    make_image(tmp_path / "val2017" / "1.jpg")
    image = {
        "id": 1,
        "coco_url": "http://example.org/val2017/1.jpg",
        "width": 200,
        "height": 100,
        "neg_category_ids": [3],
        "not_exhaustive_category_ids": [2],
    }
    names = ("alarm_clock", "tomato", "bow_(weapon)", "zebra")
    file = {
        "images": [image],
        "annotations": [
            {"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40]},
            {"image_id": 1, "category_id": 2, "bbox": [0, 0, 20, 40]},
        ],
        "categories": [{"id": number, "name": name} for number, name in enumerate(names, 1)],
    }
    (tmp_path / "lvis.json").write_text(json.dumps(file))
    (record,), _ = imported("coco", tmp_path / "lvis.json", tmp_path / "records.jsonl")
    # Tomatoes were not all marked: nobody may count them. Nobody looked for a zebra.
    assert [(box.label, box.crowd) for box in record.boxes] == [("alarm clock", False), ("tomato", True)]
    assert record.categories == ("alarm clock", "tomato", "bow (weapon)")


def test_a_label_of_lvis_is_asked_for_only_where_it_was_looked_for(tmp_path: Path) -> None:
    """Of 40 images each, cups are in half, and nobody looked for them in the others; buses are in
    a fifth of those in which they were looked for."""
    images, annotations = [], []
    for number in range(40):
        make_image(tmp_path / f"{number}.jpg")
        has_bus = number % 5 == 0
        images.append(
            {
                "id": number,
                "file_name": f"COCO_val2014_{number}.jpg",
                "coco_url": f"http://example.org/val/{number}.jpg",
                "neg_category_ids": [] if has_bus else [2],
            }
        )
        annotations += [{"image_id": number, "category_id": 1, "bbox": [0, 0, 9, 9]}] * (number % 2)
        annotations += [{"image_id": number, "category_id": 2, "bbox": [0, 0, 50, 40]}] * has_bus
    categories = [{"id": 1, "name": "cup"}, {"id": 2, "name": "bus"}]
    file = {"images": images, "annotations": annotations, "categories": categories}
    (tmp_path / "lvis.json").write_text(json.dumps(file))
    request = ImportRequest(paths=(str(tmp_path / "lvis.json"),), out=tmp_path / "records.jsonl", source="made")
    import_metadata("coco", request)
    assert read(tmp_path / "records.jsonl")[3].images == ("val/3.jpg",)
    template = (
        '[[templates]]\nsubtask = "presence"\nanswer = "presence"\noptions = 2\nquestions = ["Is there a {label}?"]'
    )
    (tmp_path / "templates.toml").write_text(template)
    (tmp_path / "val").symlink_to(tmp_path, target_is_directory=True)
    build_questions(tmp_path / "records.jsonl", tmp_path / "templates.toml", tmp_path / "out")
    items = open_items(tmp_path / "out")
    assert {item.sample.question for item in items} == {"Is there a bus?"}
    answers = Counter(item.sample.options[item.sample.gold[0]] for item in items)
    assert answers["Yes"] == 8
    assert 4 <= answers["No"] <= 12


HIERARCHY = {
    "LabelName": "/m/0bl9f",
    "Subcategory": [{"LabelName": "/m/1", "Subcategory": [{"LabelName": "/m/2"}], "Part": [{"LabelName": "/m/3"}]}],
}


def open_images_folder(folder: Path) -> Path:
    for name in ("a", "b"):
        make_image(folder / "images" / f"{name}.jpg")
    texts = {
        "validation-annotations-bbox.csv": [
            "ImageID,Source,LabelName,Confidence,XMin,XMax,YMin,YMax,IsOccluded,IsTruncated,IsGroupOf,IsDepiction,IsInside",
            "a,xclick,/m/1,1,0.1,0.5,0.2,0.6,0,0,0,0,0",
            "a,xclick,/m/2,1,0.5,0.75,0.2,0.6,0,0,0,0,0",
            "a,xclick,/m/3,1,0,1,0,1,0,0,1,0,0",
            "a,xclick,/m/3,1,,,,,0,0,0,0,0",
            "c,xclick,/m/1,1,0,1,0,1,0,0,0,0,0",
        ],
        "validation-annotations-human-imagelabels.csv": [
            "ImageID,Source,LabelName,Confidence",
            "a,verification,/m/4,0",
            "b,verification,/m/4,1",
        ],
        "train-object-segmentation.csv": ["MaskPath,ImageID,LabelName", "a.png,a,/m/1"],
        "class-descriptions-boxable.csv": [
            "LabelName,DisplayName",
            "/m/1,Person",
            "/m/2,Woman",
            "/m/3,Human hand",
            "/m/4,Traffic light",
        ],
        "images.csv": [
            "ImageID,Subset,OriginalURL,OriginalLandingURL,License,AuthorProfileURL,Author,Title",
            "a,validation,,https://example.org/a,https://creativecommons.org/licenses/by/2.0/,,Ann Other,x",
        ],
    }
    for name, lines in texts.items():
        (folder / name).write_text("\n".join(lines) + "\n")
    (folder / "hierarchy.json").write_text(json.dumps(HIERARCHY))
    return folder


def test_open_images(tmp_path: Path) -> None:
    (first, second), left_out = imported("open-images", open_images_folder(tmp_path / "oi"), tmp_path / "r.jsonl")
    assert [(box.label, box.corners, box.crowd) for box in first.boxes] == [
        ("person", (20, 20, 100, 60), False),
        ("woman", (100, 20, 150, 60), False),
        ("human hand", (0, 0, 200, 100), True),
    ]
    assert first.categories == ("person", "woman", "human hand", "traffic light")
    assert (first.license, first.author, first.url) == ("CC-BY-2.0", "Ann Other", "https://example.org/a")
    assert (second.label, second.categories) == ("traffic light", ("traffic light",))
    assert left_out == {
        "a box of a picture that is not there": 1,
        "a box whose corners are no numbers": 1,
        "a file of another kind, train-object-segmentation.csv": 1,
    }
    # A woman is a person: how many there are, and where the one is, is not said.
    space = RecordFiles(tmp_path / "r.jsonl").header.spaces["made"]
    assert space["woman"] == "person"
    tree = CategoryTree(space)
    for answer in ("count", "box"):
        assert not find_targets(first, QuestionTemplate("x", answer), tree, NO_FREQUENCIES, Random(0))
    without = CategoryTree(dict.fromkeys(space, ""))
    targets = find_targets(first, QuestionTemplate("x", "count"), without, NO_FREQUENCIES, Random(0))
    assert {target.fields["label"] for target in targets} == {"person", "woman"}


def test_open_images_without_its_images(tmp_path: Path) -> None:
    folder = open_images_folder(tmp_path / "oi")
    for path in folder.glob("images/*"):
        path.rename(path.with_stem(f"x{path.stem}"))
    with pytest.raises(DataError, match="no row is about one of the 2 pictures"):
        imported("open-images", folder, tmp_path / "r.jsonl")


def coco_file(name: str, category: str) -> str:
    annotations = [
        {"image_id": 1, "category_id": 1, "bbox": [0, 0, 50, 40]},
        {"image_id": 1, "category_id": 9, "bbox": [0, 0, 50, 40]},
        {"image_id": 1, "category_id": 1, "segmentation": [[0, 0, 9, 0, 9, 9]]},
        {"image_id": 1, "caption": "a cup"},
    ]
    images = [{"id": 1, "file_name": name, "width": 200, "height": 100}]
    categories = [{"id": 1, "name": category}]
    return json.dumps({"images": images, "annotations": annotations, "categories": categories})


def test_a_folder_of_coco_files(tmp_path: Path) -> None:
    make_image(tmp_path / "1.jpg")
    (tmp_path / "instances.json").write_text(coco_file("1.jpg", "cup"))
    (record,), left_out = imported("coco", tmp_path, tmp_path / "records.jsonl")
    assert [box.label for box in record.boxes] == ["cup"]
    assert left_out == {"an object whose category is not listed": 1, "an object without a box": 1}


@pytest.mark.parametrize(
    ("name", "category", "sentence"),
    [("2.jpg", "cup", "image 1 is '1.jpg' in"), ("1.jpg", "bus", "category 1 is 'cup' in")],
)
def test_coco_files_that_number_alike(name: str, category: str, sentence: str, tmp_path: Path) -> None:
    (tmp_path / "a.json").write_text(coco_file("1.jpg", "cup"))
    (tmp_path / "b.json").write_text(coco_file(name, category))
    with pytest.raises(DataError, match=sentence):
        imported("coco", tmp_path, tmp_path / "records.jsonl")


def test_images_that_are_not_there(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "a.json").write_text(coco_file("lost.jpg", "cup"))
    command = ["curate", "metadata", "coco", str(tmp_path / "a.json"), "--out"]
    assert main([*command, str(tmp_path / "records")]) == 1
    assert "pictures that are not there: 1, e.g. ../lost.jpg; name" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("importer", "name", "text", "sentence"),
    [
        ("voc", "a.xml", "<annotation>", "is no XML"),
        ("voc", "a.xml", "<html/>", "expected PASCAL VOC's <annotation>"),
        ("voc", "a.xml", '<!DOCTYPE a [<!ENTITY b "c">]><annotation/>', "declares entities"),
        ("voc", "a.xml", VOC.format(name="lost.jpg"), "name the folder with --media"),
        ("labelme", "a.json", '{"shapes": 3}', "is not a LabelMe file"),
        ("labelme", "a.json", "", "a.json is empty; expected a LabelMe file"),
        ("coco", "a.json", "", "a.json is empty; expected a COCO annotation file"),
        ("yolo", "data.yaml", "nc: 3\n", "the names of the classes are nowhere"),
        ("yolo", "data.yaml", "names: [cup]\n", "line 1: '4 1 1 1' is no object"),
        ("yolo", "data.yaml", "names: [cup\n", "data.yaml is no YAML: while parsing a flow sequence"),
        ("yolo", "data.yaml", "names: coco.names\n", "its `names:` are no list of names"),
        ("yolo", "data.yaml", "names: [[cup]]\n", "its `names:` are no list of names"),
        ("yolo", "data.yaml", "cup\n", "the names of the classes are nowhere"),
    ],
)
def test_mistakes_give_one_sentence(importer: str, name: str, text: str, sentence: str, tmp_path: Path) -> None:
    make_image(tmp_path / "a.jpg")
    (tmp_path / "a.txt").write_text("4 1 1 1\n")
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError) as caught:
        imported(importer, tmp_path / name, tmp_path / "records.jsonl")
    assert sentence in str(caught.value)
    assert not (tmp_path / "records.jsonl").exists()


@pytest.mark.parametrize(
    ("importer", "paths", "sentence"),
    [
        ("yolo", ("nowhere",), "nowhere: there is no such file or folder"),
        ("yolo", ("a", "b"), "one folder or file at a time"),
        ("yolo", ("unnamed",), "the names of the classes are nowhere"),
        ("yolo", ("bare",), "none of the 1 pictures has a text file"),
        ("yolo", ("torn",), "torn/1.jpg: the image cannot be opened"),
        ("voc", ("nowhere",), "nowhere: there is no such file or folder"),
        ("labelme", ("bare",), "bare: there is no .json file"),
        ("coco", ("bare",), "bare: there is no .json file"),
        ("visual-genome", ("bare",), "bare cannot be read: Is a directory"),
        ("table", ("bare/words.csv",), "none of 2 records can be used; words/0: it has no picture"),
        ("image-folder", ("nowhere",), "nowhere: there is no such file or folder"),
    ],
)
def test_folders_that_do_not_fit(
    importer: str,
    paths: tuple[str, ...],
    sentence: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    make_image(Path("bare", "1.jpg"))
    Path("bare", "words.csv").write_text("Wort,Bedeutung\nTasse,cup\nBus,bus\n")
    Path("torn").mkdir()
    Path("unnamed").mkdir()
    Path("data.yaml").write_text("names: [another]\n")
    Path("torn", "1.jpg").write_text("<html>")
    for folder in ("bare", "torn"):
        Path(folder, "classes.txt").write_text("cup\n")
    assert main(["curate", "metadata", importer, *paths, "--out", "records"]) == 2
    assert sentence in capsys.readouterr().err
    assert not Path("records").exists()


@pytest.mark.parametrize("importer", ["yolo", "image-folder"])
def test_a_failed_import_leaves_the_folder_that_was_there(
    importer: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("data", "work"):
        (tmp_path / name).mkdir()
    (tmp_path / "data" / "classes.txt").write_text("cup\n")
    monkeypatch.chdir(tmp_path / "work")
    assert main(["curate", "metadata", importer, str(tmp_path / "data"), "--out", "."]) == 2
    assert list((tmp_path / "work").iterdir()) == []


def test_a_failed_import_leaves_the_records_of_the_one_before(tmp_path: Path) -> None:
    folder = yolo_folder(tmp_path / "data", "names: [cup, bus]\n")
    out = tmp_path / "records.jsonl"
    imported("yolo", folder, out)
    before = out.read_bytes()
    (tmp_path / "words.csv").write_text("Wort\nTasse\n")
    with pytest.raises(DataError, match="none of 1 records can be used"):
        imported("table", tmp_path / "words.csv", out)
    assert out.read_bytes() == before


def test_prints_what_is_left_out(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = yolo_folder(tmp_path / "data", "names: [cup, bus]\n")
    assert main(["curate", "metadata", "yolo", str(folder), "--out", str(tmp_path / "r")]) == 0
    assert "left out: a box without an area in the picture, 1 times" in capsys.readouterr().out
