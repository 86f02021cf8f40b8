"""Pictures are turned upright by their EXIF orientation, whatever way they are stored."""

from __future__ import annotations

import io

import numpy as np
import pytest
from PIL import Image

from snellen.core.media import decode_image

WIDTH, HEIGHT = 48, 32
CORNERS = {
    ("top", "left"): (250, 20, 20),
    ("top", "right"): (20, 250, 20),
    ("bottom", "left"): (20, 20, 250),
    ("bottom", "right"): (250, 250, 20),
}
FIRST_ROW_AND_COLUMN = {
    1: ("top", "left"),
    2: ("top", "right"),
    3: ("bottom", "right"),
    4: ("bottom", "left"),
    5: ("left", "top"),
    6: ("right", "top"),
    7: ("right", "bottom"),
    8: ("left", "bottom"),
}
"""On which side of the scene the first row and the first column of what is stored lie (EXIF 2.3,
tag 274)."""


def scene() -> np.ndarray:
    """Four quarters of a colour each, (height, width, 3)."""
    found = np.zeros((HEIGHT, WIDTH, 3), np.uint8)
    halves = {
        "top": slice(0, HEIGHT // 2),
        "bottom": slice(HEIGHT // 2, HEIGHT),
        "left": slice(0, WIDTH // 2),
        "right": slice(WIDTH // 2, WIDTH),
    }
    for (vertical, horizontal), colour in CORNERS.items():
        found[halves[vertical], halves[horizontal]] = colour
    return found


def stored(orientation: int) -> np.ndarray:
    """The scene as a camera that was held that way stores it."""
    row, column = FIRST_ROW_AND_COLUMN[orientation]
    found = scene() if row in ("top", "bottom") else scene().transpose(1, 0, 2)
    if row in ("bottom", "right"):
        found = found[::-1]
    return found[:, ::-1] if column in ("bottom", "right") else found


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
@pytest.mark.parametrize("orientation", FIRST_ROW_AND_COLUMN)
def test_every_orientation(orientation: int, kind: str) -> None:
    exif = Image.Exif()
    exif[274] = orientation
    data = io.BytesIO()
    pixels = np.ascontiguousarray(stored(orientation))
    Image.fromarray(pixels).save(data, kind, exif=exif, quality=95)
    picture = decode_image(data.getvalue())
    assert (picture.size, picture.mode) == ((WIDTH, HEIGHT), "RGB")
    for (vertical, horizontal), colour in CORNERS.items():
        x = WIDTH // 4 if horizontal == "left" else 3 * WIDTH // 4
        y = HEIGHT // 4 if vertical == "top" else 3 * HEIGHT // 4
        found = np.array(picture.getpixel((x, y)), int)
        assert np.abs(found - colour).max() < 25, (vertical, horizontal)
