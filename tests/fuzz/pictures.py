"""Readers of pictures: a picture or a MediaError, and one verdict for servers and local models."""

from __future__ import annotations

from tests.data.hostile import drawn
from tests.fuzz.target import Target

from snellen.core.errors import MediaError
from snellen.core.media import check_image, decode_image, digest_bytes, has_end_marker, image_size

KINDS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000")
MOST = 200_000
"""Pixels, few: large pictures only take time."""


def _decoded(data: bytes) -> object:
    picture = decode_image(data, MOST)
    return picture.size, digest_bytes(picture.tobytes())


def _checked(data: bytes) -> object:
    check_image(data, MOST)
    return image_size(data, MOST)


def _headers(data: bytes) -> object:
    """An end marker of any bytes, and a size or a MediaError."""
    return has_end_marker(data) and image_size(data, MOST)


_SEEDS = tuple(drawn(kind, (24, 18)) for kind in KINDS)
_WORDS = (b"IDAT", b"IEND", b"\xff\xd9", b"\xff\xda", b"VP8 ", b"ANIM", b"Exif\0\0", b"jP  ")

TARGETS: tuple[Target, ...] = (
    Target("picture-decoded", _decoded, _SEEDS, _WORDS, (MediaError,)),
    Target("picture-checked", _checked, _SEEDS, _WORDS, (MediaError,)),
    Target("picture-headers", _headers, _SEEDS[:3], _WORDS, (MediaError,)),
)
