"""Images and other media: named by the hash of their bytes, read and decoded late."""

from __future__ import annotations

import hashlib
import io
import struct
import zlib
from functools import cache
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Literal, NamedTuple, Protocol

import msgspec
from msgspec import Struct

from snellen.core.errors import MediaError
from snellen.core.limits import DEFAULT_LIMITS, raising_advice

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage
    from PIL.ImageFile import ImageFile


MediaKind = Literal["image", "video", "audio"]
FORMATS = ("PNG", "JPEG", "WEBP", "GIF", "BMP", "TIFF", "PPM", "JPEG2000", "AVIF")
"""Image formats that are read, by Pillow's names; its JPEG includes MPO (several images). EPS is
left out because Pillow would run Ghostscript for it."""
MAX_PIXELS = DEFAULT_LIMITS.megapixels * 1_000_000

_PILLOW_LOCK = Lock()
"""Held while an image is opened: Pillow's own limit, one for the process, is off then."""
_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n"
_SCAN = 0xDA
"""Marker of a JPEG scan (ISO/IEC 10918-1, table B.1)."""
_ANY_LENGTH = (0xC4, 0xDD, 0xFE)
"""Markers of Huffman tables, restart intervals and comments, which Pillow opens as they are."""
_ORIENTATION, _FIRST_TURNED = 0x0112, 5
"""EXIF's tag of the orientation, whose values from this one on lay the picture on its side."""
_FRAMES = (0xC0, 0xC1, 0xC2)
"""Markers of baseline, extended and progressive JPEG frames."""


class Source(Protocol):
    """Location of the original bytes of one medium. Picklable, so that workers can read it."""

    def read(self) -> bytes:
        """The original bytes, never re-encoded. Raises MediaError."""
        ...


class InlineSource(Struct, frozen=True, gc=False):
    """Bytes in memory."""

    data: bytes
    base64: bytes = b""
    """The same in canonical base64, if they were read from that; servers get it as it is."""

    def read(self) -> bytes:
        return self.data


class FileSource(Struct, frozen=True, gc=False):
    """A file that holds one medium."""

    path: str

    def read(self) -> bytes:
        try:
            return Path(self.path).read_bytes()
        except OSError as error:
            raise MediaError(f"cannot read {self.path}: {error.strerror or error}") from error


def digest_bytes(data: bytes) -> str:
    """SHA-256 of the original bytes, in hex: how Snellen names a medium."""
    return hashlib.sha256(data).hexdigest()


def decode_image(data: bytes, max_pixels: int = MAX_PIXELS) -> PILImage:
    """Decode an image to RGB, upright by its EXIF orientation; of an animation, the first frame.

    Raises MediaError for bytes that are no image or more than `max_pixels` pixels.
    """
    from PIL import ImageOps

    try:
        with open_image(data, max_pixels) as image:
            # In place: most images are upright, and would only be copied.
            ImageOps.exif_transpose(image, in_place=True)
            return to_rgb(image)
    except decode_errors() as error:
        raise MediaError(f"the image cannot be decoded: {_reason(error)}") from error


def to_rgb(image: PILImage) -> PILImage:
    """Convert an image to RGB. Grey values of 16 bits are scaled to 8; Pillow would cut them off at
    255, which leaves a white image. The mode "I" does not say how many bits it holds: the fewest of
    8, 16 and 32 that hold its largest value."""
    if image.mode.startswith("I"):
        largest = _extrema(image)[1] if image.mode == "I" else 65535
        scale = 255 / next(top for top in (255, 65535, 2**31 - 1) if largest <= top)
        image = image.convert("I").point(lambda value: value * scale + 0.0).convert("L")
    return image.convert("RGB")


def _extrema(image: PILImage) -> tuple[float, float]:
    """Lowest and highest value of an image of one channel."""
    low, high = image.getextrema()
    assert isinstance(low, int | float)
    assert isinstance(high, int | float)
    return low, high


def check_image(data: bytes, max_pixels: int = MAX_PIXELS) -> None:
    """Read an image's header, and decode the pixels only if its end marker is missing.

    Raises MediaError for bytes that are no image, have more than `max_pixels` pixels, or were cut
    short.
    """
    header = _jpeg_header(data) if data.startswith(_JPEG) else None
    if header is not None and 0 < header.pixels <= max_pixels and header.ends(data):
        return
    try:
        with open_image(data, max_pixels) as image:
            if not has_end_marker(data):
                image.load()
    except decode_errors() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def has_end_marker(data: bytes) -> bool:
    """Whether a PNG, JPEG or WebP has its end marker, or the length that its header gives.

    False for a file that was cut short and for other formats; damage in the middle is not seen.
    """
    if data.startswith(_JPEG):
        header = _jpeg_header(data)
        return header is not None and header.ends(data)
    if data.startswith(_PNG):
        return data.rfind(b"IEND", len(_PNG)) >= 0
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return False


class _JpegHeader(NamedTuple):
    """What comes before a JPEG's first scan."""

    scan: int
    """Offset of the scan."""
    pixels: int
    """Width times height; 0 if only Pillow can tell whether the image can be opened."""

    def ends(self, data: bytes) -> bool:
        """Whether there is an end marker. An embedded thumbnail has one of its own, in a segment
        before the scan; within a scan, FF is only followed by 00 or a restart number."""
        return data.rfind(b"\xff\xd9", self.scan) >= 0


def _jpeg_header(data: bytes) -> _JpegHeader | None:
    """Read the segments before the first scan, of which each gives its length; None if one is
    damaged or the scan is missing. Takes a tenth of the time that Pillow takes to open it."""
    offset, pixels, usual = 2, 0, True
    while offset + 4 <= len(data) and data[offset] == 0xFF:
        marker = data[offset + 1]
        end = offset + 2 + (data[offset + 2] << 8) + data[offset + 3]
        if end < offset + 4 or not 0xC0 <= marker <= 0xFE or end > len(data):
            return None
        if marker == _SCAN:
            return _JpegHeader(offset, pixels if usual else 0)
        if usual and marker not in _ANY_LENGTH:
            segment = data[offset + 4 : end]
            if marker in _FRAMES and not pixels:
                usual = len(segment) > 5 and (segment[0], len(segment)) == (8, 6 + 3 * segment[5])
                usual = usual and segment[5] in (1, 3, 4)
                pixels = int.from_bytes(segment[1:3], "big") * int.from_bytes(segment[3:5], "big")
            else:
                usual = _is_usual_segment(marker, segment)
        offset = end
    return None


def _is_usual_segment(marker: int, segment: bytes) -> bool:
    """Whether Pillow opens a JPEG with this segment whatever the others are. It interprets EXIF,
    the resources of Photoshop and the indexes of several images, which are left to it."""
    if marker == 0xDB:  # quantisation tables, of 64 bytes or 64 words
        while segment and len(segment) >= (size := 65 if segment[0] < 16 else 129):
            segment = segment[size:]
        return not segment
    if marker in (0xE0, 0xEE):  # JFIF, Adobe
        return len(segment) >= 7
    return marker == 0xE2 and segment.startswith(b"ICC_PROFILE\0") and len(segment) > 13


class ImageHeader(NamedTuple):
    """What an image's header says: its stored size in pixels, and its format by Pillow's name."""

    width: int
    height: int
    format: str


def pixel_digest(image: PILImage) -> str:
    """SHA-256 of an image's size and RGB pixels, whatever file it was in."""
    pixels = to_rgb(image)
    size = f"{pixels.width} {pixels.height} ".encode()
    return hashlib.sha256(size + pixels.tobytes()).hexdigest()


def image_header(data: bytes, max_pixels: int = MAX_PIXELS) -> ImageHeader:
    """Read an image's header; for most formats the beginning of the file is enough. Raises
    MediaError."""
    try:
        with open_image(data, max_pixels) as image:
            return ImageHeader(image.width, image.height, image.format or "")
    except decode_errors() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def image_size(data: bytes, max_pixels: int = MAX_PIXELS) -> tuple[int, int]:
    """Width and height in pixels, from the header. Raises MediaError."""
    header = image_header(data, max_pixels)
    return header.width, header.height


def upright_size(data: bytes, max_pixels: int = MAX_PIXELS) -> tuple[int, int]:
    """Width and height in pixels as `decode_image` gives them, upright by the EXIF orientation, from
    the header. Raises MediaError."""
    try:
        with open_image(data, max_pixels) as image:
            is_turned = image.getexif().get(_ORIENTATION, 1) >= _FIRST_TURNED
            return (image.height, image.width) if is_turned else image.size
    except decode_errors() as error:
        raise MediaError(f"the image cannot be opened: {_reason(error)}") from error


def open_image(data: bytes, max_pixels: int) -> ImageFile:
    """Open an image and read its header. Raises MediaError and what `decode_errors` names."""
    from PIL import Image

    with _PILLOW_LOCK:
        # Pillow warns above one number of pixels and fails above another. Here there is one limit,
        # which users can raise.
        own_limit, Image.MAX_IMAGE_PIXELS = Image.MAX_IMAGE_PIXELS, None
        try:
            image = Image.open(io.BytesIO(data), formats=_formats())
        finally:
            Image.MAX_IMAGE_PIXELS = own_limit
    if image.width * image.height > max_pixels:
        size = f"{image.width:,} x {image.height:,}"
        image.close()
        raise MediaError(
            f"the image has {size} pixels, more than {max_pixels / 1e6:g} million; {raising_advice('megapixels')}"
        )
    return image


@cache
def _formats() -> tuple[str, ...]:
    """The entries of `FORMATS` that this Pillow was built with."""
    from PIL import Image

    Image.preinit()
    if any(name not in Image.OPEN for name in FORMATS):
        Image.init()
    return tuple(name for name in FORMATS if name in Image.OPEN)


def decode_errors() -> tuple[type[Exception], ...]:
    """The exceptions that Pillow raises for damaged images, across its formats."""
    from PIL import Image

    return (
        OSError,
        ValueError,
        SyntaxError,
        ArithmeticError,
        AttributeError,
        EOFError,
        LookupError,
        MemoryError,
        RuntimeError,
        TypeError,
        struct.error,
        zlib.error,
        Image.DecompressionBombError,
        Image.DecompressionBombWarning,
    )


def _reason(error: Exception) -> str:
    from PIL import UnidentifiedImageError

    if isinstance(error, UnidentifiedImageError):
        return "its bytes are no PNG, JPEG, WebP or other known format"
    return str(error) or type(error).__name__


_MARK = b"snellen clip 1\n"


class Clip(Struct, frozen=True):
    """Sampled frames, in order of time."""

    frames: tuple[bytes, ...]
    """Encoded images, upright."""
    times: tuple[float, ...]
    """When each was taken, in seconds from the beginning of the video."""

    @property
    def duration(self) -> float:
        """Seconds that the frames stand for: each as long as the mean distance to the next, a
        single frame for one second."""
        if len(self.times) < 2:
            return 1.0
        return (self.times[-1] - self.times[0]) * len(self.times) / (len(self.times) - 1) or 1.0


def encode_clip(clip: Clip) -> bytes:
    """The bytes of a clip as a medium."""
    return _MARK + msgspec.msgpack.encode(clip)


def decode_clip(data: bytes) -> Clip | None:
    """The clip of a medium's bytes; None for any other medium. Raises MediaError."""
    if not data.startswith(_MARK):
        return None
    try:
        clip = msgspec.msgpack.decode(data[len(_MARK) :], type=Clip)
    except msgspec.DecodeError as error:
        raise MediaError(f"the frames of a video cannot be read: {error}") from error
    if not clip.frames or len(clip.frames) != len(clip.times):
        raise MediaError("the frames of a video do not come with a time each")
    return clip
