"""Writes the bundled benchmark of places: `python -m training.tiny.places [--out FILE]`.

Pictures of several sizes and formats with coloured shapes that do not touch, and four tasks about
them: the box of a shape, a point on it, the boxes of all shapes of a kind with their labels, and
counting by points. The gold places are those of the drawn pixels. Pictures come from seeds that
training never uses. The columns are VLMEvalKit's; a row that shows the picture of an earlier one
names its `index`.
"""

from __future__ import annotations

import argparse
import base64
import csv
import json
import math
import random
from dataclasses import dataclass, replace
from itertools import groupby
from pathlib import Path

from PIL import Image, ImageDraw

from training.tiny.drawing import draw_thing, png
from training.tiny.questions import describe
from training.tiny.world import BACKGROUNDS, COLOURS, GAP, SHAPES, Scene, Split, Thing, stream

SEED = 20260202
DATA = Path("src/snellen/benchmarks/data/eyechart_places.tsv")
SIZES = (
    (128, 128),
    (256, 256),
    (448, 448),
    (320, 192),
    (384, 160),
    (640, 480),
    (480, 200),
    (192, 320),
    (160, 384),
    (480, 640),
)
TASKS = {"box": 65, "point": 50, "labels": 50, "count": 45}
"""Questions of each task."""
ABSENT = 8
"""Every so many questions about all shapes of a kind ask for one that is not there."""
SMALLEST = 9
"""Pixels of the smallest radius."""
TRIES = 60
COLUMNS = ("index", "image", "question", "bbox", "mask", "labels", "category", "l2-category", "split")

Size = tuple[int, int]


@dataclass(frozen=True)
class Drawing:
    """A picture of some size in pixels; so are the places of its things."""

    size: Size
    scene: Scene

    @property
    def format(self) -> str:
        """`square`, `wide` or `tall`."""
        width, height = self.size
        return "square" if width == height else "wide" if width > height else "tall"


@dataclass(frozen=True)
class Row:
    """One question of the file; `golds` are the things whose places are right."""

    index: int
    drawing: Drawing
    same_as: int | None
    task: str
    question: str
    golds: tuple[Thing, ...]
    labels: tuple[str, ...] = ()


def build(split: Split = "test", seed: int = SEED) -> list[Row]:
    """All rows in file order; each picture is asked about once in a task."""
    rows: list[Row] = []
    for number in range(max(TASKS.values())):
        rng = stream(split, seed, number)
        size = SIZES[number % len(SIZES)]
        drawing = Drawing(size, sample_things(rng, size))
        first = len(rows) + 1
        for task, questions in TASKS.items():
            if number < questions:
                row = _ask(task, drawing, number % ABSENT == ABSENT - 1, rng)
                index = len(rows) + 1
                rows.append(replace(row, index=index, same_as=first if index > first else None))
    return rows


def sample_things(rng: random.Random, size: Size) -> Scene:
    """Two to nine shapes in pixels that do not touch, of which one can be named alone; in most
    pictures some have one colour or one kind."""
    while True:
        wanted, alike = rng.randint(2, 9), rng.choice((0.0, 0.4, 0.7))
        first = rng.choice(list(COLOURS)), rng.choice(SHAPES)
        things: list[Thing] = []
        for _ in range(wanted):
            colour = first[0] if rng.random() < alike else rng.choice(list(COLOURS))
            shape = first[1] if rng.random() < alike else rng.choice(SHAPES)
            thing = _place(rng, colour, shape, things, size)
            things += [thing] if thing is not None else []
        scene = Scene(rng.choice(BACKGROUNDS), tuple(things))
        if any(describe(scene, thing, random.Random(0)) for thing in things):
            return scene


def _place(rng: random.Random, colour: str, shape: str, others: list[Thing], size: Size) -> Thing | None:
    width, height = size
    largest = 0.42 * min(size)
    for _ in range(TRIES):
        radius = SMALLEST * (largest / SMALLEST) ** rng.random()
        x, y = rng.uniform(radius + 1, width - radius - 1), rng.uniform(radius + 1, height - radius - 1)
        gap = GAP * min(size) + 2
        if all(math.hypot(x - other.x, y - other.y) > radius + other.radius + gap for other in others):
            return Thing(colour, shape, x, y, radius, COLOURS[colour])
    return None


def _ask(task: str, drawing: Drawing, absent: bool, rng: random.Random) -> Row:
    scene = drawing.scene
    if task in ("box", "point"):
        thing, words = _named_thing(scene, rng)
        question = f"Find the {words}." if task == "box" else f"Point to the {words}."
        return Row(0, drawing, None, task, question, (thing,))
    words, golds = _kind(scene, absent, rng)
    if task == "count":
        return Row(0, drawing, None, task, f"Point to every {words}; the number of points counts.", golds)
    labels = tuple(f"{thing.colour} {thing.shape}" for thing in golds)
    question = f"Find every {words}. Label each with its colour and shape, such as red circle."
    return Row(0, drawing, None, task, question, golds, labels)


def _named_thing(scene: Scene, rng: random.Random) -> tuple[Thing, str]:
    """A thing and words that fit it alone."""
    things = list(scene.things)
    rng.shuffle(things)
    named = ((thing, describe(scene, thing, rng)) for thing in things)
    return next((thing, words) for thing, words in named if words is not None)


def _kind(scene: Scene, absent: bool, rng: random.Random) -> tuple[str, tuple[Thing, ...]]:
    """The name of a kind, and the things of that kind; `absent`: of one that is not there."""
    thing = rng.choice(scene.things)
    colour, shape = thing.colour, thing.shape
    if absent:
        free = [(c, s) for c in COLOURS for s in SHAPES if all((t.colour, t.shape) != (c, s) for t in scene.things)]
        colour, shape = rng.choice(free)
        return f"{colour} {shape}", ()
    kinds = (
        (f"{colour} object", lambda other: other.colour == colour),
        (shape, lambda other: other.shape == shape),
        (f"{colour} {shape}", lambda other: (other.colour, other.shape) == (colour, shape)),
    )
    words, fits = rng.choice(kinds)
    return words, tuple(filter(fits, scene.things))


def draw_picture(drawing: Drawing) -> Image.Image:
    """The picture in flat colours."""
    picture = Image.new("RGB", drawing.size, drawing.scene.background)
    pen = ImageDraw.Draw(picture)
    for thing in drawing.scene.things:
        draw_thing(pen, thing, 1)
    return picture


def thing_pixels(drawing: Drawing, thing: Thing) -> Image.Image:
    """The pixels of a thing: white on black."""
    picture = Image.new("RGB", drawing.size)
    draw_thing(ImageDraw.Draw(picture), replace(thing, rgb=(255, 255, 255)), 1)
    return picture.convert("L")


def box_of(drawing: Drawing, thing: Thing) -> tuple[int, int, int, int]:
    """Left, top, right and bottom edge of the pixels of a thing."""
    box = thing_pixels(drawing, thing).getbbox()
    assert box is not None
    return box


def runs_of(drawing: Drawing, thing: Thing) -> dict[str, list[int]]:
    """The pixels of a thing as COCO's run lengths: columns from top to bottom, the first run
    outside."""
    width, height = drawing.size
    columns = thing_pixels(drawing, thing).transpose(Image.Transpose.TRANSPOSE).tobytes()
    runs = [len(list(run)) for _, run in groupby(columns)]
    return {"size": [height, width], "counts": [0, *runs] if columns[0] else runs}


def write(rows: list[Row], path: Path) -> None:
    """The rows as a tab separated file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, delimiter="\t", lineterminator="\n")
        writer.writerow(COLUMNS)
        for row in rows:
            picture = base64.b64encode(png(draw_picture(row.drawing))).decode()
            image = picture if row.same_as is None else str(row.same_as)
            writer.writerow([row.index, image, row.question, *_gold_cells(row), row.drawing.format, row.task, "test"])


def _gold_cells(row: Row) -> tuple[str, str, str]:
    """The cells of boxes, mask and labels."""
    if row.task == "point":
        return "", json.dumps([runs_of(row.drawing, row.golds[0])], separators=(",", ":")), ""
    boxes = [list(box_of(row.drawing, thing)) for thing in row.golds]
    cell = json.dumps(boxes[0] if row.task == "box" else boxes)
    return cell, "", json.dumps(row.labels) if row.task == "labels" else ""


def main() -> None:
    """Write the file and say what is in it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=DATA)
    parser.add_argument("--seed", type=int, default=SEED)
    given = parser.parse_args()
    path: Path = given.out
    rows = build("test", given.seed)
    write(rows, path)
    for task in TASKS:
        print(f"{task:8}{sum(row.task == task for row in rows):5}")
    print(f"{len(rows)} questions, {path.stat().st_size / 1e3:.0f} kB in {path}")


if __name__ == "__main__":
    main()
