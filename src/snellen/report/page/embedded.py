"""Samples and thumbnails as JSON inside a page."""

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
from snellen.store.annotations import merge_changes, read_changes

IMAGE_OVERHEAD = 80
"""Bytes around each thumbnail: its digest and punctuation."""


class EmbeddedSamples(NamedTuple):
    """The samples that a page contains."""

    json: str
    """JSON that is safe inside a script element."""
    samples: int
    dropped: int
    """Images that did not fit."""


def embed_samples(folder: Path, records: Sequence[Record], max_bytes: int) -> EmbeddedSamples:
    """Embed as many records, in order, as fit into `max_bytes`, then as many of their images as fit
    into the rest; and what was noted about them, if anything."""
    ids = {record.id for record in records}
    changes = read_changes(folder).changes
    noted = [each for each in merge_changes(changes) if each.sample in ids] if changes else []
    max_bytes -= len(escape_json(msgspec.json.encode(noted)))
    samples: list[msgspec.Raw] = []
    digests: dict[str, None] = {}
    for record in records:
        text = msgspec.json.encode(describe(record))
        size = len(escape_json(text)) + 1
        if size <= max_bytes:
            samples.append(msgspec.Raw(text))
            digests |= dict.fromkeys(record.media)
            max_bytes -= size
    images: dict[str, str] = {}
    dropped = 0
    for digest in digests:
        data = thumbnail_base64(folder, digest)
        if len(data) + IMAGE_OVERHEAD > max_bytes:
            dropped += 1
        elif data:
            images[digest] = data
            max_bytes -= len(data) + IMAGE_OVERHEAD
    encoded = msgspec.json.encode(
        {"samples": samples, "pictures": images, "outcomes": fmt.OUTCOME_LABELS, "annotations": noted}
    )
    return EmbeddedSamples(escape_json(encoded).decode(), len(samples), dropped)


def data_urls(folder: Path, digests: Iterable[str]) -> dict[str, str]:
    """The existing thumbnails of a run folder as data URLs, by digest."""
    thumbnails = {digest: thumbnail_base64(folder, digest) for digest in digests}
    return {digest: f"data:image/jpeg;base64,{data}" for digest, data in thumbnails.items() if data}


def thumbnail_base64(folder: Path, digest: str) -> str:
    """A thumbnail in base64; empty if the folder does not have it."""
    return base64.b64encode(read_thumbnail(folder, digest) or b"").decode()


def escape_json(data: bytes) -> bytes:
    """Escape `<`, `>` and `&`, which occur in strings only, so that no HTML parser takes the JSON
    for markup."""
    for sign in (b"<", b">", b"&"):
        data = data.replace(sign, b"\\u%04x" % ord(sign))
    return data
