"""What an image file says beside its pixels: place, camera, author and licence."""

from __future__ import annotations

import re
from typing import Any

from PIL import ExifTags

from snellen.core.errors import MediaError
from snellen.core.media import decode_errors, open_image
from snellen.settings import max_image_pixels
from snellen_curate.attribution import licence_at
from snellen_curate.images.quality import Measures

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
