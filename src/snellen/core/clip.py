"""Frames of a video and their times as one medium, for models that take videos.

The bytes of such a medium are a mark and msgpack; those of any other video are a video file.
"""

from __future__ import annotations

import msgspec
from msgspec import Struct

from snellen.core.errors import MediaError

_MARK = b"snellen clip 1\n"


class Clip(Struct, frozen=True):
    """Sampled frames, in order of time."""

    frames: tuple[bytes, ...]
    """Encoded images, upright."""
    times: tuple[float, ...]
    """When each was taken, in seconds from the beginning of the video."""

    @property
    def duration(self) -> float:
        """Seconds that the frames stand for: each as long as the mean distance to the next, a
        single frame for one second."""
        if len(self.times) < 2:
            return 1.0
        return (self.times[-1] - self.times[0]) * len(self.times) / (len(self.times) - 1) or 1.0


def encode_clip(clip: Clip) -> bytes:
    """The bytes of a clip as a medium."""
    return _MARK + msgspec.msgpack.encode(clip)


def decode_clip(data: bytes) -> Clip | None:
    """The clip of a medium's bytes; None for any other medium. Raises MediaError."""
    if not data.startswith(_MARK):
        return None
    try:
        clip = msgspec.msgpack.decode(data[len(_MARK) :], type=Clip)
    except msgspec.DecodeError as error:
        raise MediaError(f"the frames of a video cannot be read: {error}") from error
    if not clip.frames or len(clip.frames) != len(clip.times):
        raise MediaError("the frames of a video do not come with a time each")
    return clip
