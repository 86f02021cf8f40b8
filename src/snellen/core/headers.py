"""The headers of the two commonest kinds of picture, read without an image library.

A picture that is fine here need not be opened to know that it is one; what these do not vouch
for is not bad, but has to be opened.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator

_JPEG = b"\xff\xd8\xff"
_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
_DEPTHS = {0: (1, 2, 4, 8, 16), 2: (8, 16), 3: (1, 2, 4, 8), 4: (8, 16), 6: (8, 16)}
"""Bits that a sample may have, by colour type (PNG, third edition, table 8)."""
_MOST = 50_000_000
"""Pixels up to which nobody takes a picture for a decompression bomb."""
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})
"""Between the markers of frames (ISO/IEC 10918-1, table B.1): tables, and one that is reserved."""
_SCAN = 0xDA
_COMPONENTS = frozenset({1, 3, 4})


def well_headed(data: bytes, most: int = _MOST) -> bool:
    """Whether these are the bytes of a PNG or JPEG whose header, up to where the pixels begin,
    is whole and gives a sensible size of at most `most` pixels."""
    size = _jpeg_size(data) if data.startswith(_JPEG) else _png_size(data)
    return size is not None and 0 < size[0] * size[1] <= min(most, _MOST)


def well_ended(data: bytes) -> bool:
    """Whether a PNG, JPEG or WebP has the mark of its end, or the length it says. Of one that was
    cut short this is false; what is damaged in its midst is not seen."""
    if data.startswith(_JPEG):
        # Within a scan, FF is followed by 00 or the number of a restart; a thumbnail, which has
        # an end of its own, stands in a segment before the first scan.
        scan = _jpeg_scan(data)
        return scan is not None and data.rfind(b"\xff\xd9", scan) >= 0
    if data.startswith(_PNG):
        return data.rfind(b"IEND", len(_PNG)) >= 0
    if data.startswith(b"RIFF") and data[8:12] == b"WEBP":
        return len(data) >= 8 + int.from_bytes(data[4:8], "little")
    return False


def _png_size(data: bytes) -> tuple[int, int] | None:
    """Width and height, where the first chunk is sound and leads to the data."""
    if not data.startswith(_PNG) or zlib.crc32(data[12:29]) != int.from_bytes(data[29:33], "big"):
        return None
    depth, colour, *rest = data[24:29]
    if depth not in _DEPTHS.get(colour, ()) or rest not in ([0, 0, 0], [0, 0, 1]):
        return None
    at = 33
    while at + 8 <= len(data):
        if data[at + 4 : at + 8] == b"IDAT":
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        at += 12 + int.from_bytes(data[at : at + 4], "big")
    return None


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from the frame header, where segments lead over it to the first scan."""
    size = None
    for at, marker, _ in _jpeg_segments(data):
        if marker == _SCAN:
            return size
        if marker <= 0xCF and marker not in _NO_FRAME:
            frame = data[at + 4 : at + 10]
            if len(frame) < 6 or frame[0] != 8 or frame[5] not in _COMPONENTS:
                return None
            size = int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big")
    return None


def _jpeg_scan(data: bytes) -> int | None:
    """Where the first scan begins."""
    found = (at for at, marker, _ in _jpeg_segments(data) if marker == _SCAN)
    return next(found, None)


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Place, marker and length of the segments up to the first scan, as far as they are sound."""
    at = 2
    while at + 4 <= len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if length < 2 or not 0xC0 <= marker <= 0xFE or at + 2 + length > len(data):
            return
        yield at, marker, length
        at += 2 + length
