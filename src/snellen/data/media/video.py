"""Decode frames of a video at given moments with bounded memory (PyAV, the extra `video`).

Only the part around a requested moment is decoded: the reader seeks to the key frame before it, and
one frame is in memory at a time. The frame at a moment is the one a player would display: the last
whose time has come. Times are the frames' own, in seconds from the first frame, so a variable frame
rate needs no special case. Frames are RGB and upright.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from snellen.core.errors import MediaError, MissingExtra

if TYPE_CHECKING:
    import numpy
    from PIL.Image import Image as PILImage

_TIME_TOLERANCE = 1e-4
"""Seconds by which times may differ: a frame's time is a fraction, a moment is not."""
_DECODE_AHEAD = 2.0
"""Seconds that are decoded rather than skipped, if no index gives the key frames."""
_END_TOLERANCE = 1.0
"""Seconds by which a video may end before the time in its header."""


class DecodedFrame(NamedTuple):
    """A frame and its own time, at or before the requested moment."""

    moment: float
    time: float
    image: PILImage


@dataclass(frozen=True, slots=True)
class VideoFacts:
    """Facts from a video's header; times in seconds."""

    duration: float
    """From the first frame to the end of the last."""
    fps: float
    """The mean over the video."""
    width: int
    height: int
    """Stored width and height in pixels, before a rotation."""


VideoInput = str | bytes
"""A path, or the bytes of a video inside a data file."""


def video_facts(video: VideoInput, name: str) -> VideoFacts:
    """Read the header. Raises MediaError, MissingExtra."""
    with _open_video(video, name) as reader:
        return reader.facts


def frame_times(video: VideoInput, name: str) -> numpy.ndarray[Any, Any]:
    """The times of all frames in seconds, in order, from the packets, without decoding.

    Takes eight bytes for each frame. Raises MediaError, MissingExtra.
    """
    with _open_video(video, name) as reader:
        return reader.times()


def frames_at(video: VideoInput, moments: Sequence[float], name: str) -> Iterator[DecodedFrame]:
    """Decode the frames at these moments, one for each moment, in order of time.

    A moment before the first frame gives the first, a moment up to a second after the end the last.
    Raises MediaError that begins with `name` if the video ends earlier (a truncated file) or cannot
    be decoded, and MissingExtra.
    """
    with _open_video(video, name) as reader:
        yield from reader.frames(sorted(moments))


@contextmanager
def _open_video(video: VideoInput, name: str) -> Iterator[_VideoReader]:
    try:
        import av
        from av.error import FFmpegError
    except ImportError as error:
        raise MissingExtra("reading a video", "video", "av") from error
    av.logging.set_level(None)
    try:
        with av.open(io.BytesIO(video) if isinstance(video, bytes) else video) as container:
            yield _VideoReader(container, name)
    except FileNotFoundError:
        raise MediaError(f"{name}: there is no such video file") from None
    except (FFmpegError, OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise MediaError(f"{name}: the video cannot be decoded: {reason}") from error


class _VideoReader:
    """One open video. Decoding goes forward; `_seek` jumps."""

    def __init__(self, container: Any, name: str) -> None:
        if not container.streams.video:
            raise MediaError(f"{name}: the file holds no video")
        self._container = container
        self._stream = container.streams.video[0]
        self._stream.thread_type = "AUTO"
        self._name = name
        self._base = float(self._stream.time_base)
        self._origin = self._first_time()
        self._decode_ahead = _DECODE_AHEAD
        self.facts = self._read_facts()

    def frames(self, moments: Sequence[float]) -> Iterator[DecodedFrame]:
        """Decode the frame at each moment; `moments` ascend."""
        # A player displays a frame until the next one's time, so decoding runs one frame ahead:
        # `current` is the frame at the moment, `ahead` the first frame after it.
        frames: Iterator[Any] = iter(())
        current: Any = None
        ahead: Any = None
        for moment in moments:
            current_time = -math.inf if current is None else self._seconds(current)
            if self._is_far(moment, current_time if ahead is None else self._seconds(ahead)):
                frames, current, ahead = self._seek(moment, current_time), None, None
            while ahead is None or self._seconds(ahead) <= moment + _TIME_TOLERANCE:
                current = ahead if ahead is not None else current
                ahead = next(frames, None)
                if ahead is None:
                    break  # end of the video
                if current is None:
                    current = ahead  # the moment lies before the first frame
            if current is None:
                raise MediaError(
                    f"{self._name}: nothing at {moment:.1f} s can be decoded; the file is cut "
                    "short or damaged, get it again"
                )
            if ahead is None:
                # No frame follows: the last frame may only serve moments near its end.
                self._check_end(moment, current)
            yield DecodedFrame(moment, self._seconds(current), _upright_image(current))

    def times(self) -> numpy.ndarray[Any, Any]:
        """The times of all frames in seconds, shape (frames,), ascending."""
        import numpy

        stamps = numpy.fromiter(
            (
                packet.pts
                for packet in self._container.demux(self._stream)
                if packet.pts is not None and not packet.is_discard
            ),
            dtype=numpy.int64,
        )
        if not len(stamps):
            raise MediaError(f"{self._name}: the video has no frames")
        stamps.sort()  # packets come in decoding order
        seconds: numpy.ndarray[Any, Any] = stamps * self._base - self._origin
        return seconds

    def _read_facts(self) -> VideoFacts:
        stream = self._stream
        context = stream.codec_context
        if context is None:
            raise MediaError(f"{self._name}: the video is in a format that cannot be decoded")
        fps = float(stream.average_rate or stream.guessed_rate or 0.0)
        if stream.duration:
            length = float(stream.duration * stream.time_base)
            begun = (stream.start_time or 0) * self._base
            length -= max(0.0, self._origin - begun)
        else:
            length = self._measured_end(fps)
        return VideoFacts(length, fps, context.width, context.height)

    def _first_time(self) -> float:
        """Time of the first frame: the earliest of the first packets, which may be reordered."""
        stamps: list[int] = []
        for packet in self._container.demux(self._stream):
            if packet.pts is not None and not packet.is_discard:
                stamps.append(packet.pts)
            if len(stamps) >= 32:  # more frames than any codec reorders
                break
        if not stamps:
            raise MediaError(f"{self._name}: the video has no frames")
        self._rewind()
        return min(stamps) * self._base

    def _rewind(self) -> None:
        begun = self._stream.start_time
        self._container.seek(min(0, begun or 0), stream=self._stream, backward=True)

    def _measured_end(self, fps: float) -> float:
        """The end of the last frame, for files whose header gives no length of the video stream.

        Reads packets from the last key frame on. Raises MediaError if no stream reaches the end
        that the header gives.
        """
        header_end = (self._container.duration or 0) / 1_000_000
        if header_end:
            self._container.seek(int(header_end * 1_000_000), backward=True)
        end = reached = 0.0
        for packet in self._container.demux():
            if packet.pts is None:
                continue
            until = (packet.pts + (packet.duration or 0)) * float(packet.time_base)
            reached = max(reached, until)
            if packet.stream.index == self._stream.index:
                end = max(end, until if packet.duration else until + (1 / fps if fps else 0.0))
        if header_end and reached < header_end - max(_END_TOLERANCE, 0.02 * header_end):
            raise self._truncated_error(reached, header_end)
        self._rewind()
        return (end or header_end) - self._origin

    def _is_far(self, moment: float, current: float) -> bool:
        """Whether to seek: a key frame lies between, or, without an index, more than
        `_decode_ahead` seconds."""
        if current == -math.inf:
            return True
        entries = self._stream.index_entries
        if not len(entries):
            return moment - current > self._decode_ahead
        entry = entries.search_timestamp(int((moment + self._origin) / self._base), backward=True)
        if entry < 0:
            return moment - current > self._decode_ahead
        key = entries[entry].timestamp * self._base - self._origin
        return bool(key > current + _TIME_TOLERANCE)

    def _seek(self, moment: float, current: float) -> Iterator[Any]:
        """Yield frames from the key frame before a moment on.

        If that key frame is no later than the current frame, seeking gained nothing, and
        `_decode_ahead` is doubled.
        """
        stamp = int((max(0.0, moment) + self._origin) / self._base)
        self._container.seek(stamp, stream=self._stream, backward=True)
        first = True
        for frame in self._container.decode(self._stream):
            if frame.pts is None:
                continue
            if first and self._seconds(frame) <= current:
                self._decode_ahead *= 2
            first = False
            yield frame

    def _seconds(self, frame: Any) -> float:
        return float(frame.pts * self._base - self._origin)

    def _check_end(self, moment: float, last: Any) -> None:
        length = (last.duration or 0) * self._base or 1 / (self.facts.fps or 1.0)
        end = self._seconds(last) + length
        if moment > end + _END_TOLERANCE:
            raise self._truncated_error(end, self.facts.duration)

    def _truncated_error(self, end: float, expected: float) -> MediaError:
        return MediaError(
            f"{self._name}: the video ends after {end:.1f} s, expected {expected:.1f} s as its "
            "header says; the file is cut short, get it again"
        )


def _upright_image(frame: Any) -> PILImage:
    """The frame in RGB, rotated by its display matrix."""
    image: PILImage = frame.to_image()
    rotation = round(frame.rotation) % 360
    return image.rotate(rotation, expand=True) if rotation else image
