"""What texts alone answer of questions made of annotations that others wrote.

    python packages/curate/tests/real_annotations.py FOLDER

FOLDER holds checkouts of lightly-ai/coco128_yolo, datitran/raccoon_dataset, Shenggan/BCCD_Dataset,
lvis-dataset/lvis-api and sysaster/dataset, named as these are; what is not there is left out. Where
a repository has no pictures, some of one colour stand in their place. Prints a table in Markdown. Nothing
of these data sets is stored here: `test_guess_check.py` has a made-up twin.
"""

from __future__ import annotations

import csv
import hashlib
import json
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from PIL import Image

from snellen_curate.metadata.build import MetadataQuestionOptions, build_questions
from snellen_curate.metadata.importers.importer import ImportRequest, import_metadata

TEMPLATES = """
[[templates]]
subtask = "counting"
answer = "count"
questions = ["How many {{label}}s are in the picture?"]
options = [4, 6]
{control}
[[templates]]
subtask = "presence"
answer = "presence"
questions = ["Is there a {{label}} in the photograph?"]
options = 2

[[templates]]
subtask = "boxes"
answer = "box"
questions = ["Where is the {{label}} in these {{width}} x {{height}} pixels?"]
"""
CONTROL = 'distractors = [{ by = "numbers", seen = false }]\n'
"""Counts near the right one, however often they are right."""
SETS = {
    "COCO, YOLO files": ("yolo", "coco128_yolo/object_detection", "coco128_yolo/images", "*.txt", "d434fe41fc878362"),
    "COCO, panoptic": (
        "coco",
        "coco128_yolo/panoptic_segmentation/annotations/panoptic_val2017.json",
        "coco128_yolo/images/val2017",
        "*val2017.json",
        "be0af79c91aa3e68",
    ),
    "raccoons, VOC files": (
        "voc",
        "raccoon_dataset/annotations",
        "raccoon_dataset/images",
        "*.xml",
        "28283fff6f1d9827",
    ),
    "blood cells, VOC files": (
        "voc",
        "BCCD_Dataset/BCCD/Annotations",
        "BCCD_Dataset/BCCD/JPEGImages",
        "*.xml",
        "342348a9bb4df15a",
    ),
    "LVIS": ("coco", "lvis-api/data/lvis_val_100.json", "", "lvis_val_100.json", "719efad354b63399"),
    "Open Images": ("open-images", "dataset/data", "", "*.csv", "dd1df9edfd9e8a86"),
}
"""Importer, annotations, pictures ("": drawn), the annotation files, and the beginning of their digest."""


def digest(folder: Path, pattern: str) -> str:
    """SHA-256 over the names and bytes of the annotation files, in hex."""
    content = hashlib.sha256()
    for file in sorted(folder.rglob(pattern)):
        content.update(file.name.encode() + b"\0" + file.read_bytes())
    return content.hexdigest()


def draw_images(path: Path, out: Path) -> Path:
    """Pictures of one colour each, in place of those that a file of LVIS, or a folder of Open Images, names."""
    if path.is_dir():
        tables = (csv.DictReader(file.read_text().splitlines()) for file in path.glob("*-bbox.csv"))
        sizes = {f"{row['ImageID']}.png": (640, 480) for table in tables for row in table}
    else:
        images = json.loads(path.read_text())["images"]
        sizes = {"/".join(each["coco_url"].split("/")[-2:]): (each["width"], each["height"]) for each in images}
    for number, (name, size) in enumerate(sizes.items()):
        (out / name).parent.mkdir(parents=True, exist_ok=True)
        Image.new("RGB", size, f"#{number:06x}").save(out / name, "PNG")
    return out


def measure(folder: Path, name: str, *, is_control: bool) -> Iterator[str]:
    """A row of the table for each subtask."""
    importer, annotations, images, pattern, expected = SETS[name]
    path = folder / annotations
    found = digest(path if path.is_dir() else path.parent, pattern)
    if not found.startswith(expected):
        raise SystemExit(f"{path} has the digest {found[:16]}; expected {expected}")
    with tempfile.TemporaryDirectory() as work:
        out = Path(work, "records.jsonl")
        pictures = folder / images if images else draw_images(path, Path(work, "drawn"))
        request = ImportRequest(paths=(str(path),), out=out, images=pictures, source="set")
        records = import_metadata(importer, request).records
        templates = Path(work, "templates.toml")
        templates.write_text(TEMPLATES.format(control=CONTROL if is_control else ""))
        counts = build_questions(out, templates, Path(work, "out"), MetadataQuestionOptions(per_subtask=250))
    label = f"{name}, control" if is_control else f"{name} ({records} pictures)"
    for subtask, each in counts.subtasks.items():
        check = each.guessing
        if check is None or check.right is None or (is_control and subtask != "counting"):
            continue
        verdict = "to look at" if list(check.findings()) else "done"
        yield (
            f"| {label} | {subtask} | {each.items} | {check.left_out} | {check.right:.1f} "
            f"({check.low:.1f}–{check.high:.1f}) | {check.chance:.1f} | {verdict} |"
        )


def main() -> None:
    folder = Path(sys.argv[1]).expanduser()
    print("| data set | subtask | questions | left out | texts alone % | chance % | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | --- |")
    for name, (_, place, *_) in SETS.items():
        if (folder / place).exists():
            for is_control in (False, True):
                for row in measure(folder, name, is_control=is_control):
                    print(row, flush=True)


if __name__ == "__main__":
    main()
