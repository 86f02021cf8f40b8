"""The frames of a video that are shown, kept in the cache under what they were made of.

An entry is a folder `frames/<2 hex>/<key>` with one JPEG for each frame and `frames.json`; its key
is the hash of the video's content and of everything that decides what is taken of it. An entry
appears whole or not at all, so that processes may make the same one at once. Entries that have not
been used for longest are removed when all together pass a limit; one that is gone is made again
when a frame of it is read.
"""

from __future__ import annotations

import hashlib
import io
import json
import os
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from snellen.core.errors import MediaError, StorageError
from snellen.core.media import FileSource, decode_image, digest_bytes
from snellen.core.sample import MediaRef
from snellen.data.media.frame_sampling import Sampling, chosen, moments, numbers
from snellen.data.media.video import Opened, Shot, frame_times, frames_at, video_facts
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.settings import most_pixels

if TYPE_CHECKING:
    from PIL.Image import Image as Picture

FOLDER = "frames"
LIMIT = 20 << 30
"""Bytes of all entries together."""
_VERSION = "1"
"""Raise it whenever the same video and sampling would give other frames."""
_LIST = "frames.json"
_QUALITY = 95
_INSIDE = "a video inside the data file"


class _Kept(Struct, frozen=True):
    """One frame of an entry."""

    name: str
    digest: str
    time: float


@dataclass(frozen=True, slots=True)
class Clip:
    """A video and what is taken of it."""

    source: VideoFile | FrameFolder | None
    """None for a video inside a data file, whose bytes `medium` reads."""
    medium: MediaRef
    sampling: Sampling
    cache: Path

    @property
    def name(self) -> str:
        return self.source.path if self.source else _INSIDE

    def key(self) -> str:
        facts = [_VERSION, self.medium.digest, asdict(self.sampling)]
        return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class FrameSource:
    """One frame in the cache; made again where it is gone or damaged."""

    clip: Clip
    number: int
    digest: str

    def read(self) -> bytes:
        for kept in (_entry(self.clip), _made(self.clip)):
            data = _bytes(self.clip, kept, self.number)
            if data is not None and digest_bytes(data) == self.digest:
                return data
        raise MediaError(f"{self.clip.name}: the video was changed after its frames were taken")


class Frame(Struct, frozen=True):
    """A frame as it is shown; `time` in seconds from the beginning of the video, None where only
    its place among others is known (a folder of frames)."""

    ref: MediaRef
    time: float | None


def frames_of(ref: MediaRef, sampling: Sampling, cache: Path) -> list[Frame]:
    """The frames of a video, in order of time, from the cache where they are there.

    Raises MediaError where it cannot be decoded, StorageError where the cache cannot be written,
    MissingExtra.
    """
    source = ref.source
    if isinstance(source, FrameFolder):
        return [Frame(one, None) for one in chosen(sampling, source.frames)]
    if isinstance(source, FileSource):
        source = VideoFile(source.path, ref.digest)
    clip = Clip(source if isinstance(source, VideoFile) else None, ref, sampling, cache)
    kept = _entry(clip)
    if kept is None:
        kept = _made(clip)
    return [
        Frame(MediaRef(one.digest, FrameSource(clip, number, one.digest)), one.time)
        for number, one in enumerate(kept)
    ]


def video_size(ref: MediaRef) -> tuple[int, int]:
    """Width and height of a video that opens and whose first and last frames can be decoded.
    Raises MediaError, MissingExtra."""
    source = ref.source
    if isinstance(source, FrameFolder):
        return [decode_image(frame.source.read(), most_pixels()).size for frame in source.frames][
            -1
        ]
    path = source.path if isinstance(source, VideoFile | FileSource) else None
    video: Opened = source.read() if path is None else path
    name = _INSIDE if path is None else path
    facts = video_facts(video, name)
    shots = list(frames_at(video, (0.0, facts.duration), name))
    return shots[-1].picture.size


def trim(cache: Path, limit: int = LIMIT) -> int:
    """Remove the entries unused for longest until all are below `limit` bytes; how many went."""
    entries = []
    for folder in (cache / FOLDER).glob("??/*"):
        with suppress(OSError):
            size = sum(path.stat().st_size for path in folder.iterdir())
            entries.append(((folder / _LIST).stat().st_mtime, size, folder))
    total = sum(size for _, size, _ in entries)
    gone = 0
    for _, size, folder in sorted(entries, key=lambda entry: entry[0]):
        if total <= limit:
            break
        shutil.rmtree(folder, ignore_errors=True)
        total -= size
        gone += 1
    return gone


def _folder(clip: Clip) -> Path:
    key = clip.key()
    return clip.cache / FOLDER / key[:2] / key


def _entry(clip: Clip) -> list[_Kept] | None:
    """The frames of an entry that is there; using it is noted in its time of change."""
    listing = _folder(clip) / _LIST
    try:
        kept = msgspec.json.decode(listing.read_bytes(), type=list[_Kept])
        os.utime(listing)
    except (OSError, msgspec.DecodeError):
        return None
    return kept if all((_folder(clip) / one.name).is_file() for one in kept) else None


def _bytes(clip: Clip, kept: Sequence[_Kept] | None, number: int) -> bytes | None:
    if kept is None or number >= len(kept):
        return None
    try:
        return (_folder(clip) / kept[number].name).read_bytes()
    except OSError:
        return None


def _made(clip: Clip) -> list[_Kept]:
    """Decode the frames into a new entry, one at a time."""
    home = clip.cache / FOLDER
    try:
        home.mkdir(parents=True, exist_ok=True)
        part = Path(tempfile.mkdtemp(prefix="part-", dir=home))
        try:
            kept = []
            for number, shot in enumerate(_shots(clip)):
                data = _jpeg(shot.picture, clip.sampling.edge)
                name = f"{number:05d}.jpg"
                (part / name).write_bytes(data)
                kept.append(_Kept(name, digest_bytes(data), round(shot.time, 6)))
            (part / _LIST).write_bytes(msgspec.json.encode(kept))
            _publish(part, _folder(clip))
        finally:
            shutil.rmtree(part, ignore_errors=True)
    except OSError as error:
        raise StorageError(
            f"cannot keep frames in {home}: {error.strerror or error}; "
            "make room, or set SNELLEN_CACHE to a folder that can be written"
        ) from error
    _trimmed_now_and_then(clip.cache)
    return kept


def _publish(part: Path, folder: Path) -> None:
    """Give an entry its name. Another process may have been first: its entry is the same, unless
    it is damaged, and then it makes room."""
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


_MADE = 0
_EVERY = 256


def _trimmed_now_and_then(cache: Path) -> None:
    """Look at the size of all entries after every 256 new ones."""
    global _MADE
    _MADE += 1
    if _MADE % _EVERY == 0:
        trim(cache)


def _shots(clip: Clip) -> Iterator[Shot]:
    video = clip.source.path if isinstance(clip.source, VideoFile) else clip.medium.source.read()
    return frames_at(video, _moments(clip, video), clip.name)


def _moments(clip: Clip, video: Opened) -> list[float]:
    start = (clip.source.start if clip.source else None) or 0.0
    told = clip.source.end if clip.source else None
    facts = video_facts(video, clip.name)
    if start >= facts.duration:
        raise MediaError(
            f"{clip.name}: the part begins at {start:g} s, but the video is {facts.duration:.1f} s "
            "long"
        )
    end = min(told, facts.duration) if told is not None and told > start else facts.duration
    if not clip.sampling.by_number or clip.sampling.all_fit(end - start):
        return moments(clip.sampling, start, end)
    times = frame_times(video, clip.name)
    inside = times[(times >= start - 1e-4) & (times < end)]
    if not len(inside):
        inside = times[:1]
    return [float(inside[place]) for place in numbers(clip.sampling, len(inside))]


def _jpeg(picture: Picture, edge: int | None) -> bytes:
    if edge is not None and max(picture.size) > edge:
        picture = picture.copy()
        picture.thumbnail((edge, edge))
    out = io.BytesIO()
    picture.save(out, "JPEG", quality=_QUALITY)
    return out.getvalue()
