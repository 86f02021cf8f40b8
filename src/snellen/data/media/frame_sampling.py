"""Which moments of a video are shown: rules from a length in seconds to timestamps.

The rules of `count` frames over a clip of length L that begins at b:

* `centre`: the middle of n equal parts, b + (k + 1/2) L / n, k = 0 .. n - 1 (MVBench, Li et al.
  2024, https://arxiv.org/abs/2311.17005, takes the same moments);
* `lmms-eval`: frames numbered linspace(0, N - 1, n), cut to whole numbers, of the N frames;
* `vlmevalkit`: frames numbered int(k N / (n + 1)), k = 1 .. n.

The last two are those tools' own, and count frames rather than seconds, so that a video of variable
frame rate is shown at other moments than by `centre`.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

FrameRule = Literal["centre", "lmms-eval", "vlmevalkit"]
FRAME_RULES: tuple[str, ...] = get_args(FrameRule)
_Item = TypeVar("_Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class FrameSampling:
    """What is taken of a video."""

    count: int = 8
    """Frames; with `fps` the most there may be."""
    fps: float | None = None
    """Frames of a second of the video: at b, b + 1/fps, ... before the end; `rule` is taken where
    that is more than `count`."""
    rule: FrameRule = "centre"
    times: tuple[float, ...] = ()
    """These moments, in seconds from the beginning of the clip, in place of all rules."""
    edge: int | None = None
    """Longest side of a frame in pixels; larger ones are made smaller. None keeps their size."""

    @property
    def counts_frames(self) -> bool:
        """Whether frames are counted: the time of every frame must then be known."""
        return self.rule != "centre" and not self.times

    def fits_all_frames(self, length: float) -> bool:
        """Whether `fps` gives no more frames of so many seconds than there may be."""
        return self.fps is not None and frame_count(length, self.fps) <= self.count


def sample_times(sampling: FrameSampling, start: float, end: float) -> list[float]:
    """The moments between `start` and `end`, in seconds, by rules that need no frame count."""
    length = max(0.0, end - start)
    if sampling.times:
        return [start + time for time in sampling.times]
    if sampling.fps is not None and sampling.fits_all_frames(length):
        return [start + place / sampling.fps for place in range(frame_count(length, sampling.fps))]
    return [start + (place + 0.5) * length / sampling.count for place in range(sampling.count)]


def frame_count(length: float, fps: float) -> int:
    """How many frames are at 0, 1/fps, ... before `length` seconds; at least one."""
    return max(1, math.ceil(length * fps - 1e-6))


def sample_indices(sampling: FrameSampling, frames: int) -> list[int]:
    """Places of the frames, from 0, among `frames` of them. A clip of fewer frames than asked for
    is shown some of them twice, as the tools do."""
    import numpy

    count, last = sampling.count, frames - 1
    if sampling.rule == "vlmevalkit":
        step = frames / (count + 1)
        return [int(place * step) for place in range(1, count + 1)]
    if sampling.rule == "lmms-eval":
        return [int(place) for place in numpy.linspace(0, last, count, dtype=int)]
    return [min(last, int((place + 0.5) * frames / count)) for place in range(count)]


def sample_frames(sampling: FrameSampling, items: Sequence[_Item]) -> list[_Item]:
    """Of frames that lie in a folder, those the rule takes, each once; all of a few."""
    if len(items) <= sampling.count:
        return list(items)
    return [items[place] for place in dict.fromkeys(sample_indices(sampling, len(items)))]
