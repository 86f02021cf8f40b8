"""Find the clean picture of a published one, and which boxes of its annotation are drawn in.

A published picture is a clean one with rectangles of two pixels' width drawn by mmcv, saved anew as
JPEG, sometimes smaller. Clean pictures of the same shape are compared as small grey copies; of the
nearest one the pixels say which boxes' outlines were painted over.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from snellen.benchmarks.abilities.mmt_bench.referring.annotations import Corners, SourceBox, SourcePicture
from snellen.core.errors import MediaError
from snellen.core.media import decode_image
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from numpy import bool_, float32
    from numpy.typing import NDArray
    from PIL.Image import Image as PILImage

_SMALL = 32
"""Side of the grey copies."""
_SAME = 12.0
"""Largest mean difference, of 255, of the small copies of a picture with and without boxes."""
_SHAPE = 0.02
"""Largest relative difference of the ratio of width and height."""
_CHANGED = 60
"""Difference of a channel, of 255, above which a pixel was painted over; JPEG changes less."""
_REACH = 2
"""Pixels by which a drawn outline may be off."""
_DRAWN_SHARE = 0.6
"""Least share of a box's outline that was painted over. A box may have the colour of what is under
it."""
_NEW_SHARE = 0.4
"""Least share of a box's outline that no larger box explains."""
_EXPLAINED_SHARE = 0.5
"""Least share of the painted pixels that lie on the outlines of the boxes that were found."""
_COLOURS = {
    "red": (255, 0, 0),
    "green": (0, 255, 0),
    "blue": (0, 0, 255),
    "yellow": (255, 255, 0),
    "cyan": (0, 255, 255),
    "magenta": (255, 0, 255),
    "white": (255, 255, 255),
    "black": (0, 0, 0),
}
"""Of mmcv's outlines."""


class DrawnBox(NamedTuple):
    """A box of an annotation that is drawn in a published picture."""

    box: SourceBox
    colour: str


class PictureIndex:
    """Small copies of the clean pictures of all sources. Files that cannot be read are counted."""

    def __init__(self, pictures: Iterable[SourcePicture]) -> None:
        self.pictures: list[SourcePicture] = []
        self.unreadable: list[Path] = []
        copies, ratios = [], []
        for picture in pictures:
            try:
                image = read_picture(picture.path)
            except MediaError:
                self.unreadable.append(picture.path)
                continue
            self.pictures.append(picture)
            copies.append(_small_copy(image))
            ratios.append(image.width / image.height)
        self._copies = np.stack(copies) if copies else np.zeros((0, _SMALL, _SMALL), np.float32)
        self._ratios = np.array(ratios)

    def nearest(self, published: PILImage) -> SourcePicture | None:
        """The clean picture that a published one was made of; None if none is near enough."""
        ratio = published.width / published.height
        (places,) = np.nonzero(np.abs(self._ratios / ratio - 1) <= _SHAPE)
        if not len(places):
            return None
        differences = np.abs(self._copies[places] - _small_copy(published)).mean(axis=(1, 2))
        best = int(differences.argmin())
        return self.pictures[int(places[best])] if differences[best] <= _SAME else None


def read_picture(path: Path) -> PILImage:
    """Decode a file to RGB, upright. Raises MediaError."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        raise MediaError(f"{path}: there is no such file") from None
    except OSError as error:
        raise MediaError(f"{path} cannot be read: {error.strerror or error}") from error
    return decode_image(data, max_image_pixels())


def drawn_boxes(published: PILImage, clean: PILImage, boxes: Sequence[SourceBox]) -> list[DrawnBox]:
    """The boxes whose outlines are drawn, in the order given; empty if what is drawn is not
    explained by them. Corners are in pixels of the clean picture, which may be larger."""
    pixels = np.asarray(published, dtype=np.int16)
    same_size = clean.resize(published.size) if clean.size != published.size else clean
    painted = np.abs(pixels - np.asarray(same_size, dtype=np.int16)).max(axis=2) > _CHANGED
    if not painted.any():
        return []
    scale = published.width / clean.width, published.height / clean.height
    near_painted = _dilate(painted)
    explained = np.zeros_like(painted)
    drawn: dict[int, DrawnBox] = {}
    by_length = sorted(range(len(boxes)), key=lambda index: -_length(boxes[index].corners))
    for index in by_length:
        ys, xs = _outline(boxes[index].corners, scale, painted.shape)
        if not len(xs) or near_painted[ys, xs].mean() < _DRAWN_SHARE:
            continue
        band = np.zeros_like(painted)
        band[ys, xs] = True
        band = _dilate(band)
        if (near_painted[ys, xs] & ~explained[ys, xs]).mean() < _NEW_SHARE:
            continue
        drawn[index] = DrawnBox(boxes[index], _colour(pixels[band & painted]))
        explained |= band
    if not drawn or (painted & explained).sum() < _EXPLAINED_SHARE * painted.sum():
        return []
    return [drawn[index] for index in sorted(drawn)]


def _small_copy(image: PILImage) -> NDArray[float32]:
    return np.asarray(image.convert("L").resize((_SMALL, _SMALL)), dtype=np.float32)


def _length(corners: Corners) -> float:
    left, top, right, bottom = corners
    return (right - left) + (bottom - top)


def _outline(
    corners: Corners, scale: tuple[float, float], shape: tuple[int, ...]
) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
    """Rows and columns of the pixels of a box's outline."""
    height, width = shape[:2]
    left, right = (min(max(round(x * scale[0]), 0), width - 1) for x in (corners[0], corners[2]))
    top, bottom = (min(max(round(y * scale[1]), 0), height - 1) for y in (corners[1], corners[3]))
    if left >= right or top >= bottom:
        return np.zeros(0, np.intp), np.zeros(0, np.intp)
    across, down = np.arange(left, right + 1), np.arange(top, bottom + 1)
    rows = np.concatenate([np.full_like(across, top), np.full_like(across, bottom), down, down])
    columns = np.concatenate([across, across, np.full_like(down, left), np.full_like(down, right)])
    return rows, columns


def _dilate(mask: NDArray[bool_]) -> NDArray[bool_]:
    """The mask and everything within `_REACH` pixels of it."""
    grown = mask.copy()
    for _ in range(_REACH):
        wider = grown.copy()
        wider[1:] |= grown[:-1]
        wider[:-1] |= grown[1:]
        wider[:, 1:] |= grown[:, :-1]
        wider[:, :-1] |= grown[:, 1:]
        grown = wider
    return grown


def _colour(pixels: NDArray[np.int16]) -> str:
    """The name of the colour that is nearest to the median of pixels, (pixels, 3)."""
    median = np.median(pixels, axis=0)
    return min(_COLOURS, key=lambda name: float(np.abs(median - np.array(_COLOURS[name])).sum()))
