"""Scenes as pixels, with Pillow and its built-in font only."""

from __future__ import annotations

import io
import math
from functools import cache
from itertools import pairwise

from PIL import Image, ImageDraw, ImageFont

from training.tiny.world import Lettering, Scene, Thing

SIZE = 128
Point = tuple[float, float]


def draw(scene: Scene, size: int = SIZE) -> Image.Image:
    """The scene as a square RGB picture, flat colours without anti-aliased shape edges."""
    picture = Image.new("RGB", (size, size), scene.background)
    pen = ImageDraw.Draw(picture)
    for thing in scene.things:
        draw_thing(pen, thing, size)
    if scene.lettering is not None:
        _draw_lettering(pen, scene.lettering, size)
    return picture


def png(picture: Image.Image) -> bytes:
    """A small PNG: the drawn pictures need far fewer than 64 colours."""
    buffer = io.BytesIO()
    picture.quantize(64, dither=Image.Dither.NONE).save(buffer, "PNG", optimize=True)
    return buffer.getvalue()


def letter_boxes(lettering: Lettering, size: int = SIZE) -> list[tuple[float, float, float, float]]:
    """Left, top, right, bottom of every character, as fractions of the side."""
    font = _font(round(lettering.height * size))
    left, top, right, bottom = font.getbbox(lettering.content, anchor="mm")
    edges = [font.getlength(lettering.content[:i]) for i in range(len(lettering.content) + 1)]
    stretch = (right - left) / max(1.0, edges[-1])
    x, y = lettering.x + left / size, lettering.y
    return [
        (x + a * stretch / size, y + top / size, x + b * stretch / size, y + bottom / size) for a, b in pairwise(edges)
    ]


def draw_thing(pen: ImageDraw.ImageDraw, thing: Thing, size: int) -> None:
    x, y, r = thing.x * size, thing.y * size, thing.radius * size
    if thing.shape in ("circle", "ring"):
        width = round(r * 0.42)
        if thing.shape == "circle":
            pen.ellipse((x - r, y - r, x + r, y + r), fill=thing.rgb)
        else:
            pen.ellipse((x - r, y - r, x + r, y + r), outline=thing.rgb, width=width)
    else:
        pen.polygon([(x + r * a, y + r * b) for a, b in _outline(thing.shape)], fill=thing.rgb)


@cache
def _outline(shape: str) -> tuple[Point, ...]:
    """Corners of a polygon that fits the unit circle."""
    if shape == "square":
        return (-0.8, -0.8), (0.8, -0.8), (0.8, 0.8), (-0.8, 0.8)
    if shape == "diamond":
        return (0.0, -1.0), (0.75, 0.0), (0.0, 1.0), (-0.75, 0.0)
    if shape == "triangle":
        return tuple(_polar(1.0, 120 * i) for i in range(3))
    if shape == "star":
        return tuple(_polar(1.0 if i % 2 == 0 else 0.42, 36 * i) for i in range(10))
    if shape == "cross":
        a, b = 0.3, 0.95
        quarter = ((-a, -b), (a, -b), (a, -a), (b, -a), (b, a), (a, a))
        return quarter + tuple((-x, -y) for x, y in quarter)
    raise ValueError(f"no outline for {shape!r}")


def _polar(radius: float, degrees: float) -> Point:
    """A point by its angle from straight up."""
    angle = math.radians(degrees)
    return radius * math.sin(angle), -radius * math.cos(angle)


def _draw_lettering(pen: ImageDraw.ImageDraw, lettering: Lettering, size: int) -> None:
    where = (lettering.x * size, lettering.y * size)
    font = _font(round(lettering.height * size))
    pen.text(where, lettering.content, fill=lettering.rgb, font=font, anchor="mm")


@cache
def _font(pixels: int) -> ImageFont.FreeTypeFont:
    """Pillow's built-in font at a size."""
    font = ImageFont.load_default(pixels)
    if not isinstance(font, ImageFont.FreeTypeFont):
        raise RuntimeError("Pillow was built without FreeType; the built-in font cannot be scaled")
    return font
