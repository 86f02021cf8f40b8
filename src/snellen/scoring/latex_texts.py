r"""Equality of short LaTeX answers as texts, after the differences in writing are taken away that
MATH's authors name (Hendrycks et al. 2021, https://arxiv.org/abs/2103.03874, `math_equivalence.py`):
sizes, \dfrac, degrees, units behind the number, percent signs, a leading "x =", braces that LaTeX
does not need, 0.5 for one half, a/b for \frac{a}{b}. Nothing is calculated.
"""

from __future__ import annotations

from collections.abc import Sequence

from snellen.core import lazy_re as re

_REMOVED = ("\n", "\\!")
_COMMANDS = ("\\left", "\\right", "^{\\circ}", "^\\circ", "\\$")
_UNIT = "\\text{ "
_FRACTION, _ROOT = "\\frac", "\\sqrt"
_QUOTIENT = re.compile(r"(-?\d+)/(-?\d+)")


def equal_as_math_text(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer is a gold, both normalised; unchanged where one of them cannot be."""
    return any(_is_equal(answer, gold) for gold in golds)


def _is_equal(answer: str, gold: str) -> bool:
    left, right = normalise(answer), normalise(gold)
    return answer == gold if left is None or right is None else left == right


def normalise(text: str) -> str | None:
    """The text without what does not count; None for one that the published script stops at."""
    for sign in _REMOVED:
        text = text.replace(sign, "")
    text = text.replace("\\\\", "\\").replace("tfrac", "frac").replace("dfrac", "frac")
    for command in _COMMANDS:
        text = text.replace(command, "")
    if text.count(_UNIT) > 1:
        return None
    text = text.partition(_UNIT)[0].replace("\\%", "")
    text = text.replace(" .", " 0.").replace("{.", "{0.")
    if not text:
        return text
    text = f"0{text}" if text.startswith(".") else text
    sides = text.split("=")
    text = sides[1] if len(sides) == 2 and len(sides[0]) <= 2 else text
    rooted = _brace_roots(text)
    if rooted is None:
        return None
    fixed = _brace_fractions(rooted.replace(" ", ""))
    if fixed is None:
        return None
    fixed = "\\frac{1}{2}" if fixed == "0.5" else fixed
    return _as_fraction(fixed)


def _brace_roots(text: str) -> str | None:
    """\\sqrt3 as \\sqrt{3}; None where nothing follows a root."""
    first, *rest = text.split(_ROOT)
    if not all(rest):
        return None
    return first + "".join(f"{_ROOT}{part if part[0] == '{' else f'{{{part[0]}}}{part[1:]}'}" for part in rest)


def _brace_fractions(text: str) -> str | None:
    """\\frac12 as \\frac{1}{2}; the text as it is where a fraction has one sign only, None where it
    has none."""
    first, *rest = text.split(_FRACTION)
    made = first
    for part in rest:
        if not part:
            return None
        if part[0] == "{":
            made += f"{_FRACTION}{part}"
            continue
        if len(part) < 2:
            return text
        below = part[1:] if part[1] == "{" else f"{{{part[1]}}}{part[2:]}"
        made += f"{_FRACTION}{{{part[0]}}}{below}"
    return made


def _as_fraction(text: str) -> str:
    match = _QUOTIENT.fullmatch(text)
    if match is None or any(str(int(number)) != number for number in match.groups()):
        return text
    return f"\\frac{{{match[1]}}}{{{match[2]}}}"
