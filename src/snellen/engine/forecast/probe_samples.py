"""Which samples of a run are asked first, so that they speak for the others."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from snellen.core.request import LazyTuple
from snellen.core.sample import Sample, sampling_key

MIN_PROBE = 12
"""Fewest samples from which anything is projected."""
USUAL_PROBE = 24
"""Samples from which a run is projected, unless more are in flight at once."""
MAX_PROBE = 128
_WAVES = 4
"""Samples of a probe per request in flight: the first wave of them meets an idle server, and tells
nothing about time."""
_MAX_SHARE = 4
"""A probe takes at most one in so many samples: of a smaller run there is little to project."""
_MOST_ENDS = 160
_ENDS_SHARE = 8
"""Where the pace varies, samples are watched for longer: one in so many."""
_MEDIUM_SIZE = 4000
"""Characters of text that an image or video counts as; some 1,000 tokens."""


class SampleSize(NamedTuple):
    """A sample, and about how long its prompt is, in characters."""

    id: str
    size: float


def sample_size(sample: Sample) -> float:
    """About how long the prompt of a sample is, in characters, without building it."""
    text = len(sample.question) + sum(map(len, sample.options.values()))
    # Media that are not made yet count as one: all would be made to count them.
    is_made = not isinstance(sample.media, LazyTuple) or sample.media.is_built
    return float(text + _MEDIUM_SIZE * ((len(sample.media) if is_made else 1) + len(sample.option_images)))


def probe_count(pending: int, concurrency: int) -> int:
    """Number of samples to measure of so many pending ones; 0 if these are too few."""
    count = min(max(USUAL_PROBE, _WAVES * concurrency), MAX_PROBE, pending // _MAX_SHARE)
    return count if count >= MIN_PROBE else 0


def most_ends(count: int, pending: int) -> int:
    """Number of samples after whose end the time of the others is projected at the latest."""
    return max(2 * count, min(_MOST_ENDS, pending // _ENDS_SHARE))


def choose_probe(samples: Iterable[SampleSize], count: int, seed: int, first_wave: int = 0) -> list[str]:
    """Ids of `count` samples: the one with the longest prompt, and one at random from each of
    `count` - 1 groups of equal number, by the size of the prompt.

    They are in random order, but the longest comes as soon as `first_wave` others were begun, so
    that nothing waits for it at the end. Deterministic: the random ones have the smallest hash of
    id and seed, as those of `--limit`.
    """
    ordered = sorted(samples, key=lambda each: (each.size, sampling_key(seed, each.id)))
    if count >= len(ordered):
        return [each.id for each in ordered]
    longest = ordered.pop()
    groups = count - 1
    chosen = [
        min(
            ordered[group * len(ordered) // groups : (group + 1) * len(ordered) // groups],
            key=lambda each: sampling_key(seed, each.id),
        ).id
        for group in range(groups)
    ]
    chosen.sort(key=lambda name: sampling_key(seed, name))
    return [*chosen[:first_wave], longest.id, *chosen[first_wave:]]
