"""Perceptual hashes of images: 64-bit pHash and dHash, equal to those of the library imagehash.

pHash (C. Zauner, "Implementation and benchmarking of perceptual image hash functions", 2010): the
signs, about their median, of the 64 lowest coefficients of the discrete cosine transform of the
image in 32 x 32 grey values. dHash: whether brightness rises from each of 9 x 8 grey values to
its right neighbour. Two hashes are compared by the number of bits in which they differ (the Hamming
distance, 0..64).

The values are those of `imagehash.phash` and `imagehash.dhash` of the decoded image, upright.
They differ where coefficients equal the median, as in images that are mirror images of
themselves: there imagehash's bits depend on rounding errors of its transform, ours are 0.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import Source, decode_image
from snellen.settings import max_image_pixels
from snellen_curate.duplicates.image_rule import small_copy

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

Hashes = npt.NDArray[np.uint64]

HASH_BITS = 64
_SIDE = 8
"""Coefficients a side that make the hash."""
REDUCED = 32
"""Side of the reduced image that is transformed."""
_DIGITS = 6
"""Decimals to which coefficients are rounded. They are sums of 1024 grey values times cosines:
rounding errors are near 1e-11, differences that mean something are larger than 1e-3."""
TURNS = 8
"""Ways to mirror an image and turn it by quarters, the image itself first."""


class UnreadableImage(NamedTuple):
    """An image that could not be read or decoded."""

    reason: str


class ImageHash(NamedTuple):
    """What is compared of one image."""

    sha256: bytes
    """Of the file's bytes."""
    pixels: bytes
    """SHA-256 of width, height and RGB values: equal for the same pixels in another format."""
    size: tuple[int, int]
    """Width and height."""
    small_copy: npt.NDArray[np.uint8]
    """(16, 16, 3), RGB."""
    phash: int = 0
    dhash: int = 0
    contrast: float = 0.0
    """Standard deviation of the 32 x 32 grey values. An image without contrast has no pHash that
    says anything."""
    turned: tuple[int, ...] = ()
    """pHashes of the image mirrored and turned by quarters, `TURNS` of them, its own first."""


def hash_images(sources: Sequence[Source]) -> list[ImageHash | UnreadableImage]:
    """Hash images in this process, in the order given; broken ones do not affect the others."""
    images: list[ImageHash | UnreadableImage] = []
    greys: list[npt.NDArray[Any]] = []
    columns: list[npt.NDArray[Any]] = []
    for source in sources:
        try:
            data = source.read()
            image = decode_image(data, max_image_pixels())
        except MediaError as error:
            images.append(UnreadableImage(str(error)))
            continue
        pixels = hashlib.sha256(b"%d %d " % image.size)
        pixels.update(image.tobytes())
        for values, reduced in zip((greys, columns), reduce_image(image), strict=True):
            values.append(reduced)
        images.append(ImageHash(hashlib.sha256(data).digest(), pixels.digest(), image.size, small_copy(image)))
    if not greys:
        return images
    # The transforms of many images at once take a tenth of the time.
    grey = np.stack(greys)
    turned = turned_phashes(low_coefficients(grey)).tolist()
    hashed = zip(turned, dhash(np.stack(columns)).tolist(), grey.std(axis=(1, 2)).tolist(), strict=True)
    for place, one in enumerate(images):
        if isinstance(one, ImageHash):
            ways, difference, contrast = next(hashed)
            images[place] = one._replace(phash=ways[0], dhash=difference, contrast=contrast, turned=tuple(ways))
    return images


def reduce_image(image: PILImage) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """The grey values that pHash (32 x 32) and dHash (8 rows of 9) are computed from."""
    from PIL.Image import Resampling

    grey = image.convert("L")
    return (
        np.asarray(grey.resize((REDUCED, REDUCED), Resampling.LANCZOS)),
        np.asarray(grey.resize((_SIDE + 1, _SIDE), Resampling.LANCZOS)),
    )


def low_coefficients(grey: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
    """The lowest coefficients of a 2D cosine transform (type II): (n, 32, 32) to (n, 8, 8)."""
    basis = _cosines()
    low: npt.NDArray[np.float64] = basis @ grey.astype(np.float64) @ basis.T
    return np.round(low, _DIGITS)


def phash(low: npt.NDArray[np.float64]) -> Hashes:
    """pHash of coefficients (..., 8, 8): 64 bits, the first in the highest place."""
    flat = low.reshape(*low.shape[:-2], HASH_BITS)
    return _pack(flat > np.median(flat, axis=-1, keepdims=True))


def dhash(columns: npt.NDArray[Any]) -> Hashes:
    """dHash of grey values (n, 8, 9)."""
    rises = columns[..., 1:] > columns[..., :-1]
    return _pack(rises.reshape(*columns.shape[:-2], HASH_BITS))


def turned_phashes(low: npt.NDArray[np.float64]) -> Hashes:
    """pHashes (n, 8) of the images mirrored and turned, from the coefficients (n, 8, 8) alone.

    A mirrored image has the same coefficients, those of odd frequency with the other sign; a
    transposed image has them transposed. These make all eight symmetries of the square.
    """
    odd = np.where(np.arange(_SIDE) % 2, -1.0, 1.0)
    variants = []
    for coefficients in (low, low.swapaxes(-1, -2)):
        for across, down in ((1.0, 1.0), (odd, 1.0), (1.0, odd[:, None]), (odd, odd[:, None])):
            variants.append(phash(coefficients * across * down))
    return np.stack(variants, axis=-1)


def hash_from_cell(value: object) -> int:
    """A hash as manifests hold it: 16 hex digits, 8 bytes, or a whole number, signed or not.

    Raises UsageError for anything else.
    """
    if isinstance(value, str) and len(value.strip()) == HASH_BITS // 4:
        try:
            return int(value.strip(), 16)
        except ValueError:
            pass
    elif isinstance(value, bytes) and len(value) == HASH_BITS // 8:
        return int.from_bytes(value, "big")
    elif isinstance(value, int) and -(1 << 63) <= value < 1 << 64:
        return value % (1 << 64)
    raise UsageError(
        f"{value!r} is no 64-bit hash; expected 16 hex digits, as imagehash prints it with "
        "hash_size=8, or a 64-bit number"
    )


def _pack(bits: npt.NDArray[np.bool_]) -> Hashes:
    """(..., 64) bits to (...) numbers."""
    packed = np.packbits(bits, axis=-1)
    return packed.view(">u8")[..., 0].astype(np.uint64)


@cache
def _cosines() -> npt.NDArray[np.float64]:
    """The rows 0..7 of the cosine transform of 32 values."""
    frequency, place = np.arange(_SIDE)[:, None], np.arange(REDUCED)[None, :]
    cosines: npt.NDArray[np.float64] = 2 * np.cos(np.pi * frequency * (2 * place + 1) / (2 * REDUCED))
    return cosines
