"""The headers of the two commonest kinds of picture, read without an image library.

A picture that is fine here need not be opened to know that it is one; what these do not vouch
for is not bad, but has to be opened.
"""

from __future__ import annotations

_PNG = b"\x89PNG\r\n\x1a\n\x00\x00\x00\x0dIHDR"
_MOST = 50_000_000
"""Pixels up to which nobody takes a picture for a decompression bomb."""
_NO_FRAME = frozenset({0xC4, 0xC8, 0xCC})
"""Between the markers of frames (ISO/IEC 10918-1, table B.1): tables, and one that is reserved."""


def well_headed(data: bytes) -> bool:
    """Whether these are the bytes of a PNG or JPEG whose header gives a sensible size."""
    size = _jpeg_size(data) if data.startswith(b"\xff\xd8\xff") else _png_size(data)
    return size is not None and 0 < size[0] * size[1] <= _MOST


def _png_size(data: bytes) -> tuple[int, int] | None:
    if not data.startswith(_PNG) or len(data) < 33:
        return None
    return int.from_bytes(data[16:20], "big"), int.from_bytes(data[20:24], "big")


def _jpeg_size(data: bytes) -> tuple[int, int] | None:
    """Width and height from the frame header, which the segments before it lead to."""
    at = 2
    while at + 9 < len(data) and data[at] == 0xFF:
        marker = data[at + 1]
        if 0xC0 <= marker <= 0xCF and marker not in _NO_FRAME:
            high = int.from_bytes(data[at + 5 : at + 7], "big")
            return int.from_bytes(data[at + 7 : at + 9], "big"), high
        length = int.from_bytes(data[at + 2 : at + 4], "big")
        if length < 2 or not 0xC0 <= marker <= 0xFE:
            return None
        at += 2 + length
    return None
