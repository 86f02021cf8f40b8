"""Visual referring: the regions of a question, drawn on the image or written in the text (MMT-Bench
Sec. 4.3, Fig. 3i).

`box` draws the regions; `pixel` and `normalised` write their corners [x1, y1, x2, y2], in pixels or
as fractions of width and height, and draw nothing; `both` draws them and writes pixels. The corners
replace the question's own words for the mark ("marked with a GREEN bounding box"); a question with
as many marks as regions ("the people (marked as RED) and the object (marked as GREEN)") has each of
them at its own mark. The paper prints no template for the written prompts; this one is ours.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from msgspec.structs import replace

from snellen.core.errors import MediaError
from snellen.core.place import Box
from snellen.core.sample import Sample
from snellen.prompts.derived_images import derived_image, load_image, unavailable_image

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Referring = Literal["box", "pixel", "normalised", "both"]

DEFAULT_COLOUR = "green"
NORMALISED_DIGITS = 3
_COLOURS = "red|green|blue|yellow|orange|purple|white|black|cyan|magenta"
_MARK = re.compile(
    r"\bmarked (?:with|as|in|by)(?: an?| the)?"
    rf"(?:(?: (?P<colour>{_COLOURS}))(?: colou?r)?(?: (?:bounding )?(?:box(?:es)?|rectangles?))?"
    r"| (?:bounding )?(?:box(?:es)?|rectangles?))",
    re.IGNORECASE,
)
_INK = {"green": "#00ff00"}
"""Colours drawn brighter than their web names, like the pure green of the published boxes."""
_THICKNESS = 200
"""The line width is the shorter side divided by this, at least two pixels."""


def apply_referring(sample: Sample, referring: Referring) -> Sample:
    """Show the sample's regions (corners in pixels of its first image) as `referring` says.

    A sample without regions or without images does not change.
    """
    if not sample.regions or not sample.media:
        return sample
    try:
        image = load_image(sample.media[0])
    except MediaError as error:
        broken = unavailable_image(sample.media[:1], f"no regions can be shown: {error}")
        return replace(sample, media=(broken, *sample.media[1:]))
    size = image.size
    media = sample.media
    if referring in ("box", "both"):
        boxed = derived_image(draw_boxes(image, sample.regions, mark_colours(sample.question)))
        media = (boxed, *media[1:])
    question = sample.question if referring == "box" else write_corners(sample.question, sample, size, referring)
    return replace(sample, question=question, media=media)


def mark_colours(question: str) -> tuple[str, ...]:
    """The colours of the marks according to the question, one for each mark it speaks of."""
    marks = _MARK.finditer(question)
    colours = tuple((mark["colour"] or DEFAULT_COLOUR).lower() for mark in marks)
    return colours or (DEFAULT_COLOUR,)


def draw_boxes(image: PILImage, regions: Sequence[Box], colours: Sequence[str]) -> PILImage:
    """A copy of the image with a rectangle around each region, all in the first colour unless there
    is one for each."""
    from PIL import ImageDraw

    copy = image.copy()
    draw = ImageDraw.Draw(copy)
    width = max(2, round(min(image.size) / _THICKNESS))
    if len(colours) != len(regions):
        colours = [colours[0]] * len(regions)
    for (left, top, right, bottom), colour in zip(regions, colours, strict=True):
        box = (min(left, right), min(top, bottom), max(left, right), max(top, bottom))
        draw.rectangle(box, outline=_INK.get(colour, colour), width=width)
    return copy


def write_corners(question: str, sample: Sample, size: tuple[int, int], referring: Referring) -> str:
    """The question with the corners of the regions in its text; `size` is width and height in
    pixels."""
    width, height = size
    corners = [_corners_text(region, size, referring) for region in sample.regions]
    listed = _enumerate_words(corners)
    marks = list(_MARK.finditer(question))
    texts = corners if len(marks) == len(corners) else [listed]
    if marks:
        # From the last to the first, so that earlier marks stay where they are.
        for mark, text in reversed(list(zip(marks, texts, strict=False))):
            reference = f"{mark[0]}, at {text}" if referring == "both" else f"at {text}"
            question = question[: mark.start()] + reference + question[mark.end() :]
    else:
        is_plural = len(sample.regions) > 1
        question += f" The region{'s' if is_plural else ''} in question: {listed}."
    if referring == "normalised":
        unit = "normalised to 0..1 by the width and the height of the image"
    else:
        unit = f"in pixels of the image, whose width is {width} and whose height is {height}"
    return f"{question} Corners are given as [x1, y1, x2, y2], {unit}."


def _corners_text(region: Box, size: tuple[int, int], referring: Referring) -> str:
    if referring == "normalised":
        spans = (size[0], size[1]) * 2
        shares = [value / span for value, span in zip(region, spans, strict=True)]
        return "[" + ", ".join(f"{share:.{NORMALISED_DIGITS}f}" for share in shares) + "]"
    return "[" + ", ".join(f"{value:g}" for value in region) + "]"


def _enumerate_words(items: Sequence[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"
