"""Pictures and videos of hosted data: stored once by the SHA-256 of their bytes, and what browsers
may show of them.

What a file is, is decided by its first bytes, never by its name. Only formats that cannot run
anything are shown in a page; all others, SVG among them, are downloads.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Literal

from snellen.core.errors import MediaError, UsageError
from snellen.core.media import FileSource
from snellen.core.sample import MediaRef
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.models.remote.media import media_type
from snellen_hub.database.tables import HostedMedium
from snellen_hub.samples.content import MediumLink
from snellen_hub.storage import Storage

_MAX_FRAMES = 64
"""Frames of a video in a folder that a page shows."""
DISPLAYABLE_TYPES = frozenset(
    {"image/png", "image/jpeg", "image/gif", "image/webp", "image/bmp", "image/avif", "video/mp4", "video/webm"}
)
"""Formats that a browser may show: pictures and videos that hold no script and no markup."""


class MediaStore:
    """Puts the media of a data file into the storage, each once."""

    def __init__(self, storage: Storage, folder: Path, *, with_inner: bool = True) -> None:
        """`folder` is that of the data file; without `with_inner`, media inside of the data file
        are left there."""
        self._storage = storage
        self._folder = Path(os.path.normpath(folder.absolute()))
        self._with_inner = with_inner
        self._digests: dict[str, str] = {}
        self.media: dict[str, HostedMedium] = {}
        """By digest, of no benchmark yet."""
        self.unreadable = 0
        """Media that could not be read."""

    def link(self, refs: Iterable[MediaRef]) -> tuple[MediumLink, ...]:
        """Store media; returns how a question names them. Raises StorageError, and UsageError for a
        file outside of the data's folder, which no download could hold."""
        return tuple(link for ref in refs for link in self._links(ref))

    def _links(self, ref: MediaRef) -> list[MediumLink]:
        source = ref.source
        if isinstance(source, FrameFolder):
            self._put_subtitles(source.subtitles)
            frames = [link for frame in source.frames for link in self._links(frame)]
            return frames[:_MAX_FRAMES]
        kind: Literal["image", "video"] = "video" if ref.kind == "video" else "image"
        path = source.path if isinstance(source, FileSource | VideoFile) else None
        if path is None and not self._with_inner:
            return []
        # Of a clip, the digest of the reference is that of the part.
        name = path or ref.digest
        if name not in self._digests:
            try:
                self._digests[name] = self._put(source.read(), kind, path)
            except (MediaError, OSError):
                self.unreadable += 1
                self._digests[name] = ""
        start, end = None, None
        if isinstance(source, VideoFile):
            start, end = source.start, source.end
            self._put_subtitles(source.subtitles)
        return [MediumLink(kind, self._digests[name], start, end)]

    def _put_subtitles(self, path: str | None) -> None:
        if path is not None and path not in self._digests:
            self._digests[path] = self._put(Path(path).read_bytes(), "text", path)

    def _put(self, data: bytes, kind: str, path: str | None) -> str:
        place = None if path is None else self._place(path)
        digest = self._storage.put(data)
        if digest not in self.media:
            self.media[digest] = HostedMedium(
                digest=digest, kind=kind, content_type=displayable_type(data), size=len(data), paths=[]
            )
        stored = self.media[digest]
        if place is not None:
            stored.paths = sorted({*stored.paths, place})
        return digest

    def _place(self, path: str) -> str:
        """Where a file stands beside the data file. Raises UsageError."""
        full = Path(os.path.normpath(Path(path).absolute()))
        try:
            return full.relative_to(self._folder).as_posix()
        except ValueError:
            raise UsageError(
                f"{path} is outside of the folder of the data, {self._folder}, so that no download "
                "could hold it; put it there"
            ) from None


def named_media(refs: Iterable[MediaRef]) -> dict[str, list[str]]:
    """The column of a data file that stands for media which are not beside it: names that follow
    from their bytes, so that the same rows share a picture as in the complete data."""
    names = [f"{ref.digest}.png" for ref in refs]
    return {"image_path": names} if names else {}


def displayable_type(data: bytes) -> str:
    """The content type by which a browser may show these bytes; "" if it must not."""
    named = media_type(data[:64])
    return named if named in DISPLAYABLE_TYPES else ""
