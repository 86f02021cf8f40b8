"""Drawn pictures for the tests of duplicates, and what copies of pictures go through."""

from __future__ import annotations

import io
import random
from collections.abc import Callable
from pathlib import Path

from PIL import Image, ImageDraw, ImageEnhance

PilImage = Image.Image


def draw_scene(seed: int, size: tuple[int, int] | None = None) -> PilImage:
    """Clouds of colour with shapes and lines in front: as varied as photographs, and small."""
    draw = random.Random(seed)
    width, height = size or (draw.randint(120, 200), draw.randint(100, 160))
    cells = draw.randint(2, 7), draw.randint(2, 7)
    coarse = Image.frombytes("RGB", cells, draw.randbytes(cells[0] * cells[1] * 3))
    image = coarse.resize((width, height), Image.Resampling.BICUBIC)
    pen = ImageDraw.Draw(image)
    for _ in range(draw.randint(2, 9)):
        colour = tuple(draw.randbytes(3))
        x, y = draw.uniform(-0.1, 0.9) * width, draw.uniform(-0.1, 0.9) * height
        w, h = draw.uniform(0.08, 0.6) * width, draw.uniform(0.08, 0.6) * height
        shape = draw.choice(("ellipse", "rectangle", "polygon", "line"))
        if shape == "ellipse":
            pen.ellipse((x, y, x + w, y + h), fill=colour)
        elif shape == "rectangle":
            pen.rectangle((x, y, x + w, y + h), fill=colour)
        elif shape == "polygon":
            pen.polygon([(x, y), (x + w, y + h / 3), (x + w / 4, y + h)], fill=colour)
        else:
            pen.line((x, y, x + w, y + h), fill=colour, width=draw.randint(2, 8))
    return image


def draw_card(seed: int) -> PilImage:
    """A white card with a few shapes, as questions for young models use: much alike in outline."""
    draw = random.Random(seed)
    image = Image.new("RGB", (160, 160), "white")
    pen = ImageDraw.Draw(image)
    for _ in range(draw.randint(1, 4)):
        x, y, side = draw.randint(5, 110), draw.randint(5, 110), draw.randint(20, 45)
        colour = draw.choice(("red", "green", "blue", "orange", "purple", "black"))
        shape = draw.choice((pen.ellipse, pen.rectangle))
        shape((x, y, x + side, y + side), fill=colour)
    return image


def jpeg(image: PilImage, quality: int = 88) -> bytes:
    data = io.BytesIO()
    image.convert("RGB").save(data, "JPEG", quality=quality)
    return data.getvalue()


def png(image: PilImage) -> bytes:
    data = io.BytesIO()
    image.save(data, "PNG")
    return data.getvalue()


def _again(data: bytes) -> PilImage:
    return Image.open(io.BytesIO(data)).convert("RGB")


def _scale(share: float) -> Callable[[PilImage], PilImage]:
    def scale(image: PilImage) -> PilImage:
        width, height = (max(8, round(share * side)) for side in image.size)
        return image.resize((width, height), Image.Resampling.BICUBIC)

    return scale


def _compress(quality: int) -> Callable[[PilImage], PilImage]:
    return lambda image: _again(jpeg(image, quality))


def _crop(share: float) -> Callable[[PilImage], PilImage]:
    """`share` of width and height are cut away, one third left and top, two right and bottom."""

    def crop(image: PilImage) -> PilImage:
        width, height = image.size
        left, top = share * width / 3, share * height / 3
        return image.crop((round(left), round(top), round(width - 2 * left), round(height - 2 * top)))

    return crop


def _watermark(image: PilImage) -> PilImage:
    """A half-transparent line of text across, and a logo in a corner."""
    width, height = image.size
    layer = Image.new("RGBA", image.size, (0, 0, 0, 0))
    pen = ImageDraw.Draw(layer)
    pen.text((width * 0.1, height * 0.45), "sample picture", fill=(255, 255, 255, 140), font_size=max(8, width // 9))
    pen.ellipse((width * 0.82, height * 0.8, width * 0.97, height * 0.96), fill=(255, 255, 0, 200))
    return Image.alpha_composite(image.convert("RGBA"), layer).convert("RGB")


def _frame(image: PilImage) -> PilImage:
    """A white border of 5 % on each side."""
    width, height = image.size
    edge = round(0.05 * max(width, height))
    framed = Image.new("RGB", (width + 2 * edge, height + 2 * edge), "white")
    framed.paste(image, (edge, edge))
    return framed


def _rotate(degrees: float) -> Callable[[PilImage], PilImage]:
    return lambda image: image.rotate(degrees, Image.Resampling.BICUBIC)


CHANGES: dict[str, Callable[[PilImage], PilImage]] = {
    "as PNG": lambda image: _again(png(image)),
    "half the size": _scale(0.5),
    "a quarter of the size": _scale(0.25),
    "twice the size": _scale(2.0),
    "JPEG, quality 50": _compress(50),
    "JPEG, quality 20": _compress(20),
    "JPEG, quality 10": _compress(10),
    "half the size, JPEG 50": lambda image: _compress(50)(_scale(0.5)(image)),
    "brightness x 0.7": lambda image: ImageEnhance.Brightness(image).enhance(0.7),
    "brightness x 1.3": lambda image: ImageEnhance.Brightness(image).enhance(1.3),
    "contrast x 0.6": lambda image: ImageEnhance.Contrast(image).enhance(0.6),
    "without colour": lambda image: image.convert("L").convert("RGB"),
    "watermark": _watermark,
    "border of 5 %": _frame,
    "cropped by 3 %": _crop(0.03),
    "cropped by 10 %": _crop(0.10),
    "cropped by 25 %": _crop(0.25),
    "rotated by 1 degree": _rotate(1),
    "rotated by 5 degrees": _rotate(5),
    "mirrored": lambda image: image.transpose(Image.Transpose.FLIP_LEFT_RIGHT),
    "turned by 90 degrees": lambda image: image.transpose(Image.Transpose.ROTATE_90),
}


def write_scenes(folder: Path, count: int, first: int = 0) -> None:
    """Small JPEG files, a thousand a folder: `000/000000.jpg`."""
    for seed in range(first, first + count):
        path = folder / f"{seed // 1000:03}" / f"{seed:06}.jpg"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(jpeg(draw_scene(seed)))
