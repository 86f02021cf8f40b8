"""Sampled frames of videos, cached on disk by content.

An entry is a folder `frames/<2 hex>/<key>` with a JPEG for each frame and `frames.json`. Its key is
the hash of the video's content and of the complete frame sampling. An entry is published by a
rename, so several processes may build the same one at once. The least recently used entries are
removed when the cache passes its limit; an entry that is missing is built again when one of its
frames is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from snellen.core.errors import MediaError, StorageError
from snellen.core.media import Clip, FileSource, decode_image, digest_bytes, encode_clip
from snellen.core.sample import MediaRef
from snellen.data.media.frame_sampling import FrameSampling, part_times, sample_frames, sample_indices, sample_times
from snellen.data.media.video import VideoInput, frame_times, frames_at, video_facts
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.settings import max_image_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as PILImage

CACHE_FOLDER = "frames"
CACHE_LIMIT = 20 << 30
"""Bytes of all entries together."""
_VERSION = "1"
"""Raise it whenever the same video and sampling would give other frames."""
_LISTING = "frames.json"
_JPEG_QUALITY = 95
_EMBEDDED_NAME = "a video inside the data file"


class _CachedFrame(Struct, frozen=True):
    """One frame of an entry."""

    name: str
    digest: str
    time: float


@dataclass(frozen=True, slots=True)
class VideoClip:
    """A video and how its frames are sampled."""

    source: VideoFile | FrameFolder | None
    """None for a video inside a data file, whose bytes `medium` reads."""
    medium: MediaRef
    sampling: FrameSampling
    cache: Path

    @property
    def name(self) -> str:
        return self.source.path if self.source else _EMBEDDED_NAME

    def key(self) -> str:
        facts = [_VERSION, self.medium.digest, asdict(self.sampling)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FrameSource:
    """One frame in the cache, built again if it is missing or damaged."""

    clip: VideoClip
    index: int
    digest: str

    def read(self) -> bytes:
        for frames in (_cached_frames(self.clip), _build_entry(self.clip)):
            data = _frame_bytes(self.clip, frames, self.index)
            if data is not None and digest_bytes(data) == self.digest:
                return data
        raise MediaError(f"{self.clip.name}: the video was changed after its frames were taken")


@dataclass(frozen=True, slots=True)
class ClipSource:
    """Sampled frames of a video and their times, as one medium."""

    frames: tuple[MediaRef, ...]
    times: tuple[float, ...]

    def read(self) -> bytes:
        return encode_clip(Clip(tuple(ref.source.read() for ref in self.frames), self.times))


class Frame(Struct, frozen=True):
    """A sampled frame; `time` in seconds from the beginning of the video, None if only the frame's
    index is known (a folder of frames)."""

    ref: MediaRef
    time: float | None


def extract_frames(ref: MediaRef, sampling: FrameSampling, cache: Path) -> list[Frame]:
    """The sampled frames of a video, in order of time, from the cache if possible.

    Raises MediaError if the video cannot be decoded, StorageError if the cache cannot be written,
    MissingExtra without PyAV.
    """
    source = ref.source
    if isinstance(source, FrameFolder):
        return [Frame(frame, None) for frame in sample_frames(sampling, source.frames)]
    if isinstance(source, FileSource):
        source = VideoFile(source.path, ref.digest)
    clip = VideoClip(source if isinstance(source, VideoFile) else None, ref, sampling, cache)
    frames = _cached_frames(clip)
    if frames is None:
        frames = _build_entry(clip)
    return [
        Frame(MediaRef(frame.digest, FrameSource(clip, number, frame.digest)), frame.time)
        for number, frame in enumerate(frames)
    ]


def clip_medium(frames: Sequence[Frame], start: float = 0.0) -> MediaRef:
    """Sampled frames as one video, whose times count from `start` seconds on.

    Its digest is that of the frames' digests and times. Raises MediaError if a time is unknown.
    """
    times = tuple(round(frame.time - start, 6) for frame in frames if frame.time is not None)
    if not frames or len(times) != len(frames):
        raise MediaError(
            "the video is a folder of frames, of which it is not known when they were taken; show "
            "them one by one (video=frames)"
        )
    refs = tuple(frame.ref for frame in frames)
    facts = ["clip", [ref.digest for ref in refs], times]
    return MediaRef(digest_bytes(json.dumps(facts).encode()), ClipSource(refs, times), "video")


def frame_time(frame: FrameSource) -> float | None:
    """When a frame was taken, in seconds from the beginning of the video; None if it is not in the
    cache."""
    frames = _cached_frames(frame.clip)
    return frames[frame.index].time if frames and frame.index < len(frames) else None


def video_size(ref: MediaRef) -> tuple[int, int]:
    """Width and height of a video, checking that its first and last frames can be decoded.

    Raises MediaError, MissingExtra.
    """
    source = ref.source
    if isinstance(source, FrameFolder):
        return [decode_image(frame.source.read(), max_image_pixels()).size for frame in source.frames][-1]
    path = source.path if isinstance(source, VideoFile | FileSource) else None
    video: VideoInput = source.read() if path is None else path
    name = _EMBEDDED_NAME if path is None else path
    facts = video_facts(video, name)
    frames = list(frames_at(video, (0.0, facts.duration), name))
    return frames[-1].image.size


def video_fps(media: Sequence[MediaRef]) -> float:
    """Frames of each second of the first video file among media, by its header; 0 if there is none, or if
    it cannot be read."""
    for ref in media:
        source = ref.source.clip.source if isinstance(ref.source, FrameSource) else ref.source
        if isinstance(source, VideoFile):
            try:
                return video_facts(source.path, source.path).fps
            except MediaError:
                return 0.0
    return 0.0


def trim_cache(cache: Path, limit: int = CACHE_LIMIT) -> int:
    """Remove the least recently used entries until all are below `limit` bytes; returns how
    many."""
    entries = []
    for folder in (cache / CACHE_FOLDER).glob("??/*"):
        with suppress(OSError):
            size = sum(path.stat().st_size for path in folder.iterdir())
            entries.append(((folder / _LISTING).stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in entries)
    removed = 0
    for _, size, folder in sorted(entries, key=lambda entry: entry[0]):
        if total <= limit:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
        removed += 1
    return removed


def _entry_folder(clip: VideoClip) -> Path:
    key = clip.key()
    return clip.cache / CACHE_FOLDER / key[:2] / key


def _cached_frames(clip: VideoClip) -> list[_CachedFrame] | None:
    """The frames of an entry, or None if it is incomplete; marks it as used by its modification
    time."""
    listing = _entry_folder(clip) / _LISTING
    try:
        frames = msgspec.json.decode(listing.read_bytes(), type=list[_CachedFrame])
        os.utime(listing)
    except (OSError, msgspec.DecodeError):
        return None
    return frames if all((_entry_folder(clip) / frame.name).is_file() for frame in frames) else None


def _frame_bytes(clip: VideoClip, frames: Sequence[_CachedFrame] | None, index: int) -> bytes | None:
    if frames is None or index >= len(frames):
        return None
    try:
        return (_entry_folder(clip) / frames[index].name).read_bytes()
    except OSError:
        return None


def _build_entry(clip: VideoClip) -> list[_CachedFrame]:
    """Decode the frames into a new entry, one at a time."""
    home = clip.cache / CACHE_FOLDER
    try:
        home.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix="part-", dir=home))
        try:
            frames = []
            video = clip.source.path if isinstance(clip.source, VideoFile) else clip.medium.source.read()
            moments = _clip_times(clip, video)
            for number, decoded in enumerate(frames_at(video, moments, clip.name)):
                data = _encode_jpeg(decoded.image, clip.sampling.edge)
                name = f"{number:05d}.jpg"
                (part / name).write_bytes(data)
                frames.append(_CachedFrame(name, digest_bytes(data), round(decoded.time, 6)))
            (part / _LISTING).write_bytes(msgspec.json.encode(frames))
            _publish(part, _entry_folder(clip))
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"cannot keep frames in {home}: {error.strerror or error}; "
            "make room, or set SNELLEN_CACHE to a folder that can be written"
        ) from error
    _trim_periodically(clip.cache)
    return frames


def _publish(part: Path, folder: Path) -> None:
    """Rename a finished entry into place.

    Another process may have published it first. Then both are equal, unless the existing one is
    damaged, so the existing one is moved away and removed.
    """
    folder.parent.mkdir(parents=True, exist_ok=True)
    with suppress(OSError):
        part.rename(folder)
        return
    old = Path(tempfile.mkdtemp(prefix="old-", dir=folder.parent.parent))
    with suppress(OSError):
        folder.rename(old / folder.name)
    with suppress(OSError):
        part.rename(folder)
    shutil.rmtree(old, ignore_errors=True)


_NEW_ENTRIES = 0
_TRIM_INTERVAL = 256


def _trim_periodically(cache: Path) -> None:
    """Check the cache's size after every 256 new entries."""
    global _NEW_ENTRIES
    _NEW_ENTRIES += 1
    if _NEW_ENTRIES % _TRIM_INTERVAL == 0:
        trim_cache(cache)


def _clip_times(clip: VideoClip, video: VideoInput) -> list[float]:
    """The times to decode, in seconds: by rule, or among the frames' own times if the rule counts
    frames."""
    start = (clip.source.start if clip.source else None) or 0.0
    clip_end = clip.source.end if clip.source else None
    facts = video_facts(video, clip.name)
    if isinstance(clip.source, VideoFile) and clip.source.parts:
        spans = [(a, min(b, facts.duration)) for a, b in clip.source.parts if a < facts.duration]
        if not spans:
            raise MediaError(f"{clip.name}: all parts begin after the video's {facts.duration:.1f} s")
        return part_times(clip.sampling, spans)
    if start >= facts.duration:
        raise MediaError(f"{clip.name}: the part begins at {start:g} s, but the video is {facts.duration:.1f} s long")
    end = min(clip_end, facts.duration) if clip_end is not None and clip_end > start else facts.duration
    if not clip.sampling.counts_frames or clip.sampling.fits_all_frames(end - start):
        return sample_times(clip.sampling, start, end)
    times = frame_times(video, clip.name)
    inside = times[(times >= start - 1e-4) & (times < end)]
    if not len(inside):
        inside = times[:1]
    return [float(inside[index]) for index in sample_indices(clip.sampling, len(inside))]


def _encode_jpeg(image: PILImage, edge: int | None) -> bytes:
    if edge is not None and max(image.size) > edge:
        image = image.copy()
        image.thumbnail((edge, edge))
    out = io.BytesIO()
    image.save(out, "JPEG", quality=_JPEG_QUALITY)
    return out.getvalue()
