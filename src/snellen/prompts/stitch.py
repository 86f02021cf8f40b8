"""Several images for a model that takes one: combined into one image, or only the first.

The single-image prompts of MMT-Bench combine the images of a question by hand (Sec. 4.3), the query
and each candidate under its name. Here it follows rules: equal heights, in rows, a name above each
image.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from snellen.core.errors import MediaError
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.derived_images import derived_image, load_image, rename_placeholders, unavailable_image

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

MAX_HEIGHT = 448
GAP = 16
MAX_SINGLE_ROW = 5
"""Up to this many images form one row; more form about as many rows as columns."""
_MAX_ASPECT_RATIO = 8
"""The width of an image is at most this many times its height, so that a strip of text stays
legible."""
_FONT_FRACTION = 14
_MIN_FONT_SIZE = 14


class _Tile(NamedTuple):
    image: PILImage
    name: str


def stitch_images(sample: Sample, names: Sequence[str] = ()) -> Sample:
    """Combine the sample's images into one; a sample with one image does not change.

    `names` are written above the images, by default "Image 1", "Image 2" ...; placeholders in the
    text become these names. An image that cannot be decoded fails the sample.
    """
    if len(sample.media) < 2 or any(ref.kind != "image" for ref in sample.media):
        return sample
    count = len(sample.media)
    labels = tuple(names) if len(names) == count else default_names(count)
    return replace(rename_placeholders(sample, labels), media=(combine_images(sample.media, labels),))


def keep_first_image(sample: Sample) -> Sample:
    """Keep only the sample's first image."""
    if len(sample.media) < 2:
        return sample
    names = ("<image 1>", *("" for _ in sample.media[1:]))
    return replace(rename_placeholders(sample, names), media=sample.media[:1])


def default_names(count: int) -> tuple[str, ...]:
    return tuple(f"Image {number}" for number in range(1, count + 1))


def combine_images(refs: Sequence[MediaRef], names: Sequence[str]) -> MediaRef:
    """One image of all `refs`, each under its name."""
    try:
        images = [load_image(ref) for ref in refs]
    except MediaError as error:
        return unavailable_image(refs, f"the images cannot be stitched: {error}")
    height = min(MAX_HEIGHT, max(image.height for image in images))
    scaled = [_resize(image, height) for image in images]
    return derived_image(_draw_sheet([_Tile(*pair) for pair in zip(scaled, names, strict=True)], height))


def _resize(image: PILImage, height: int) -> PILImage:
    from PIL import Image

    scale = min(height / image.height, _MAX_ASPECT_RATIO * height / image.width)
    size = (max(1, round(image.width * scale)), max(1, round(image.height * scale)))
    return image.resize(size, Image.Resampling.LANCZOS)


def _draw_sheet(tiles: Sequence[_Tile], height: int) -> PILImage:
    """Draw the tiles in rows on white; an image is centred in its column, below its name."""
    from PIL import Image, ImageDraw, ImageFont

    size = max(_MIN_FONT_SIZE, height // _FONT_FRACTION)
    font = ImageFont.load_default(size)
    rows = list(_rows(tiles))
    widths = [max(tile.image.width, math.ceil(font.getlength(tile.name))) for tile in tiles]
    spare = iter(widths)
    row_widths = [sum(next(spare) for _ in row) + GAP * (len(row) + 1) for row in rows]
    band = size + GAP
    sheet = Image.new("RGB", (max(row_widths), len(rows) * (band + height + GAP) + GAP // 2), "white")
    draw = ImageDraw.Draw(sheet)
    width = iter(widths)
    for index, row in enumerate(rows):
        left, top = GAP, index * (band + height + GAP)
        for tile in row:
            column = next(width)
            middle = left + column // 2
            draw.text((middle, top + band - GAP // 2), tile.name, "black", font, anchor="ms")
            below = top + band + (height - tile.image.height) // 2
            sheet.paste(tile.image, (middle - tile.image.width // 2, below))
            left += column + GAP
    return sheet


def _rows(tiles: Sequence[_Tile]) -> Iterator[Sequence[_Tile]]:
    columns = len(tiles) if len(tiles) <= MAX_SINGLE_ROW else math.ceil(math.sqrt(len(tiles)))
    for start in range(0, len(tiles), columns):
        yield tiles[start : start + columns]
