"""Samples and pictures as they lie inside a page."""

from __future__ import annotations

import base64
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.core.record import Record
from snellen.report import format as fmt
from snellen.report.page.samples import describe
from snellen.report.page.thumbnails import read_thumbnail

IMAGE_OVERHEAD = 80
"""Bytes around each picture: its digest and punctuation."""


class EmbeddedSamples(NamedTuple):
    """What a page holds of a run's samples."""

    json: str
    """Safe inside a script element."""
    samples: int
    dropped: int
    """Pictures for which there was no room."""


def embed_samples(folder: Path, records: Sequence[Record], max_bytes: int) -> EmbeddedSamples:
    """As many of the chosen samples as fit into `max_bytes` bytes, in order, then as many of their
    pictures as there is room left for."""
    samples: list[msgspec.Raw] = []
    wanted: dict[str, None] = {}
    for record in records:
        text = msgspec.json.encode(describe(record))
        size = len(escape_json(text)) + 1
        if size <= max_bytes:
            samples.append(msgspec.Raw(text))
            wanted |= dict.fromkeys(record.media)
            max_bytes -= size
    pictures: dict[str, str] = {}
    dropped = 0
    for digest in wanted:
        data = thumbnail_base64(folder, digest)
        if len(data) + IMAGE_OVERHEAD > max_bytes:
            dropped += 1
        elif data:
            pictures[digest] = data
            max_bytes -= len(data) + IMAGE_OVERHEAD
    whole = msgspec.json.encode(
        {"samples": samples, "pictures": pictures, "outcomes": fmt.OUTCOME_LABELS}
    )
    return EmbeddedSamples(escape_json(whole).decode(), len(samples), dropped)


def data_urls(folder: Path, digests: Iterable[str]) -> dict[str, str]:
    """The thumbnails a folder has, by digest."""
    found = {digest: thumbnail_base64(folder, digest) for digest in digests}
    return {digest: f"data:image/jpeg;base64,{data}" for digest, data in found.items() if data}


def thumbnail_base64(folder: Path, digest: str) -> str:
    """A thumbnail in base64; empty when the folder has none."""
    return base64.b64encode(read_thumbnail(folder, digest) or b"").decode()


def escape_json(data: bytes) -> bytes:
    """JSON that no HTML parser can take for markup: `<`, `>` and `&` stand in strings only."""
    for sign in (b"<", b">", b"&"):
        data = data.replace(sign, b"\\u%04x" % ord(sign))
    return data
