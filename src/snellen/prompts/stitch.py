"""Several images for a model that is shown one: drawn into one picture, or the first alone.

MMT-Bench's single-image prompts combine the images of a question into one by hand (Sec. 4.3), the
query and each candidate under its name. Ours does it by rule: equal heights, in rows, a name
above each.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from snellen.core.errors import MediaError
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.derived_images import (
    derived_image,
    load_image,
    rename_placeholders,
    unavailable_image,
)

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFont import FreeTypeFont, ImageFont

MAX_HEIGHT = 448
GAP = 16
MAX_SINGLE_ROW = 5
"""Up to so many images stand in one row; more in as many columns as rows, as near as may be."""
_MAX_ASPECT_RATIO = 8
"""No image is shown wider than so many times its height: a strip of text stays legible."""
_FONT_FRACTION = 14
_MIN_FONT_SIZE = 14


class _Tile(NamedTuple):
    image: Picture
    name: str


def stitch_images(sample: Sample, names: Sequence[str] = ()) -> Sample:
    """The sample with its images drawn into one picture; one image stays as it is.

    `names` stand above the images, "Image 1", "Image 2" ... where none are given; the text's
    placeholders become those names. An image that cannot be decoded fails the sample.
    """
    if len(sample.media) < 2 or any(ref.kind != "image" for ref in sample.media):
        return sample
    count = len(sample.media)
    shown = tuple(names) if len(names) == count else default_names(count)
    return replace(rename_placeholders(sample, shown), media=(combine_images(sample.media, shown),))


def keep_first_image(sample: Sample) -> Sample:
    """The sample with its first image only. It never counts as taking several images."""
    if len(sample.media) < 2:
        return sample
    names = ("<image 1>", *("" for _ in sample.media[1:]))
    return replace(rename_placeholders(sample, names), media=sample.media[:1])


def default_names(count: int) -> tuple[str, ...]:
    return tuple(f"Image {number}" for number in range(1, count + 1))


def combine_images(refs: Sequence[MediaRef], names: Sequence[str]) -> MediaRef:
    """One picture of several, each under its name."""
    try:
        pictures = [load_image(ref) for ref in refs]
    except MediaError as error:
        return unavailable_image(refs, f"the images cannot be stitched: {error}")
    height = min(MAX_HEIGHT, max(picture.height for picture in pictures))
    scaled = [_resize(picture, height) for picture in pictures]
    return derived_image(
        _draw_sheet([_Tile(*pair) for pair in zip(scaled, names, strict=True)], height)
    )


def _resize(image: Picture, height: int) -> Picture:
    from PIL import Image

    scale = min(height / image.height, _MAX_ASPECT_RATIO * height / image.width)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _draw_sheet(tiles: Sequence[_Tile], height: int) -> Picture:
    from PIL import Image, ImageDraw, ImageFont

    size = max(_MIN_FONT_SIZE, height // _FONT_FRACTION)
    font = ImageFont.load_default(size)
    rows = list(_rows(tiles))
    widths = [_column_width(cell, font) for cell in tiles]
    spare = iter(widths)
    row_widths = [sum(next(spare) for _ in row) + GAP * (len(row) + 1) for row in rows]
    band = size + GAP
    sheet = Image.new(
        "RGB", (max(row_widths), len(rows) * (band + height + GAP) + GAP // 2), "white"
    )
    draw = ImageDraw.Draw(sheet)
    width = iter(widths)
    for number, row in enumerate(rows):
        left, top = GAP, number * (band + height + GAP)
        for cell in row:
            column = next(width)
            middle = left + column // 2
            draw.text((middle, top + band - GAP // 2), cell.name, "black", font, anchor="ms")
            below = top + band + (height - cell.image.height) // 2
            sheet.paste(cell.image, (middle - cell.image.width // 2, below))
            left += column + GAP
    return sheet


def _column_width(tile: _Tile, font: FreeTypeFont | ImageFont) -> int:
    return max(tile.image.width, math.ceil(font.getlength(tile.name)))


def _rows(tiles: Sequence[_Tile]) -> Iterator[Sequence[_Tile]]:
    columns = len(tiles) if len(tiles) <= MAX_SINGLE_ROW else math.ceil(math.sqrt(len(tiles)))
    for start in range(0, len(tiles), columns):
        yield tiles[start : start + columns]
