"""Parse image cells for the row index: where the bytes are, or the name of a file or row."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator

from msgspec import Struct

from snellen.core.media import digest_bytes
from snellen.data.columns import parse_list
from snellen.data.media.sources import DATA_URL, CellLocation, SliceLocation, decode_base64

MAX_REFERENCE_LENGTH = 64
"""VLMEvalKit's convention: an image cell of at most this many characters names another row."""

_IMAGE_SIGNATURES = (b"\x89PNG", b"\xff\xd8\xff", b"GIF8", b"RIFF", b"BM", b"II*\0", b"MM\0*")
_URL = re.compile(r"[a-z][a-z0-9+.-]*://", re.IGNORECASE)
# Items of a list literal as they stand in the file, where quotes of a quoted cell are doubled.
_LIST_ITEM = re.compile(
    rb"""\s*(?P<quote>""|''|"|')(?P<text>(?:data:[\w.+-]+/[\w.+;=-]+,)?[A-Za-z0-9+/=\s]*)"""
    rb"""(?P=quote)\s*(?:,\s*(?=\])|,|(?=\]))"""
)
_MAX_NAME_LENGTH = 1024
_VIDEO_NAME_ENDS = (".mp4", ".webm", ".mkv", ".avi", ".mov", ".m4v")
"""Ends of names that stand for a video where pictures are listed; a GIF is a picture there."""


class NamedImage(Struct, frozen=True, tag="named", tag_field="type"):
    """The name of an image file, or of another row that has the image."""

    name: str


class NamedVideo(Struct, frozen=True, tag="video", tag_field="type"):
    """The video that cells of a row name."""

    names: tuple[str, ...]
    """Paths to be tried in this order."""
    start: float | None = None
    """Seconds at which the clip begins."""
    end: float | None = None
    subtitles: str = ""
    """The name of the subtitle file, if a column has it."""


class BrokenCell(Struct, frozen=True, tag="broken", tag_field="type"):
    """A cell that cannot be used: `problem` without file and row, `digest` of the raw cell."""

    problem: str
    digest: str


StoredMedium = CellLocation | NamedImage | NamedVideo | BrokenCell


def broken_cell(problem: str, cell: bytes | memoryview) -> BrokenCell:
    return BrokenCell(problem, digest_bytes(bytes(cell)))


def is_file_name(name: str) -> bool:
    return "." in name or "\\" in name


def parse_images(cell: bytes, offset: int) -> list[StoredMedium]:
    """The images of one cell of a text format; `cell` begins at `offset` of the data file.

    `cell` is raw: quotes inside a quoted cell are still doubled.
    """
    head = cell[:_MAX_NAME_LENGTH].lstrip()
    if not head:
        return []
    if head.startswith(b"[") and cell.rstrip().endswith(b"]"):
        return list(_parse_list(cell, offset))
    return [_parse_image(cell, offset)]


def _parse_image(cell: bytes, offset: int) -> StoredMedium:
    if len(cell) <= _MAX_NAME_LENGTH:
        name = parse_name(cell)
        if name:
            return name
    prefix = DATA_URL.match(cell.lstrip()[:128])
    start = (prefix.end() if prefix else 0) + len(cell) - len(cell.lstrip())
    text = cell[start:] if start else cell
    try:
        data = decode_base64(text)
    except ValueError as error:
        return broken_cell(f"the image cell is not base64: {error}", cell)
    return SliceLocation(offset + start, len(text), digest_bytes(data), len(data))


def parse_name(cell: bytes) -> NamedImage | NamedVideo | BrokenCell | None:
    """Parse a short text as the name of a row or file; None if it is a base64 image."""
    text = cell.decode("utf-8", "replace").strip()
    if _URL.match(text):
        return broken_cell(f"images at web addresses are not fetched: {text[:200]}", cell)
    if DATA_URL.match(cell.lstrip()[:128]):
        return None
    if text.lower().endswith(_VIDEO_NAME_ENDS):
        return NamedVideo((text,))
    if len(text) > MAX_REFERENCE_LENGTH:
        return NamedImage(text) if is_file_name(text) else None
    return None if _is_base64_image(cell) else NamedImage(text)


def parse_seconds(value: object) -> float | None:
    """A number of seconds, or the text of one; None if the value is neither, or not finite."""
    try:
        seconds = float(str(value))
    except ValueError:
        return None
    return seconds if math.isfinite(seconds) else None


def _is_base64_image(text: bytes) -> bool:
    try:
        return decode_base64(text).startswith(_IMAGE_SIGNATURES)
    except ValueError:
        return False


def _parse_list(cell: bytes, offset: int) -> Iterator[StoredMedium]:
    spans = _item_spans(cell)
    if spans is not None:
        for start, end in spans:
            yield _parse_image(cell[start:end], offset + start)
        return
    items = parse_list(cell.replace(b'""', b'"').decode("utf-8", "replace")) or parse_list(
        cell.decode("utf-8", "replace")
    )
    if items is None:
        yield broken_cell("the image cell looks like a list but cannot be read as one", cell)
        return
    for item in items:
        yield parse_list_item(str(item))


def parse_list_item(text: str) -> StoredMedium:
    """Parse an item of a list whose offset in the file is unknown: it can only be a name."""
    raw = text.encode()
    name = parse_name(raw) if len(raw) <= _MAX_NAME_LENGTH else None
    return name or broken_cell("an item of the image list cannot be read", raw)


def _item_spans(cell: bytes) -> list[tuple[int, int]] | None:
    """Start and end of each item if all are base64 texts in quotes, else None."""
    position = cell.index(b"[") + 1
    end = cell.rindex(b"]")
    spans: list[tuple[int, int]] = []
    while position < end:
        item = _LIST_ITEM.match(cell, position, end + 1)
        if item is None:
            return None if cell[position:end].strip() else spans
        spans.append(item.span("text"))
        position = item.end()
    return spans
