"""Files that the hub gives out: data with their real names, pictures and videos by their digest.

A browser shows a medium only in a format that can run nothing, by its content and never by a name;
everything else is a download. Videos are read in parts, as browsers ask for them.
"""

from __future__ import annotations

import io
import re
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from typing import Any
from urllib.parse import quote

from fastapi import HTTPException, Response
from fastapi.responses import StreamingResponse

from snellen_hub.database.tables import HostedBenchmark, HostedMedium
from snellen_hub.storage import Storage

_BLOCK = 1_000_000
"""Bytes that are read from the storage at once."""
_RANGE = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")
_YEAR = 365 * 24 * 3600
_ZIP_TIME = (1980, 1, 1, 0, 0, 0)
"""Of every file in an archive, so that the same data give the same bytes."""
_MEDIUM_HEADERS = {
    "Accept-Ranges": "bytes",
    "Cache-Control": f"private, max-age={_YEAR}, immutable",
    # Should a browser take it for a page after all, it may load and run nothing.
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Cross-Origin-Resource-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}


def send_medium(storage: Storage, medium: HostedMedium, asked: str | None) -> Response:
    """A picture or video; `asked` is the header Range of the request. Raises 416 for a part that
    is not there, and StorageError."""
    headers = {**_MEDIUM_HEADERS, "ETag": f'"{medium.digest}"'}
    if not medium.content_type:
        headers["Content-Disposition"] = f'attachment; filename="{medium.digest[:16]}"'
    media_type = medium.content_type or "application/octet-stream"
    part = _asked_part(asked, medium.size)
    if part is None:
        headers["Content-Length"] = str(medium.size)
        blocks = _blocks(storage, medium.digest, 0, medium.size)
        return StreamingResponse(blocks, 200, headers, media_type)
    start, end = part
    headers["Content-Range"] = f"bytes {start}-{end - 1}/{medium.size}"
    headers["Content-Length"] = str(end - start)
    return StreamingResponse(_blocks(storage, medium.digest, start, end), 206, headers, media_type)


def send_data(storage: Storage, row: HostedBenchmark, media: Sequence[HostedMedium]) -> Response:
    """The data of a benchmark under their own name; with the pictures beside them, if there are
    any, as a zip. Those of a hidden split without answers. Raises 404 if they are not offered, and
    StorageError."""
    if not row.offers_questions:
        raise HTTPException(404, f"the data of {row.name} are not offered for download")
    is_public_copy = row.public_data is not None
    key = row.public_data or row.data
    name = (row.public_name if is_public_copy else row.data_name) or f"{row.name}.data"
    beside = [medium for medium in media if medium.paths]
    if not beside:
        return Response(storage.get(key), media_type="application/octet-stream", headers=_as_file(name))
    return StreamingResponse(_zip(storage, name, key, beside), 200, _as_file(f"{row.name}.zip"), "application/zip")


def _as_file(name: str) -> dict[str, str]:
    """Headers by which a browser saves a file under its name (RFC 6266)."""
    name = PurePosixPath(name).name
    plain = re.sub(r"[^A-Za-z0-9._-]", "_", name)
    return {"Content-Disposition": (f"attachment; filename=\"{plain}\"; filename*=UTF-8''{quote(name, safe='')}")}


def _asked_part(asked: str | None, size: int) -> tuple[int, int] | None:
    """Start and end of the part that a request asks for; None for all of it."""
    match = _RANGE.fullmatch((asked or "").strip())
    if match is None or not (match[1] or match[2]):
        # Several parts at once, or another unit: the standard allows to send everything.
        return None
    if match[1]:
        start, end = int(match[1]), int(match[2]) + 1 if match[2] else size
    else:
        start, end = max(0, size - int(match[2])), size
    end = min(end, size)
    if start >= end:
        raise HTTPException(416, f"there are {size:,} bytes", {"Content-Range": f"bytes */{size}"})
    return start, end


def _blocks(storage: Storage, key: str, start: int, end: int) -> Iterator[bytes]:
    while start < end:
        data = storage.get_range(key, start, min(_BLOCK, end - start))
        if not data:
            return
        yield data
        start += len(data)


class _Outlet(io.RawIOBase):
    """What a zip is written to, piece by piece."""

    def __init__(self) -> None:
        self._pieces: list[bytes] = []

    def write(self, data: Any, /) -> int:
        self._pieces.append(bytes(data))
        return len(self._pieces[-1])

    def take(self) -> bytes:
        """What was written since the last call."""
        data = b"".join(self._pieces)
        self._pieces.clear()
        return data


def _zip(storage: Storage, name: str, key: str, media: Sequence[HostedMedium]) -> Iterator[bytes]:
    """A zip of data and media, uncompressed: pictures are compressed already."""
    outlet = _Outlet()
    with zipfile.ZipFile(outlet, "w") as archive:
        entries = [(PurePosixPath(name).name, key)]
        entries += [(path, medium.digest) for medium in media for path in medium.paths]
        for path, content in entries:
            archive.writestr(zipfile.ZipInfo(path, _ZIP_TIME), storage.get(content))
            yield outlet.take()
    yield outlet.take()
