"""Intervals of time that a reply names, and how far they overlap with the right ones (CG-Bench,
Chen et al. 2024, https://arxiv.org/abs/2412.12075)."""

from __future__ import annotations

from collections.abc import Sequence

TimeSpan = tuple[float, float]
"""Beginning and end, in seconds."""


def merge_intervals(intervals: Sequence[TimeSpan]) -> list[TimeSpan]:
    """The intervals in order of their beginnings, those that overlap or touch as one."""
    merged: list[TimeSpan] = []
    for start, end in sorted(intervals, key=lambda interval: interval[0]):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(merged[-1][1], end))
        else:
            merged.append((start, end))
    return merged


def intersection_over_union(first: Sequence[TimeSpan], second: Sequence[TimeSpan]) -> float:
    """The length that both sets cover over the length that either covers; 0 if that is nothing.

    An interval whose end is before its beginning has a negative length, as in the authors' script.
    """
    ours, theirs = merge_intervals(first), merge_intervals(second)
    shared = sum(max(0.0, min(one[1], other[1]) - max(one[0], other[0])) for one in ours for other in theirs)
    union = sum(end - start for start, end in (*ours, *theirs)) - shared
    return shared / union if union > 0 else 0.0
