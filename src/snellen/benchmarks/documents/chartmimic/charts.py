"""How alike two charts are, by what their programs draw.

The four low-level scores of ChartMimic (Yang et al. 2024, https://arxiv.org/abs/2406.09961,
Sec. 3.3): texts, chart types, layout and colours of a generated chart beside those of the
reference, each as F1, 0..1. A chart without any has an F1 of 0, also where both have none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import groupby
from math import atan2, cos, degrees, exp, hypot, radians, sin, sqrt
from typing import Any, NamedTuple

from snellen.scoring.assignment import least_sum_pairs

FEW_COLOURS = 10
"""Of more pairs of function and colour, those are left out that resemble an earlier one."""
ALIKE = 0.7
"""Similarity above which colours resemble each other."""

Colour = tuple[str, str]
"""A plotting function, and `#RRGGBB` or the name of a colour map."""


def f1_of(correct: float, generated: int, reference: int) -> float:
    """The harmonic mean of precision and recall, 0..1."""
    if not generated or not reference or not correct:
        return 0.0
    precision, recall = correct / generated, correct / reference
    return 2 * precision * recall / (precision + recall)


def counted_f1(generated: Iterable[Hashable], reference: Iterable[Hashable]) -> float:
    """F1 of things that count as often as they are there: texts, or places of axes."""
    return _counters_f1(Counter(generated), Counter(reference))


def _counters_f1(ours: Counter[Any], theirs: Counter[Any]) -> float:
    return f1_of((ours & theirs).total(), ours.total(), theirs.total())


def calls_f1(generated: Mapping[str, int], reference: Mapping[str, int]) -> float:
    """F1 of calls of plotting functions, by name."""
    return _counters_f1(Counter(generated), Counter(reference))


def colours_f1(generated: Sequence[Colour], reference: Sequence[Colour]) -> float:
    """F1 of colours: those of one plotting function are matched for the highest total similarity,
    which takes the place of the number of correct ones."""
    ours, theirs = distinct_colours(generated), distinct_colours(reference)
    by_function = _by_function(ours)
    matched = sum(
        best_total(by_function.get(function, []), colours) for function, colours in _by_function(theirs).items()
    )
    return f1_of(matched, len(ours), len(theirs))


def distinct_colours(colours: Sequence[Colour]) -> Sequence[Colour]:
    """The colours, of more than `FEW_COLOURS` without those that resemble an earlier one. The
    authors leave the order to that of a set; here it is the order of drawing."""
    if len(colours) <= FEW_COLOURS:
        return colours
    kept: list[Colour] = []
    for colour in colours:
        if all(similarity(colour[1], other[1]) <= ALIKE for other in kept):
            kept.append(colour)
    return kept


def _by_function(colours: Sequence[Colour]) -> dict[str, list[str]]:
    return {
        function: [colour for _, colour in pairs]
        for function, pairs in groupby(sorted(colours), key=lambda pair: pair[0])
    }


def best_total(first: Sequence[str], second: Sequence[str]) -> float:
    """The highest total similarity of a matching of two groups of colours."""
    short, long = sorted((first, second), key=len)
    if not short:
        return 0.0
    costs = [[1.0 - similarity(one, other) for other in long] for one in short]
    return len(short) - sum(costs[row][column] for row, column in least_sum_pairs(costs))


def similarity(first: str, second: str) -> float:
    """Of colours 1 - their distance / 100, not below 0; of colour maps 1 if they are the same; of a
    colour and a map 0."""
    if first.startswith("#") and second.startswith("#"):
        return max(0.0, 1 - colour_distance(to_lab(first), to_lab(second)) / 100)
    return float(first == second)


class Lab(NamedTuple):
    """A colour in CIELAB under the standard illuminant D65."""

    lightness: float
    a: float
    b: float


_TO_XYZ = ((0.412424, 0.357579, 0.180464), (0.212656, 0.715158, 0.0721856), (0.0193324, 0.119193, 0.950444))
_WHITE = (0.95047, 1.0, 1.08883)
_DARK = 216 / 24389


def to_lab(colour: str) -> Lab:
    """`#RRGGBB` in CIELAB; opacity is ignored."""
    channels = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    linear = [channel / 12.92 if channel <= 0.04045 else ((channel + 0.055) / 1.055) ** 2.4 for channel in channels]
    x, y, z = (
        _compress(sum(weight * value for weight, value in zip(row, linear, strict=True)) / white)
        for row, white in zip(_TO_XYZ, _WHITE, strict=True)
    )
    return Lab(116 * y - 16, 500 * (x - y), 200 * (y - z))


def _compress(value: float) -> float:
    return float(value ** (1 / 3)) if value > _DARK else 7.787 * value + 16 / 116


def colour_distance(first: Lab, second: Lab) -> float:
    """CIEDE2000 (Sharma, Wu and Dalal 2005, Color Research and Application 30(1))."""
    chroma = (hypot(first.a, first.b) + hypot(second.a, second.b)) / 2
    greyness = 0.5 * (1 - sqrt(chroma**7 / (chroma**7 + 25.0**7)))
    a1, a2 = (1 + greyness) * first.a, (1 + greyness) * second.a
    chroma1, chroma2 = hypot(a1, first.b), hypot(a2, second.b)
    hue1, hue2 = _hue(first.b, a1), _hue(second.b, a2)
    lighter, stronger = second.lightness - first.lightness, chroma2 - chroma1
    turn = hue2 - hue1
    if chroma1 * chroma2 == 0:
        turn = 0.0
    elif abs(turn) > 180:
        turn -= 360 if turn > 0 else -360
    turned = 2 * sqrt(chroma1 * chroma2) * sin(radians(turn / 2))
    hue = hue1 + hue2
    if chroma1 * chroma2 != 0:
        if abs(hue1 - hue2) > 180:
            hue += 360 if hue < 360 else -360
        hue /= 2
    mean_light, mean_chroma = (first.lightness + second.lightness) / 2, (chroma1 + chroma2) / 2
    waves = (
        1
        - 0.17 * cos(radians(hue - 30))
        + 0.24 * cos(radians(2 * hue))
        + 0.32 * cos(radians(3 * hue + 6))
        - 0.20 * cos(radians(4 * hue - 63))
    )
    off = (mean_light - 50) ** 2
    by_light = 1 + 0.015 * off / sqrt(20 + off)
    by_chroma = 1 + 0.045 * mean_chroma
    by_hue = 1 + 0.015 * mean_chroma * waves
    turning = 30 * exp(-(((hue - 275) / 25) ** 2))
    strength = 2 * sqrt(mean_chroma**7 / (mean_chroma**7 + 25.0**7))
    crossed = -sin(radians(2 * turning)) * strength
    light, colour, shade = lighter / by_light, stronger / by_chroma, turned / by_hue
    return sqrt(max(0.0, light**2 + colour**2 + shade**2 + crossed * colour * shade))


def _hue(b: float, a: float) -> float:
    """The angle of a colour in degrees, 0..360."""
    return degrees(atan2(b, a)) % 360 if a or b else 0.0
