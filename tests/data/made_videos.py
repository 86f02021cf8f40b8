"""Small videos whose frames bear their number: eight vertical bars, white for a 1 bit."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path

import av
import numpy
from PIL.Image import Image as Picture

BITS = 8
_MARK = (255, 0, 0)


def write_video(
    path: Path,
    frames: int = 50,
    *,
    fps: int = 10,
    times: Sequence[float] | None = None,
    rotation: int = 0,
    key_every: int = 12,
    codec: str = "libx264",
    size: tuple[int, int] = (64, 48),
    audio_seconds: float = 0.0,
    fast_start: bool = False,
) -> Path:
    """A video of `frames` numbered frames, at `times` in seconds where they are given. The top
    left corner is red. `rotation` in degrees, counter-clockwise, is what a player must apply."""
    options = {"movflags": "faststart"} if fast_start else {}
    with av.open(str(path), "w", options=options) as container:
        stream = container.add_stream(codec, rate=fps)
        stream.width, stream.height = size
        stream.pix_fmt = "yuv420p"
        stream.codec_context.gop_size = key_every
        stream.codec_context.time_base = Fraction(1, 1000)
        if rotation:
            stream.set_display_rotation(rotation)
        sound = container.add_stream("aac", rate=16000) if audio_seconds else None
        for number in range(frames):
            frame = av.VideoFrame.from_ndarray(_drawn(number, size), format="rgb24")
            moment = times[number] if times else number / fps
            frame.pts, frame.time_base = round(moment * 1000), Fraction(1, 1000)
            container.mux(stream.encode(frame))
        container.mux(stream.encode())
        if sound is not None:
            _silence(container, sound, audio_seconds)
    return path


def number_of(picture: Picture) -> int:
    """The number a frame bears."""
    grey = numpy.asarray(picture.convert("L"))
    height, width = grey.shape
    bar = width // BITS
    middle = grey[height // 2 : -2]
    return sum(int(middle[:, bit * bar + 2 : bit * bar + bar - 2].mean() > 127) << bit for bit in range(BITS))


def _drawn(number: int, size: tuple[int, int]) -> numpy.ndarray:
    width, height = size
    picture = numpy.zeros((height, width, 3), numpy.uint8)
    bar = width // BITS
    for bit in range(BITS):
        if number >> bit & 1:
            picture[:, bit * bar : (bit + 1) * bar] = 255
    picture[: height // 3, : width // 4] = _MARK
    return picture


def _silence(container: av.container.OutputContainer, stream, seconds: float) -> None:
    for number in range(int(seconds * 16000 / 1024)):
        frame = av.AudioFrame.from_ndarray(numpy.zeros((1, 1024), numpy.float32), format="fltp", layout="mono")
        frame.sample_rate, frame.pts = 16000, number * 1024
        frame.time_base = Fraction(1, 16000)
        container.mux(stream.encode(frame))
    container.mux(stream.encode())
