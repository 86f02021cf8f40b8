"""Which samples of a run are asked first, so that they speak for the others."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from snellen.core.sample import Sample, sampling_key

MIN_PROBE = 12
"""Fewest samples from which anything is projected."""
_USUAL_PROBE = 24
MAX_PROBE = 128
_WAVES = 3
"""Samples of a probe per request in flight: fewer would end before the server is as busy as during
the run."""
_MAX_SHARE = 4
"""A probe takes at most one in so many samples: of a smaller run there is little to project."""
_MEDIUM_SIZE = 4000
"""Characters of text that an image or video counts as; some 1,000 tokens."""


class SampleSize(NamedTuple):
    """A sample, and about how long its prompt is, in characters."""

    id: str
    size: float


def sample_size(sample: Sample) -> float:
    """About how long the prompt of a sample is, in characters, without building it."""
    text = len(sample.question) + sum(map(len, sample.options.values()))
    return float(text + _MEDIUM_SIZE * (len(sample.media) + len(sample.option_images)))


def probe_count(pending: int, concurrency: int) -> int:
    """Number of samples to measure of so many pending ones; 0 if these are too few."""
    count = min(max(_USUAL_PROBE, _WAVES * concurrency), MAX_PROBE, pending // _MAX_SHARE)
    return count if count >= MIN_PROBE else 0


def choose_probe(samples: Iterable[SampleSize], count: int, seed: int) -> list[str]:
    """Ids of `count` samples: the one with the longest prompt, and one at random from each of
    `count` - 1 groups of equal number, by the size of the prompt.

    Deterministic: the random ones have the smallest hash of id and seed, as those of `--limit`.
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
    return _interleave([*chosen, longest.id])


def _interleave(ids: Sequence[str]) -> list[str]:
    """The ids with small and large prompts alternating, the longest first: it takes longest."""
    half = len(ids) // 2
    small, large = ids[:half], ids[half:][::-1]
    mixed = [name for pair in zip(large, small, strict=False) for name in pair]
    return [*mixed, *large[half:]]
