"""Small copies of a run's images, stored with the run, so that its page shows what the model
saw."""

from __future__ import annotations

import io
import os
import re
import stat
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import MediaError, storage_errors
from snellen.core.media import Source, decode_image
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

MEDIA_FOLDER = "media"
MAX_SIDE = 320
MAX_BYTES = 20_000
QUALITIES = (85, 75, 60, 45, 30)

_JPEG = b"\xff\xd8\xff"
_MAX_TRIED_SIDE = 1 << 20
"""The largest file, in bytes, that is read as a thumbnail."""
_digest = re.compile(r"[0-9a-f]{64}")


def thumbnail_path(folder: Path, digest: str) -> Path | None:
    """The path of a medium's thumbnail in a run folder; None if `digest` is not a digest."""
    if not _digest.fullmatch(digest):
        return None
    return folder / MEDIA_FOLDER / f"{digest}.jpg"


def read_thumbnail(folder: Path, digest: str) -> bytes | None:
    """Read a thumbnail of a run folder; None if it is missing or not a JPEG file.

    Run folders may come from other people: links and devices are not read, so that no other file of
    this machine gets into a page.
    """
    path = thumbnail_path(folder, digest)
    if path is None:
        return None
    # Do not follow links or wait for pipes, on systems that have these flags.
    flags = os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0)
    try:
        if not stat.S_ISREG(path.lstat().st_mode):
            return None
        with open(os.open(path, flags | getattr(os, "O_BINARY", 0)), "rb") as file:  # noqa: PTH123
            if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
                return None
            data = file.read(_MAX_TRIED_SIDE + 1)
    except OSError:
        return None
    return data if data.startswith(_JPEG) and len(data) <= _MAX_TRIED_SIDE else None


def write_thumbnails(folder: Path, media: Iterable[tuple[str, Source]]) -> int:
    """Write `media/<digest>.jpg` for each medium that has no thumbnail, and return how many were
    written. Media that cannot be read or decoded are skipped: the sample's failure says why.

    Raises StorageError if the folder cannot be written.
    """
    count = 0
    for digest, source in media:
        target = thumbnail_path(folder, digest)
        if target is None or target.exists():
            continue
        try:
            data = thumbnail(decode_image(source.read(), max_image_pixels()))
        except MediaError:
            continue
        with storage_errors("write", target):
            target.parent.mkdir(exist_ok=True)
            with atomic_file(target) as part:
                part.write_bytes(data)
        count += 1
    return count


def thumbnail(image: PILImage) -> bytes:
    """A JPEG of at most `MAX_BYTES` whose longer side has at most `MAX_SIDE` pixels. Quality is
    reduced before size; a small image keeps its size."""
    side = MAX_SIDE
    while True:
        small = image.copy()
        small.thumbnail((side, side))
        for quality in QUALITIES:
            data = io.BytesIO()
            small.save(data, "JPEG", quality=quality, optimize=True)
            if data.tell() <= MAX_BYTES:
                return data.getvalue()
        side = side * 3 // 4
