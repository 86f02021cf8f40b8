"""Parts of a sample that are in the data but not in its record: its videos with their subtitles,
the boxes of its question, and when each frame was taken."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from snellen.api.run_images import RunImages
from snellen.core.errors import MediaError, SnellenError
from snellen.core.media import FileSource, image_size
from snellen.core.sample import MediaRef, Sample
from snellen.data.media.frames import FrameSource, frame_time
from snellen.data.media.subtitles import Cue, read_subtitles
from snellen.data.media.video_cells import FrameFolder, VideoFile
from snellen.settings import max_image_pixels
from snellen.view.local_server import FilePart, read_part

VIDEO_TYPES = {
    ".mp4": "video/mp4",
    ".m4v": "video/mp4",
    ".mov": "video/quicktime",
    ".webm": "video/webm",
    ".mkv": "video/x-matroska",
    ".ogv": "video/ogg",
}
"""Files that some browser plays, by suffix; others are sent as what they are."""


def describe_source(images: RunImages, sample_id: str) -> dict[str, Any] | None:
    """The videos, boxes and frame times of a sample; None if its data are not at hand."""
    pair = images.sample(sample_id)
    if pair is None:
        return None
    return describe_parts(*pair)


def describe_parts(sample: Sample, prepared: Sample) -> dict[str, Any]:
    """The videos, boxes and frame times of a sample; `prepared` is the sample as it was asked."""
    frames = ((ref.digest, ref.source) for ref in prepared.media)
    times = ((digest, frame_time(source)) for digest, source in frames if isinstance(source, FrameSource))
    return {
        "regions": [list(region) for region in sample.regions],
        "size": _first_size(sample) if sample.regions else None,
        "times": {digest: time for digest, time in times if time is not None},
        "videos": [_describe_video(ref) for ref in sample.media if ref.kind == "video"],
    }


def _first_size(sample: Sample) -> tuple[int, int] | None:
    try:
        return image_size(sample.media[0].source.read(), max_image_pixels())
    except (SnellenError, IndexError, OSError):
        return None


def _describe_video(ref: MediaRef) -> dict[str, Any]:
    source = ref.source
    part = source if isinstance(source, VideoFile | FrameFolder) else None
    return {
        "digest": ref.digest,
        "has_file": _video_path(ref) is not None,
        "start": part.start if part else None,
        "end": part.end if part else None,
        "cues": [list(cue) for cue in _cues(ref)],
    }


def _video_path(ref: MediaRef) -> Path | None:
    source = ref.source
    path = Path(source.path) if isinstance(source, VideoFile | FileSource) else None
    return path if path is not None and path.is_file() else None


def _cues(ref: MediaRef) -> list[Cue]:
    source = ref.source
    path = source.subtitles if isinstance(source, VideoFile | FrameFolder) else None
    try:
        return read_subtitles(path) if path else []
    except MediaError:
        return []


def _video_of(images: RunImages, sample_id: str, digest: str) -> MediaRef | None:
    pair = images.sample(sample_id)
    refs = pair[0].media if pair else ()
    return next((ref for ref in refs if ref.kind == "video" and ref.digest == digest), None)


def read_video(images: RunImages, sample_id: str, digest: str, start: int) -> FilePart | None:
    """A part of a sample's video from an offset on; None if the data name no such file.

    The path comes from the data of the run, never from the request.
    """
    ref = _video_of(images, sample_id, digest)
    return read_video_part(ref, start) if ref else None


def read_video_part(ref: MediaRef, start: int) -> FilePart | None:
    """A part of a video from an offset on; None if it is no file."""
    path = _video_path(ref)
    if path is None:
        return None
    return read_part(path, start, VIDEO_TYPES.get(path.suffix.lower(), "application/octet-stream"))


def subtitles_vtt(images: RunImages, sample_id: str, digest: str) -> str | None:
    """The subtitles of a sample's video as WebVTT; None without any."""
    ref = _video_of(images, sample_id, digest)
    return video_subtitles(ref) if ref else None


def video_subtitles(ref: MediaRef) -> str | None:
    """The subtitles of a video as WebVTT; None without any."""
    cues = _cues(ref)
    if not cues:
        return None
    blocks = [f"{_vtt_time(cue.start)} --> {_vtt_time(cue.end)}\n{_vtt_text(cue.text)}" for cue in cues]
    return "WEBVTT\n\n" + "\n\n".join(blocks) + "\n"


def _vtt_time(seconds: float) -> str:
    milliseconds = round(1000 * seconds)
    minutes, milliseconds = divmod(milliseconds, 60_000)
    hours, minutes = divmod(minutes, 60)
    return f"{hours:02}:{minutes:02}:{milliseconds // 1000:02}.{milliseconds % 1000:03}"


def _vtt_text(text: str) -> str:
    """Text that a cue shows as it is: one line, without markup."""
    plain = " ".join(text.split())
    return plain.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
