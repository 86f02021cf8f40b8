"""Scores over time as points in SVG, with the line of the best so far."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from itertools import zip_longest
from typing import NamedTuple

from snellen.report.ticks import round_ticks

WIDTH, HEIGHT = 1080.0, 400.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 46.0, 120.0, 18.0, 34.0
_LETTER = 6.2
"""Width of a letter of a name."""
_NAME = 28
"""Letters of a name that are written."""
_MOST_TICKS = 9


class TimedScore(NamedTuple):
    """A score and its date."""

    day: date
    value: float
    low: float | None
    high: float | None
    model: str
    is_best: bool = False
    """Whether it was higher than all before."""


class TimelinePoint(NamedTuple):
    """Where a score and the ends of its interval stand."""

    score: TimedScore
    x: float
    y: float
    low: float | None
    high: float | None
    name: str
    """Written beside the point; empty if there is no room, or it was not the best."""


class Timeline(NamedTuple):
    points: Sequence[TimelinePoint]
    line: str
    """Path of the best so far."""
    days: Sequence[tuple[float, str]]
    """Ticks: where they stand, and their texts."""
    values: Sequence[tuple[float, str]]
    left: float
    right: float
    bottom: float


def draw_timeline(scores: Sequence[TimedScore]) -> Timeline | None:
    """The points of scores in the order of their days; None for fewer than two."""
    if len(scores) < 2:
        return None
    first, last = scores[0].day, scores[-1].day
    span = max(1, (last - first).days)
    ends = [end for one in scores for end in (one.value, one.low, one.high) if end is not None]
    ticks = round_ticks(min(ends), max(ends))
    right, bottom = WIDTH - _RIGHT, HEIGHT - _BOTTOM

    def across(day: date) -> float:
        return round(_LEFT + (right - _LEFT) * (day - first).days / span, 1)

    def down(value: float) -> float:
        share = (value - ticks[0]) / (ticks[-1] - ticks[0])
        return round(bottom - (bottom - _TOP) * share, 1)

    names = _names([(one, across(one.day), down(one.value)) for one in scores if one.is_best])
    points = []
    for one in scores:
        x, y = across(one.day), down(one.value)
        low, high = (None if end is None else down(end) for end in (one.low, one.high))
        points.append(TimelinePoint(one, x, y, low, high, names.get((x, y), "") if one.is_best else ""))
    return Timeline(
        points,
        _steps([point for point in points if point.score.is_best], right),
        [(across(day), text) for day, text in _day_ticks(first, last)],
        [(down(tick), f"{tick:g}") for tick in ticks],
        _LEFT,
        right,
        bottom,
    )


def mark_best(scores: Sequence[TimedScore]) -> list[TimedScore]:
    """The scores by day, with those marked that were higher than all of earlier days, and the
    highest of their own."""
    ordered = sorted(scores, key=lambda score: (score.day, score.value))
    best = -math.inf
    marked = []
    for one, after in zip_longest(ordered, ordered[1:]):
        is_last = after is None or after.day != one.day
        marked.append(one._replace(is_best=is_last and one.value > best))
        best = max(best, one.value) if is_last else best
    return marked


def _steps(best: Sequence[TimelinePoint], right: float) -> str:
    """A line that goes up in steps, and on to the right edge."""
    if not best:
        return ""
    parts = [f"M{best[0].x:g},{best[0].y:g}"]
    parts += [f"H{point.x:g}V{point.y:g}" for point in best[1:]]
    return "".join([*parts, f"H{right:g}"])


def _names(best: Sequence[tuple[TimedScore, float, float]]) -> dict[tuple[float, float], str]:
    """What is written at the points of the best, by position: the latest first, and none where it
    would stand on another."""
    names: dict[tuple[float, float], str] = {}
    boxes: list[tuple[float, float, float]] = []
    for one, x, y in reversed(best):
        name = one.model if len(one.model) <= _NAME else f"{one.model[: _NAME - 1]}…"
        end = x + 14 + _LETTER * len(name)
        if any(left < end and x < right and abs(at - y) < 26 for left, right, at in boxes):
            continue
        boxes.append((x - 6, end, y))
        names[x, y] = name
    return names


def _day_ticks(first: date, last: date) -> list[tuple[date, str]]:
    """First days of months or years, few enough to be read."""
    months = (last.year - first.year) * 12 + last.month - first.month
    if months == 0:
        return [(first, first.isoformat())] + ([(last, last.isoformat())] if last > first else [])
    step = next(step for step in (1, 2, 3, 6, 12, 24, 60, 1200) if months / step <= _MOST_TICKS)
    start = first.year * 12 + first.month - 1
    ticks = []
    for number in range(start, last.year * 12 + last.month):
        day = date(number // 12, number % 12 + 1, 1)
        if number % step == 0 and first <= day <= last:
            ticks.append((day, f"{day.year}" if step >= 12 else f"{day.year}-{day.month:02}"))
    return ticks
