"""Lengths with units, and how near an estimate is (Q-Spatial Bench and Omni3D-Bench).

Q-Spatial Bench (Liao et al. 2024, arXiv:2409.09788, Section 3): an estimate is right within a
factor of two. Omni3D-Bench (Marsili et al. 2025, arXiv:2502.06787) takes VSI-Bench's mean relative
accuracy: the share of ten thresholds from 0.05 to 0.5 below which the relative error is.
"""

from __future__ import annotations

import re

_CENTIMETRES = {
    **dict.fromkeys(("m", "meter", "meters", "metre", "metres"), 100.0),
    **dict.fromkeys(("cm", "centimeter", "centimeters"), 1.0),
    **dict.fromkeys(("ft", "foot", "feet"), 30.48),
    **dict.fromkeys(("in", "inch", "inches"), 2.54),
    "mm": 0.1,
}
"""The units that Q-Spatial's scorer knows."""
_FURTHER = {
    **dict.fromkeys(("centimetre", "centimetres", "cms"), 1.0),
    **dict.fromkeys(("millimeter", "millimeters", "millimetre", "millimetres"), 0.1),
    **dict.fromkeys(("yard", "yards", "yd"), 91.44),
    **dict.fromkeys(("km", "kilometer", "kilometers", "kilometre", "kilometres"), 100_000.0),
    **dict.fromkeys(('"', "''"), 2.54),
    "'": 30.48,
}
_NUMBER = r"(?<![\d.])(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})"
_UNIT = "|".join(
    re.escape(unit) if not unit.isalpha() else rf"{unit}(?![a-z])"
    for unit in sorted({**_CENTIMETRES, **_FURTHER}, key=len, reverse=True)
)
_LENGTH = re.compile(
    rf"(?P<low>{_NUMBER})(?:\s{{0,3}}(?:-|–|to)\s{{0,3}}(?P<high>{_NUMBER}))?"
    rf"[\s,'\"*]{{0,4}}?(?P<unit>{_UNIT})",
    re.IGNORECASE,
)
_SCALAR = re.compile(r"scalar\{([^}]{0,1000})\}")
_DISTANCE_UNIT = re.compile(r"distance_unit\{([^}]{0,1000})\}")
_DIGITS = re.compile(r"\d+\.?\d*")
_NEARLY_NOTHING = 1e-8
_THRESHOLDS = (0.5, 0.45, 0.40, 0.35, 0.3, 0.25, 0.2, 0.15, 0.1, 0.05)


def parse_marked_length(text: str) -> float | None:
    r"""The length in centimetres in the last `\scalar{...}` and `\distance_unit{...}`: the mean of
    the numbers there; 0 for a unit that is not known. None without both, or without a number."""
    scalars, units = _SCALAR.findall(text), _DISTANCE_UNIT.findall(text)
    if not scalars or not units:
        return None
    numbers = [float(number) for number in _DIGITS.findall(scalars[-1])]
    if not numbers:
        return None
    return sum(numbers) / len(numbers) * _CENTIMETRES.get(units[-1].lower(), 0.0)


def parse_length(text: str) -> float | None:
    """The last length of a text in centimetres: the middle of a range, feet with the inches behind
    them. None without a number that a unit follows."""
    found = list(_LENGTH.finditer(text))
    if not found:
        return None
    last = found[-1]
    value = _centimetres(last)
    if len(found) > 1 and last["unit"].lower() in ("in", "inch", "inches", '"', "''"):
        feet = found[-2]
        between = text[feet.end() : last.start()].strip(" ,")
        if feet["unit"].lower() in ("ft", "foot", "feet", "'") and between in ("", "and"):
            value += _centimetres(feet)
    return value


def _centimetres(match: re.Match[str]) -> float:
    low = float(match["low"])
    middle = (low + float(match["high"])) / 2 if match["high"] else low
    unit = match["unit"].lower()
    return middle * {**_CENTIMETRES, **_FURTHER}[unit]


def is_within_factor(estimate: float, truth: float, factor: float) -> bool:
    """Whether neither length is `factor` times the other, or more."""
    a, b = estimate + _NEARLY_NOTHING, truth + _NEARLY_NOTHING
    return max(a / b, b / a) < factor


def mean_relative_accuracy(estimate: float, truth: float) -> float:
    """The share of the thresholds below which the relative error is."""
    if not truth:
        return float(estimate == truth)
    error = abs(truth - estimate) / truth
    return sum(error < threshold for threshold in _THRESHOLDS) / len(_THRESHOLDS)
