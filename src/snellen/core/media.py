"""Pictures and other media: named by the hash of their bytes, read and decoded late."""

from __future__ import annotations

import hashlib
import io
from pathlib import Path
from typing import TYPE_CHECKING, Literal, Protocol

from msgspec import Struct

from snellen.core.errors import MediaError
from snellen.core.headers import well_headed

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

MediaKind = Literal["image", "video", "audio"]


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


def decode_image(data: bytes) -> Picture:
    """The picture in RGB, turned upright by its EXIF orientation. Raises MediaError."""
    from PIL import Image, ImageOps

    try:
        with Image.open(io.BytesIO(data)) as image:
            # In place: most pictures are upright, and would only be copied.
            ImageOps.exif_transpose(image, in_place=True)
            return image.convert("RGB")
    except _undecodable() as error:
        raise MediaError(f"the image cannot be decoded: {_reason(error)}") from error


def check_image(data: bytes) -> None:
    """Open a picture's header without decoding it. Raises MediaError when it is no picture."""
    if well_headed(data):
        return
    from PIL import Image

    try:
        with Image.open(io.BytesIO(data)):
            pass
    except _undecodable() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def _undecodable() -> tuple[type[Exception], ...]:
    from PIL import Image

    return (OSError, ValueError, SyntaxError, Image.DecompressionBombError)


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "its bytes are no PNG, JPEG, WebP or other known format"
    return str(error)
