"""Pictures and other media: named by the hash of their bytes, read and decoded late."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from snellen.core.errors import MediaError
from snellen.core.image_headers import has_end_marker, has_valid_header
from snellen.core.limits import DEFAULT_LIMITS, raising_advice

if TYPE_CHECKING:
    from PIL.Image import Image as Picture
    from PIL.ImageFile import ImageFile

MediaKind = Literal["image", "video", "audio"]
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
"""Of pictures that are read, as Pillow calls them; its JPEG has also those of several pictures
(MPO). Not EPS, for which it would run Ghostscript."""
MAX_PIXELS = DEFAULT_LIMITS.megapixels * 1_000_000

_PILLOW_LOCK = Lock()
"""While a picture is opened, Pillow's own limit, which is one for the process, is off."""


class Source(Protocol):
    """Where the original bytes of one medium are. Picklable, so that workers can read it."""

    def read(self) -> bytes:
        """The original bytes, never re-encoded. Raises MediaError."""
        ...


class InlineSource(Struct, frozen=True, gc=False):
    """Bytes already in memory."""

    data: bytes

    def read(self) -> bytes:
        return self.data


class FileSource(Struct, frozen=True, gc=False):
    """A file of its own."""

    path: str

    def read(self) -> bytes:
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise MediaError(f"cannot read {self.path}: {error.strerror or error}") from error


def digest_bytes(data: bytes) -> str:
    """SHA-256 of the original bytes, in hex: the name of a medium everywhere in Snellen."""
    return hashlib.sha256(data).hexdigest()


def decode_image(data: bytes, max_pixels: int = MAX_PIXELS) -> Picture:
    """The picture in RGB, turned upright by its EXIF orientation; of an animation, its first
    frame. Raises MediaError, also for one of more pixels."""
    from PIL import ImageOps

    try:
        with _open_image(data, max_pixels) as image:
            # In place: most pictures are upright, and would only be copied.
            ImageOps.exif_transpose(image, in_place=True)
            return image.convert("RGB")
    except _decode_errors() as error:
        raise MediaError(f"the image cannot be decoded: {_reason(error)}") from error


def check_image(data: bytes, max_pixels: int = MAX_PIXELS) -> None:
    """Open a picture's header, and decode one that seems to be cut short. Raises MediaError when
    it is no picture, has more pixels, or ends before its time."""
    if has_valid_header(data, max_pixels) and has_end_marker(data):
        return
    try:
        with _open_image(data, max_pixels) as image:
            if not has_end_marker(data):
                image.load()
    except _decode_errors() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def image_size(data: bytes, max_pixels: int = MAX_PIXELS) -> tuple[int, int]:
    """Width and height as the header gives them. Raises MediaError."""
    try:
        with _open_image(data, max_pixels) as image:
            width, height = image.size
            return width, height
    except _decode_errors() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def _open_image(data: bytes, max_pixels: int) -> ImageFile:
    """A picture whose header is read. Raises what `_decode_errors` names."""
    from PIL import Image

    with _PILLOW_LOCK:
        # Pillow warns above one number of pixels and refuses above another; here there is one
        # limit, which the user can raise.
        before, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            image = Image.open(io.BytesIO(data), formats=_formats())
        finally:
            Image.MAX_IMAGE_PIXELS = before
    if image.width * image.height > max_pixels:
        size = f"{image.width:,} x {image.height:,}"
        image.close()
        raise MediaError(
            f"the image has {size} pixels, more than {max_pixels / 1e6:g} million; "
            f"{raising_advice('megapixels')}"
        )
    return image


@cache
def _formats() -> tuple[str, ...]:
    """Those of `FORMATS` that this Pillow was built with."""
    from PIL import Image

    Image.preinit()
    if any(name not in Image.OPEN for name in FORMATS):
        Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def _decode_errors() -> tuple[type[Exception], ...]:
    """What Pillow raises for damaged pictures, most of it in one format or another."""
    from PIL import Image

    return (
        OSError, ValueError, SyntaxError, ArithmeticError, AttributeError, EOFError, LookupError,
        MemoryError, RuntimeError, TypeError, struct.error, zlib.error,
        Image.DecompressionBombError, Image.DecompressionBombWarning,
    )  # fmt: skip


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "its bytes are no PNG, JPEG, WebP or other known format"
    return str(error) or type(error).__name__
