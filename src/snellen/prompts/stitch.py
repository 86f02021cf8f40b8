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
from snellen.prompts.derived_images import decoded, made, rename_placeholders, unmade

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFont import FreeTypeFont, ImageFont

MOST_HEIGHT = 448
GAP = 16
ONE_ROW = 5
"""Up to so many images stand in one row; more in as many columns as rows, as near as may be."""
_WIDEST = 8
"""No image is shown wider than so many times its height: a strip of text stays legible."""
_FONT_SHARE = 14
_SMALLEST_FONT = 14


class _Cell(NamedTuple):
    picture: Picture
    name: str


def stitched(sample: Sample, names: Sequence[str] = ()) -> Sample:
    """The sample with its images drawn into one picture; one image stays as it is.

    `names` stand above the images, "Image 1", "Image 2" ... where none are given; the text's
    placeholders become those names. An image that cannot be decoded fails the sample.
    """
    if len(sample.media) < 2 or any(ref.kind != "image" for ref in sample.media):
        return sample
    count = len(sample.media)
    shown = tuple(names) if len(names) == count else default_names(count)
    return replace(rename_placeholders(sample, shown), media=(stitch(sample.media, shown),))


def first_alone(sample: Sample) -> Sample:
    """The sample with its first image only. It never counts as taking several images."""
    if len(sample.media) < 2:
        return sample
    names = ("<image 1>", *("" for _ in sample.media[1:]))
    return replace(rename_placeholders(sample, names), media=sample.media[:1])


def default_names(count: int) -> tuple[str, ...]:
    return tuple(f"Image {number}" for number in range(1, count + 1))


def stitch(refs: Sequence[MediaRef], names: Sequence[str]) -> MediaRef:
    """One picture of several, each under its name."""
    try:
        pictures = [decoded(ref) for ref in refs]
    except MediaError as error:
        return unmade(refs, f"the images cannot be stitched: {error}")
    height = min(MOST_HEIGHT, max(picture.height for picture in pictures))
    scaled = [_scaled(picture, height) for picture in pictures]
    return made(_sheet([_Cell(*pair) for pair in zip(scaled, names, strict=True)], height))


def _scaled(picture: Picture, height: int) -> Picture:
    from PIL import Image

    scale = min(height / picture.height, _WIDEST * height / picture.width)
    size = (max(1, round(picture.width * scale)), max(1, round(picture.height * scale)))
    return picture.resize(size, Image.Resampling.LANCZOS)


def _sheet(cells: Sequence[_Cell], height: int) -> Picture:
    from PIL import Image, ImageDraw, ImageFont

    size = max(_SMALLEST_FONT, height // _FONT_SHARE)
    font = ImageFont.load_default(size)
    rows = list(_rows(cells))
    widths = [_column_width(cell, font) for cell in cells]
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
            below = top + band + (height - cell.picture.height) // 2
            sheet.paste(cell.picture, (middle - cell.picture.width // 2, below))
            left += column + GAP
    return sheet


def _column_width(cell: _Cell, font: FreeTypeFont | ImageFont) -> int:
    return max(cell.picture.width, math.ceil(font.getlength(cell.name)))


def _rows(cells: Sequence[_Cell]) -> Iterator[Sequence[_Cell]]:
    columns = len(cells) if len(cells) <= ONE_ROW else math.ceil(math.sqrt(len(cells)))
    for start in range(0, len(cells), columns):
        yield cells[start : start + columns]
