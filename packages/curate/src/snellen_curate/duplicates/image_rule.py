"""When two images count as near duplicates: thresholds, and the likeness of small copies.

A perceptual hash says which images may be alike; drawings with the same outline (one shape on
white) have the same hash without being copies. So where both images are at hand, their small
copies of 16 x 16 pixels are compared too. The thresholds come from the table in
docs/curate/duplicates.md, which `python packages/curate/tests/duplicates/calibration.py` prints.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from msgspec import Struct

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Array = npt.NDArray[Any]

THUMB_SIDE = 16
THUMB_SHAPE = (THUMB_SIDE, THUMB_SIDE, 3)
UNKNOWN = 255
"""Distance of hashes of which one is not known."""
_GREY = 6.0
"""An image whose channels differ by less than this on average (0..255) is one without colour."""


_MAX_PLAIN = 0.4
"""Share of neighbouring pixels of a small copy that may be the same. Of 2,321 photographs 1 in 100
has more, of drawn cards and letters nearly all."""


class ImageRule(Struct, frozen=True):
    """Which images are near duplicates of each other."""

    radius: int = 10
    """Bits in which the pHashes may differ if the small copies are alike as well."""
    likeness: float = 0.95
    """Least correlation of the small copies."""
    hash_radius: int = 6
    """Bits in which the pHashes may differ where an image is known by its hashes alone, ..."""
    dhash_radius: int = 8
    """... and the dHashes."""
    lone_radius: int = 4
    """Bits in which the pHashes may differ where nothing else is known."""
    turned: bool = True
    """Whether mirrored images, and images turned by quarters, are searched for too: where small
    copies are known, and not of plain images (`is_plain`)."""
    crops: bool = True
    """Whether cropped and framed copies are searched for too, and verified by local features: where
    the images themselves are at hand."""

    @property
    def max_radius(self) -> int:
        return max(self.radius, self.hash_radius, self.lone_radius)

    def accept(self, phash: Array, dhash: Array, likeness: Array) -> npt.NDArray[np.bool_]:
        """Which pairs are near duplicates, by the distances of their hashes (`UNKNOWN` for a dHash
        that is not known) and the likeness of their small copies (NaN where not known)."""
        by_image = (phash <= self.radius) & (likeness >= self.likeness)
        known = dhash != UNKNOWN
        by_hashes = known & (phash <= self.hash_radius) & (dhash <= self.dhash_radius)
        by_phash = ~known & (phash <= self.lone_radius)
        accepted: npt.NDArray[np.bool_] = np.where(np.isnan(likeness), by_hashes | by_phash, by_image)
        return accepted


def small_copy(image: PILImage) -> Array:
    """The RGB image in 16 x 16 pixels.

    Of the filters the triangle changes least if a few percent are cropped. Not in two steps
    (`reducing_gap`): these lose a third of the copies that were cropped by 3 %.
    """
    from PIL.Image import Resampling

    return np.asarray(image.resize((THUMB_SIDE, THUMB_SIDE), Resampling.BILINEAR))


def turn_copies(copies: Array, way: int) -> Array:
    """Small copies (n, 16, 16, 3) mirrored and turned as `image_hashes.turned_phashes` does for
    its hash number `way`: transposed from 4 on, then mirrored left to right, then top to bottom."""
    if way >= 4:
        copies = copies.swapaxes(1, 2)
    if way % 2:
        copies = copies[:, :, ::-1]
    if way % 4 >= 2:
        copies = copies[:, ::-1]
    return copies


def is_plain(copies: Array) -> npt.NDArray[np.bool_]:
    """Which small copies (n, 16, 16, 3) are of letters, charts or shapes on plain ground. Such
    images are alike, also in their corners, where they show something else, and an arrow turned
    is another one."""
    values = copies.astype(np.int16)
    same = [(np.abs(np.diff(values, axis=axis)).max(axis=-1) <= 1).mean(axis=(1, 2)) for axis in (1, 2)]
    plain: npt.NDArray[np.bool_] = (same[0] + same[1]) / 2 > _MAX_PLAIN
    return plain


def likeness(left: Array, right: Array) -> npt.NDArray[np.float32]:
    """Correlation (n,) of small copies (n, 16, 16, 3): 1 for the same image at any brightness and
    contrast. If one of the two has no colour, only brightness is compared."""
    correlation = _correlation(left, right)
    grey = np.flatnonzero(_is_grey(left) | _is_grey(right))
    if len(grey):
        correlation[grey] = _correlation(brightness(left[grey]), brightness(right[grey]))
    return correlation


def _correlation(left: Array, right: Array) -> npt.NDArray[np.float32]:
    one, other = (_centre(copies) for copies in (left, right))
    norm = np.sqrt((one * one).sum(axis=1) * (other * other).sum(axis=1))
    # Two images without any contrast have nothing that could be alike.
    correlation: npt.NDArray[np.float32] = (one * other).sum(axis=1) / np.maximum(norm, 1e-6)
    return correlation


def _centre(copies: Array) -> npt.NDArray[np.float32]:
    flat = copies.reshape(len(copies), math.prod(copies.shape[1:])).astype(np.float32)
    centred: npt.NDArray[np.float32] = flat - flat.mean(axis=1, keepdims=True)
    return centred


def brightness(copies: Array) -> npt.NDArray[np.float32]:
    """ITU-R BT.601, as Pillow's mode L."""
    grey: npt.NDArray[np.float32] = copies.astype(np.float32) @ np.array([0.299, 0.587, 0.114], np.float32)
    return grey


def _is_grey(copies: Array) -> npt.NDArray[np.bool_]:
    values = copies.astype(np.int16)
    spread = values.max(axis=-1) - values.min(axis=-1)
    grey: npt.NDArray[np.bool_] = spread.mean(axis=(1, 2)) < _GREY
    return grey
