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
_MAX_PIXELS = 50_000_000
"""Pixels up to which nobody takes a picture for a decompression bomb."""
_NOT_FRAMES = frozenset({0xC4, 0xC8, 0xCC})
"""Between the markers of frames (ISO/IEC 10918-1, table B.1): tables, and one that is reserved."""
_SCAN = 0xDA
_TABLES = 0xDB
_COMPONENTS = frozenset({1, 3, 4})


def has_valid_header(data: bytes, max_pixels: int = _MAX_PIXELS) -> bool:
    """Whether these are the bytes of a PNG or JPEG whose header, up to where the pixels begin,
    is whole and gives a sensible size of at most `max_pixels` pixels."""
    size = _jpeg_size(data) if data.startswith(_JPEG) else _png_size(data)
    return size is not None and 0 < size[0] * size[1] <= min(max_pixels, _MAX_PIXELS)


def has_end_marker(data: bytes) -> bool:
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
    """Width and height, where the chunks before the data are sound."""
    if not data.startswith(_PNG) or not _is_valid_chunk(data, 8, 13):
        return None
    depth, colour, *remaining = data[24:29]
    if depth not in _DEPTHS.get(colour, ()) or remaining not in ([0, 0, 0], [0, 0, 1]):
        return None
    offset = 33
    while offset + 8 <= len(data):
        if data[offset + 4 : offset + 8] == b"IDAT":
            return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")
        length = int.from_bytes(data[offset : offset + 4], "big")
        if not data[offset + 4 : offset + 8].isalpha() or not _is_valid_chunk(data, offset, length):
            return None
        offset += 12 + length
    return None


def _is_valid_chunk(data: bytes, offset: int, length: int) -> bool:
    """Whether a chunk of PNG, `length` bytes of data at `offset`, is there and has its checksum."""
    end = offset + 8 + length
    checksum = int.from_bytes(data[end : end + 4], "big")
    return end + 4 <= len(data) and zlib.crc32(memoryview(data)[offset + 4 : end]) == checksum


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from the frame header, where segments lead over it to the first scan."""
    size = None
    for offset, marker, length in _jpeg_segments(data):
        if marker == _SCAN:
            return size
        if marker == _TABLES and not _are_valid_tables(data[offset + 4 : offset + 2 + length]):
            return None
        if marker <= 0xCF and marker not in _NOT_FRAMES:
            frame = data[offset + 4 : offset + 10]
            if len(frame) < 6 or frame[0] != 8 or frame[5] not in _COMPONENTS:
                return None
            size = int.from_bytes(frame[3:5], "big"), int.from_bytes(frame[1:3], "big")
    return None


def _are_valid_tables(segment: bytes) -> bool:
    """Whether quantisation tables fill a segment: 64 numbers of one byte or two after a byte that
    says which, and for which place (ISO/IEC 10918-1, B.2.4.1)."""
    offset = 0
    while offset < len(segment):
        precision, slot = divmod(segment[offset], 16)
        if precision > 1 or slot > 3:
            return False
        offset += 1 + 64 * (1 + precision)
    return offset == len(segment)


def _jpeg_scan(data: bytes) -> int | None:
    """Where the first scan begins."""
    offsets = (at for at, marker, _ in _jpeg_segments(data) if marker == _SCAN)
    return next(offsets, None)


def _jpeg_segments(data: bytes) -> Iterator[tuple[int, int, int]]:
    """Place, marker and length of the segments up to the first scan, as far as they are sound."""
    offset = 2
    while offset + 4 <= len(data) and data[offset] == 0xFF:
        marker = data[offset + 1]
        length = int.from_bytes(data[offset + 2 : offset + 4], "big")
        if length < 2 or not 0xC0 <= marker <= 0xFE or offset + 2 + length > len(data):
            return
        yield offset, marker, length
        offset += 2 + length
