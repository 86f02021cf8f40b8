"""Frame sampling: which moments of a video a model is sent.

Rules for `count` frames of a clip of length L (seconds) that begins at b:

* `centre`: the middle of n equal parts, b + (k + 1/2) L / n, k = 0 .. n - 1 (as in MVBench, Li et
  al. 2024, https://arxiv.org/abs/2311.17005);
* `lmms-eval`: frames numbered linspace(0, N - 1, n), truncated to integers, of the N frames;
* `vlmevalkit`: frames numbered int(k N / (n + 1)), k = 1 .. n.

The last two are those tools' own rules. They count frames rather than seconds, so for a variable
frame rate they sample other moments than `centre`.
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
    """Which frames are sampled from a video."""

    count: int = 8
    """Number of frames; with `fps`, the maximum."""
    fps: float | None = None
    """Frames per second of the video, at b, b + 1/fps, ... before the end; if that is more than
    `count` frames, `rule` applies."""
    rule: FrameRule = "centre"
    times: tuple[float, ...] = ()
    """Moments in seconds from the beginning of the clip, in place of all rules."""
    edge: int | None = None
    """Maximum of a frame's width and height in pixels; larger frames are scaled down. None keeps
    the size."""

    @property
    def counts_frames(self) -> bool:
        """Whether the rule needs the time of every frame."""
        return self.rule != "centre" and not self.times

    def fits_all_frames(self, length: float) -> bool:
        """Whether `fps` gives at most `count` frames in `length` seconds."""
        return self.fps is not None and frame_count(length, self.fps) <= self.count


def sample_times(sampling: FrameSampling, start: float, end: float) -> list[float]:
    """The moments between `start` and `end`, in seconds, for rules that need no frame count."""
    length = max(0.0, end - start)
    if sampling.times:
        return [start + time for time in sampling.times]
    if sampling.fps is not None and sampling.fits_all_frames(length):
        return [start + index / sampling.fps for index in range(frame_count(length, sampling.fps))]
    return [start + (index + 0.5) * length / sampling.count for index in range(sampling.count)]


def part_times(sampling: FrameSampling, parts: Sequence[tuple[float, float]]) -> list[float]:
    """The moments in several parts of a video, in seconds, whatever the rule.

    With `fps` all at that distance if there are few enough; else each part has its share of
    `count` frames by its length, rounded down, but at least one, at the middles of equal pieces (as
    in CG-Bench, Chen et al. 2024, https://arxiv.org/abs/2412.12075).
    """
    lengths = [max(0.0, end - start) for start, end in parts]
    if sampling.fps is not None:
        counts = [frame_count(length, sampling.fps) for length in lengths]
        if sum(counts) <= sampling.count:
            return [
                start + index / sampling.fps
                for (start, _), count in zip(parts, counts, strict=True)
                for index in range(count)
            ]
    total = sum(lengths) or 1.0
    times: list[float] = []
    for (start, _), length in zip(parts, lengths, strict=True):
        count = max(1, int(sampling.count * length / total))
        times += [start + (index + 0.5) * length / count for index in range(count)]
    return times


def frame_count(length: float, fps: float) -> int:
    """How many frames lie at 0, 1/fps, ... before `length` seconds; at least one."""
    return max(1, math.ceil(length * fps - 1e-6))


def sample_indices(sampling: FrameSampling, frames: int) -> list[int]:
    """Indices, from 0, of the sampled frames among `frames` of them.

    If the clip has fewer frames than requested, some are repeated, as the tools do.
    """
    import numpy

    count, last = sampling.count, frames - 1
    if sampling.rule == "vlmevalkit":
        step = frames / (count + 1)
        return [int(index * step) for index in range(1, count + 1)]
    if sampling.rule == "lmms-eval":
        return [int(index) for index in numpy.linspace(0, last, count, dtype=int)]
    return [min(last, int((index + 0.5) * frames / count)) for index in range(count)]


def sample_frames(sampling: FrameSampling, items: Sequence[_Item]) -> list[_Item]:
    """Frames of a folder that the rule samples, each once; all if there are few."""
    if len(items) <= sampling.count:
        return list(items)
    return [items[index] for index in dict.fromkeys(sample_indices(sampling, len(items)))]
