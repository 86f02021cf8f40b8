"""Drawn pictures with all that is known about them, as metadata records of several data sets."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from random import Random

import msgspec
from PIL import Image, ImageDraw

from snellen_curate.metadata.records import (
    Keypoints,
    MetadataHeader,
    MetadataRecord,
    ObjectBox,
    ObjectRelation,
    SourceFacts,
    write_records,
)

SIZE = (160, 120)
COLOURS = ("red", "blue", "green", "orange", "purple", "black", "brown", "pink")
SHAPES = ("circle", "ring", "square", "triangle", "star", "hexagon", "diamond", "bar")
WORDS = ("harbour", "window", "garden", "market", "bridge", "castle", "engine", "forest")
PREDICATES = ("above", "left of", "behind", "near")
STEPS = ("draw a line", "fill the circle", "sign the sheet", "fold the paper", "cut the corner")
SPACES: Mapping[str, Mapping[str, str]] = {
    "shapes": {
        **dict.fromkeys(("circle", "ring", "ellipse"), "shape/round"),
        **dict.fromkeys(SHAPES[2:], "shape/pointed"),
    }
}
HEADER = MetadataHeader(
    sources={
        "drawn-a": SourceFacts("CC0-1.0"),
        "drawn-b": SourceFacts("CC-BY-4.0", "https://example.org/b"),
        "drawn-c": SourceFacts(),
    },
    spaces={name: dict(space) for name, space in SPACES.items()},
)

TEMPLATES = """
version = 1

[spaces]
colours = ["red", "blue", "green", "orange", "purple", "black", "brown", "pink"]

[[templates]]
subtask = "shape recognition"
task = "visual recognition"
answer = "label"
questions = ["Which shape is in the picture?", "What shape does the picture show?"]
distractors = [{ by = "categories", near = "hierarchy" }]

[[templates]]
subtask = "colour recognition"
task = "visual recognition"
answer = "annotation.colour"
questions = ["Which colour has the largest shape?"]
options = [3, 6]

[[templates]]
subtask = "object counting"
task = "counting"
answer = "count"
questions = ["How many {label}s are in the picture?", "Count the {label}s in the picture."]
options = [4, 8]

[[templates]]
subtask = "object detection"
task = "localization"
answer = "box"
questions = ["Where is the {label}? Boxes are [x1, y1, x2, y2] in a picture of {width} x {height}."]
per_record = 2

[[templates]]
subtask = "text reading"
task = "ocr"
answer = "text"
questions = ["Which text stands in the picture?"]
distractors = [{ by = "other_items", near = "text" }]

[[templates]]
subtask = "captioning"
task = "visual captioning"
answer = "caption"
questions = ["Which caption fits the picture?"]
distractors = [{ by = "other_items", near = "text" }, "other_items"]

[[templates]]
subtask = "existence"
task = "hallucination"
answer = "presence"
questions = ["Is there a {label} in the picture?"]
options = 2

[[templates]]
subtask = "temporal ordering"
task = "temporal understanding"
answer = "sequence"
questions = ["In which order do the steps happen?"]
options = 5

[[templates]]
subtask = "keypoint detection"
task = "keypoint detection"
answer = "keypoints"
questions = ["Where are the corners of the {label}?"]

[[templates]]
subtask = "relation"
task = "visual recognition"
answer = "relation"
questions = ["How is the {subject} placed to the {object}?"]
options = [2, 4]

[[templates]]
subtask = "weighing"
task = "document understanding"
answer = "number"
questions = ["What does the scale say?"]
options = 6

[[templates]]
subtask = "shape retrieval"
task = "image retrieval"
answer = "picture"
questions = ["Which candidate shows the same shape as the first picture?"]
options = 4
"""


def draw_shape(draw: ImageDraw.ImageDraw, shape: str, box: tuple[int, int, int, int], colour: str) -> None:
    """One shape that fills a box."""
    left, top, right, bottom = box
    middle, half = (left + right) // 2, (top + bottom) // 2
    points = {
        "square": [(left, top), (right, top), (right, bottom), (left, bottom)],
        "bar": [(left, half - 2), (right, half - 2), (right, half + 2), (left, half + 2)],
        "triangle": [(left, bottom), (right, bottom), (middle, top)],
        "diamond": [(middle, top), (right, half), (middle, bottom), (left, half)],
        "hexagon": [
            (left, half),
            (left + 3, top),
            (right - 3, top),
            (right, half),
            (right - 3, bottom),
            (left + 3, bottom),
        ],
        "star": [(middle, top), (right, bottom), (left, half), (right, half), (left, bottom)],
    }
    if shape == "circle":
        draw.ellipse(box, fill=colour)
    elif shape == "ring":
        draw.ellipse(box, outline=colour, width=3)
    else:
        draw.polygon(points[shape], fill=colour)


def drawn_record(folder: Path, number: int, source: str, rng: Random) -> MetadataRecord:
    """Draw a picture, and a second one of the same shape, and say all about them."""
    image = Image.new("RGB", SIZE, "white")
    draw = ImageDraw.Draw(image)
    label, other = rng.sample(SHAPES, 2)
    colour = rng.choice(COLOURS)
    left, top = rng.randint(0, 90), rng.randint(16, 45)
    corners = (left, top, left + rng.randint(25, 60), top + rng.randint(20, 40))
    draw_shape(draw, label, corners, colour)
    boxes = [ObjectBox(label, tuple(map(float, corners)))]  # type: ignore[arg-type]
    row = rng.randint(5, 70)
    for index in range(rng.randint(1, 6)):
        place = (row + 13 * index, 95, row + 10 + 13 * index, 107)
        draw_shape(draw, other, place, rng.choice(COLOURS))
        boxes.append(ObjectBox(other, tuple(map(float, place))))  # type: ignore[arg-type]
    word = rng.choice(WORDS)
    # No two pictures have the same bytes.
    draw.text((2, 2), f"{word} {number}", fill="black")
    image.save(folder / f"{number}.png")
    twin = Image.new("RGB", SIZE, "white")
    draw_shape(ImageDraw.Draw(twin), label, (40, 20, 110, 90), rng.choice(COLOURS))
    ImageDraw.Draw(twin).text((1, 1), str(number), fill="black")
    twin.save(folder / f"{number}-twin.png")
    points = {
        name: (float(rng.randint(corners[0], corners[2])), float(rng.randint(corners[1], corners[3])))
        for name in ("left dot", "right dot", "middle dot")
    }
    count = len(boxes) - 1
    return MetadataRecord(
        id=f"{source}-{number}",
        source=source,
        images=(f"{number}.png", f"{number}-twin.png"),
        image_types=("Synthetic Image",),
        width=SIZE[0],
        height=SIZE[1],
        label=label,
        space="shapes",
        boxes=tuple(boxes),
        keypoints=(Keypoints(label, points),),
        relations=(ObjectRelation(label, rng.choice(PREDICATES), other),),
        number=f"{rng.randint(10, 90) / 10:.1f} kg",
        text=f"{word} {number}",
        captions=(
            f"a {colour} {label} above {count} {other}s near the word {word}",
            f"{count} {other}s in a row under a {colour} {label} and the word {word}",
        ),
        sequence=tuple(rng.sample(STEPS, 4)),
        annotation={"colour": colour},
    )


def write_metadata(folder: Path, count: int = 40, seed: int = 0) -> tuple[Path, Path]:
    """A metadata file of `count` records, half of them of `drawn-a`, and a template file."""
    rng = Random(seed)
    folder.mkdir(parents=True, exist_ok=True)
    records = []
    for number in range(count):
        source = "drawn-a" if number % 2 == 0 else "drawn-b" if number % 4 == 1 else "drawn-c"
        record = drawn_record(folder, number, source, rng)
        records.append(record)
    # The second picture is what retrieval is about; other questions have the first alone.
    every = []
    for record in records:
        every.append(msgspec.structs.replace(record, images=record.images[:1]))
        every.append(
            MetadataRecord(
                id=f"{record.id}-pair",
                source=record.source,
                images=record.images,
                subtask="shape retrieval",
                label=record.label,
            )
        )
    write_records(folder / "records.jsonl", HEADER, every)
    (folder / "templates.toml").write_text(TEMPLATES)
    return folder / "records.jsonl", folder / "templates.toml"
