"""Facts of images and videos from their headers, without decoding them."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import MediaError
from snellen.core.media import FileSource, ImageHeader, image_header
from snellen.core.sample import MediaRef
from snellen.data.media.video import video_facts
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.settings import max_image_pixels

_HEADER_BYTES = 1 << 16
"""Enough for the header of nearly every image; a file whose header is longer is read whole."""


class ImageFacts(NamedTuple):
    """An image as it is stored: before its EXIF orientation."""

    width: int
    height: int
    format: str
    """Pillow's name, e.g. `JPEG`."""
    size: int
    """Bytes."""


class StoredVideo(NamedTuple):
    """A video by its header; of a folder of frames only the number and size of its files, and the
    width and height of the first."""

    seconds: float | None
    fps: float | None
    frames: int
    width: int
    height: int
    size: int
    """Bytes."""


def read_image_facts(ref: MediaRef) -> ImageFacts:
    """Read an image's header. Raises MediaError."""
    source = ref.source
    if not isinstance(source, FileSource):
        data = source.read()
        return ImageFacts(*image_header(data, max_image_pixels()), len(data))
    path = Path(source.path)
    try:
        size = path.stat().st_size
        with path.open("rb") as file:
            data = file.read(_HEADER_BYTES)
    except OSError as error:
        raise MediaError(f"cannot read {path}: {error.strerror or error}") from error
    return ImageFacts(*_header_of_part(source, data, size), size)


def _header_of_part(source: FileSource, data: bytes, size: int) -> ImageHeader:
    if size > len(data):
        try:
            return image_header(data, max_image_pixels())
        except MediaError:
            # Some formats keep their header at the end, and some are only read whole.
            data = source.read()
    return image_header(data, max_image_pixels())


def read_video_facts(ref: MediaRef) -> StoredVideo:
    """Read a video's header. Raises MediaError, MissingExtra."""
    source = ref.source
    if isinstance(source, FrameFolder):
        sizes = [read_image_facts(frame) for frame in source.frames[:1]]
        total = sum(_file_size(frame) for frame in source.frames)
        width, height = (sizes[0].width, sizes[0].height) if sizes else (0, 0)
        return StoredVideo(None, None, len(source.frames), width, height, total)
    if isinstance(source, VideoFile | FileSource):
        facts = video_facts(source.path, source.path)
        size = _file_size(ref)
    else:
        data = source.read()
        facts, size = video_facts(data, "a video inside the data file"), len(data)
    seconds = facts.duration
    if isinstance(source, VideoFile):
        end = min(seconds, seconds if source.end is None else source.end)
        seconds = max(0.0, end - (source.start or 0.0))
    frames = round(seconds * facts.fps)
    return StoredVideo(seconds, facts.fps, frames, facts.width, facts.height, size)


def _file_size(ref: MediaRef) -> int:
    source = ref.source
    if not isinstance(source, VideoFile | FileSource):
        return len(source.read())
    try:
        return Path(source.path).stat().st_size
    except OSError as error:
        raise MediaError(f"cannot read {source.path}: {error.strerror or error}") from error
