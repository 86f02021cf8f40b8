"""Small files in MMT-Bench's column layout. Made here: no question of the published data."""

from __future__ import annotations

import base64
import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

from PIL import Image, ImageDraw

COLUMNS = (
    "index",
    "question",
    "hint",
    "A",
    "B",
    "C",
    "D",
    "E",
    "F",
    "G",
    "H",
    "I",
    "answer",
    "category",
    "l2-category",
    "split",
    "image",
)
COLOURS = ("red", "green", "blue", "orange", "purple")


def picture(colour: str, size: tuple[int, int] = (60, 40)) -> str:
    """Base64 PNG with one coloured circle."""
    image = Image.new("RGB", size, "white")
    ImageDraw.Draw(image).ellipse((8, 8, size[0] - 8, size[1] - 8), fill=colour)
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return base64.b64encode(buffer.getvalue()).decode()


def row(index: int, category: str, meta: str, answer: str = "A", **cells: str) -> dict[str, str]:
    """A question with four options; `image` may be a list literal of several pictures."""
    plain = {
        "index": str(index),
        "question": f"What color is circle {index}?",
        "A": "red",
        "B": "green",
        "C": "blue",
        "D": "orange",
        "answer": answer,
        "category": category,
        "l2-category": meta,
        "split": "VAL",
        "image": picture("red"),
    }
    return plain | cells


def several(colours: Sequence[str]) -> str:
    return "[" + ", ".join(f"'{picture(colour)}'" for colour in colours) + "]"


def write(path: Path, rows: Sequence[Mapping[str, str]], extra: Sequence[str] = ()) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        table = csv.DictWriter(file, (*COLUMNS, *extra), delimiter="\t", restval="")
        table.writeheader()
        table.writerows(rows)
    return path
