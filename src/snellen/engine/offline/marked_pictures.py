"""Pictures of one red square, drawn in several sizes, and questions for its box and its centre.

The questions name no coordinate space, so that a model answers in its own.
"""

from __future__ import annotations

import io
import random
from typing import Literal, NamedTuple

from snellen.core.media import InlineSource, digest_bytes
from snellen.core.place import Box, Point
from snellen.core.request import Generate, Generation, Media, Ref, Text, user

SIZES = ((320, 240), (270, 480), (640, 360), (600, 600), (450, 820), (1200, 500), (1280, 960), (720, 1440))
"""Width and height in pixels: neither square alone nor near 100, 1000 or 1024, at which two spaces
would be one."""
PER_SIZE = 4
_SIDES = (0.12, 0.3)
"""The square's side, as a share of the shorter edge of the picture."""
_GROUND, _SQUARE = (236, 236, 230), (214, 30, 30)
_QUESTIONS: dict[str, str] = {
    "box": "Where is the red square in this picture? Answer with its bounding box alone, as four numbers.",
    "point": "Where is the centre of the red square in this picture? Answer with this point alone, as two numbers.",
}
Asked = Literal["box", "point"]


class MarkedPlace(NamedTuple):
    """A question about the place of the square, and the place itself in pixels."""

    asked: Asked
    size: tuple[int, int]
    box: Box
    request: Generate

    @property
    def centre(self) -> Point:
        return self.box.centre


def draw_questions(limit: int, seed: int, settings: Generation, role: str) -> list[MarkedPlace]:
    """At most `limit` questions, selected at random by the seed, about pictures of every size."""
    # The pictures are the same for every seed: replies are stored by what was asked.
    places = random.Random("marked pictures")
    questions = [
        _question(asked, size, picture, settings, role)
        for size in SIZES
        for picture in [_picture(size, places) for _ in range(PER_SIZE)]
        for asked in _QUESTIONS
    ]
    return random.Random(seed).sample(questions, min(limit, len(questions)))


def _picture(size: tuple[int, int], places: random.Random) -> tuple[Box, bytes]:
    """The place of the square in whole pixels, and the picture as a PNG."""
    from PIL import Image, ImageDraw

    width, height = size
    side = round(places.uniform(*_SIDES) * min(size))
    left, top = places.randint(0, width - side), places.randint(0, height - side)
    image = Image.new("RGB", size, _GROUND)
    # The last row and column that Pillow paints are those of the second corner.
    ImageDraw.Draw(image).rectangle((left, top, left + side - 1, top + side - 1), fill=_SQUARE)
    out = io.BytesIO()
    image.save(out, "PNG")
    return Box(left, top, left + side, top + side), out.getvalue()


def _question(
    asked: str, size: tuple[int, int], picture: tuple[Box, bytes], settings: Generation, role: str
) -> MarkedPlace:
    box, data = picture
    digest = digest_bytes(data)
    request = Generate(
        messages=(user(Media("image", digest), Text(_QUESTIONS[asked])),),
        media={digest: InlineSource(data)},
        ref=Ref(f"{asked} {size[0]}x{size[1]} {digest[:8]}"),
        settings=settings,
        to=role,
    )
    return MarkedPlace("box" if asked == "box" else "point", size, box, request)
