"""Is an answer to a question of mathematics the same as the gold: as text, as a number, as a term?

Three tests, the cheapest first: equal texts once LaTeX's dress is taken off; equal numbers, as far
as plain decimals, fractions, powers of ten and percentages go; equal terms, which Math-Verify
(extra `maths`) parses by a grammar and `scoring.terms` compares. Nothing is ever evaluated as code.
What no test can read is not equal. The work is bounded by the size of a term and not by a clock, so
that a verdict is the same on every machine.

A ratio a:b is the number a/b, as MATH-Vision's authors compare it (arXiv:2402.14804, their
published verdicts). Numbers count as equal within 1e-6.
"""

from __future__ import annotations

import logging
import re
from functools import lru_cache
from math import isfinite
from typing import Any

from snellen.core.errors import MissingExtra
from snellen.scoring.terms import same_term

TOLERANCE = 1e-6
EXTRA = "maths"
_LONGEST = 160
"""Characters of a term that is worth parsing; longer ones are sentences."""
_DEEPEST = 6
_MOST_DIGITS = 300
_MOST_SIGNS = 8
"""Brackets inside brackets, and bars, equals signs or functions, that the parser takes quickly."""
_DRESS = re.compile(
    r"\\(?:displaystyle|left|right|limits|,|;|!|:|quad|qquad)(?![A-Za-z])|\\[()\[\]]|\\?\$|~"
)
_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|mathit|operatorname)\s*\{([^{}]*)\}")
_BOX = re.compile(r"\\f?boxed\s*\{(.*)\}", re.DOTALL)
_DEGREE = re.compile(r"\^?\{?\\circ\}?|°")
_SPACE = re.compile(r"\s+")
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|\.(?!\d))?(?:[eE][-+]?\d{1,3})?"
_PLAIN = re.compile(rf"(?P<top>{_NUMBER})(?:[/:](?P<bottom>{_NUMBER}))?(?P<percent>\\?%)?")
_FRACTION = re.compile(
    r"(?P<sign>[-+]?)(?P<whole>\d+)?\\[dt]?frac\{(?P<top>\d+)\}\{(?P<bottom>\d+)\}"
)
_RATIO = re.compile(r"[^:]+:[^:]+")
_TOWER = re.compile(r"\^\{?[\w.]{1,8}\^|\^\{[^{}]*\^|\^\{?\s*\d{6,}|\d{4,}\s*!|!\s*!")
"""Terms whose value is too large to be written down are compared as text alone."""
_COMMANDS_IN_A_ROW = re.compile(r"(?:\\[a-z]+){4}")
_BRACED = re.compile(r"\{[^{}]*\}")
_NUMERIC_WORDS = re.compile(
    r"\\(?:displaystyle|frac|dfrac|tfrac|sqrt|pi|cdot|times|left|right|div|log|ln|sin|cos|tan)"
    r"(?![A-Za-z])|\bsqrt\b|\bpi\b"
)
_UNKNOWN_THERE = re.compile(
    r"\||\*\*|\\!|\\[dt]?frac(?!\s*\{)|\\[dt]?frac\s*\{[^{}]*\}(?!\s*\{)|\\sqrt(?!\s*[\[{])"
)
_STOPPED_THERE = re.compile(r"([-+]?\d+(?:\.\d+)?)\.[a-z]")
_BEFORE_FRACTION = re.compile(r"(?<=\d)(?=\\[dt]?frac)")
_NOT_NUMERIC = re.compile(r"[A-Za-z%'\"]|[^\x00-\x7f]|\\circ")
"""Letters, marks and signs outside of ASCII: their parser reads none, nor a long minus."""
_POWER_TIMES = re.compile(r"(\^\{[^{}]*\})\s*(?=\d)")
"""A power before a digit is a product; without the sign the parser takes the digit for another."""
_STARRED = re.compile(r"\*\*\(([^()]*)\)|\*\*([A-Za-z0-9.]+)")
_ROOT_WORD = re.compile(r"(?<![\\A-Za-z])sqrt\(([^()]*)\)")
_WORD = re.compile(r"(?<!\\)\b[A-Za-z]{4,}\b")


def equal(answer: str, gold: str) -> bool:
    """Whether two answers are the same text, number or term. Raises MissingExtra where a term
    has to be parsed and Math-Verify is not installed."""
    left, right = undressed(answer), undressed(gold)
    if not left or not right:
        return False
    if left == right:
        return True
    number, other = number_of(left), number_of(right)
    if number is not None and other is not None:
        return abs(number - other) < TOLERANCE
    return _same_term(left, right)


def equal_official(answer: str, gold: str) -> bool:
    """MATH-Vision's own verdict on a short answer: equal texts in any case, pairs of equal values,
    or two values that agree once rounded to two places. A unit, a degree or a percent sign leaves
    no value; what stands behind a number, a dot and a letter does not count."""
    if answer.strip().lower() == gold.strip().lower():
        return bool(answer.strip())
    if _tuple(answer) == _tuple(gold) != ():
        return True
    left, right = _official_value(answer), _official_value(gold)
    return (
        left is not None and right is not None and abs(round(left, 2) - round(right, 2)) < TOLERANCE
    )


@lru_cache(maxsize=65536)
def undressed(text: str) -> str:
    """The text in lower case without spaces, dollar signs, sizes, units of angle, boxes and a
    final dot; texts inside \\text{...} are kept. It ends where a brace is closed that was never
    opened: readers of \\boxed{...} leave such tails."""
    boxed = _BOX.fullmatch(text.strip())
    core = boxed[1] if boxed else text
    core = _DEGREE.sub("", _DRESS.sub("", _TEXT.sub(r"\1", core)))
    core = _balanced(core).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    core = _SPACE.sub("", core).rstrip(".\\").lower()
    inner = core[1:-1]
    if core.startswith("{") and core.endswith("}") and not set("{},") & set(inner):
        return inner
    return core


def number_of(text: str) -> float | None:
    """The number that an undressed text is: 12, 1,000, .5, 3/4, 5:19, 20%, 2\\frac{1}{2}."""
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        # Above 308 digits there is no float, above 4,300 Python makes no number of them.
        if max(map(len, filter(None, fraction.groups()))) > _MOST_DIGITS:
            return None
        top, bottom = int(fraction["top"]), int(fraction["bottom"])
        if bottom == 0:
            return None
        value = int(fraction["whole"] or 0) + top / bottom
        return -value if fraction["sign"] == "-" else value
    plain = _PLAIN.fullmatch(text)
    if plain is None:
        return None
    over = _decimal(plain["top"])
    under = 1.0 if plain["bottom"] is None else _decimal(plain["bottom"])
    if over is None or not under:
        return None
    return over / under / (100 if plain["percent"] else 1)


def _official_value(text: str) -> float | None:
    """The value by the parser of MATH-Vision's script, which takes 2\\frac{1}{2} for a product, and
    knows neither bars, stars and thin spaces nor fractions and roots without braces."""
    closed = _closed(text)
    if _UNKNOWN_THERE.search(closed):
        return None
    stopped = _STOPPED_THERE.match(closed)
    try:
        value = _value(stopped[1] if stopped else _BEFORE_FRACTION.sub(r"\\cdot ", closed))
    except OverflowError:  # 2^{99999} is no float
        return None
    return value if value is not None and isfinite(value) else None


def _tuple(text: str) -> tuple[str, ...]:
    """The values of (a,b) or [a,b] behind its bracket, whole numbers as such and others to two
    places; empty where it is none."""
    core = text.strip().lower()
    parts = core[1:-1].split(",")
    if len(parts) < 2 or core[0] + core[-1] not in ("()", "[]"):
        return ()
    found = [core[0]]
    for part in parts:
        value = None if _kept_there(part) else _official_value(part)
        if value is None and not _kept_there(part):
            return ()
        rounded = value if value is None or value != int(value) else int(value)
        found.append(part if rounded is None else str(round(rounded, 2)))
    return tuple(found)


def _kept_there(part: str) -> bool:
    return "infty" in part or part in ("a", "-a")


def _closed(text: str) -> str:
    """Lower case, without dollar signs, up to a brace that was never opened."""
    core = _SPACE.sub(" ", _balanced(text.strip().strip("$")).strip().lower())
    return core[1:-1] if _BRACED.fullmatch(core) else core


@lru_cache(maxsize=65536)
def _value(text: str) -> float | None:
    """The number that a text or a numeric term of LaTeX is."""
    bare = text.replace(" ", "")
    if not text or _NOT_NUMERIC.search(_NUMERIC_WORDS.sub(" ", text)):
        return None
    plain = number_of(bare)
    if plain is not None:
        return plain
    if _hopeless(bare):
        return None
    for term in _parsed(text):
        if getattr(term, "is_number", False) and getattr(term, "is_real", False):
            return float(term)
    return None


def require() -> None:
    """Raises MissingExtra where terms cannot be compared."""
    try:
        import math_verify  # noqa: F401
    except ImportError as error:
        raise MissingExtra("comparing terms", EXTRA, "Math-Verify") from error


def _decimal(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _balanced(text: str) -> str:
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return text[:position]
    return text


@lru_cache(maxsize=65536)
def _same_term(left: str, right: str) -> bool:
    if _hopeless(left) or _hopeless(right):
        return False
    ours, theirs = _parsed(left), _parsed(right)
    if not ours or not theirs:
        return False
    return any(same_term(gold, said) for gold in theirs for said in ours)


def _hopeless(text: str) -> bool:
    """Sentences, and numbers too large: no term to be parsed."""
    return (
        len(text) > _LONGEST
        or _TOWER.search(text) is not None
        or _WORD.search(text.replace("sqrt", "")) is not None
        or _slow_to_parse(text)
    )


def _slow_to_parse(text: str) -> bool:
    """Whether the parser's work would grow out of bounds: it doubles with every bracket."""
    depth = deepest = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        deepest = max(deepest, depth)
    many = max(text.count("|"), text.count("="), len(_COMMANDS_IN_A_ROW.findall(text)))
    return deepest > _DEEPEST or many > _MOST_SIGNS


@lru_cache(maxsize=65536)
def _parsed(text: str) -> tuple[Any, ...]:
    """What Math-Verify reads in a text, SymPy's terms first; empty where it reads nothing."""
    require()
    from math_verify import LatexExtractionConfig, parse

    # It would warn, once, that no clock stops it, and count by signals if one did.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    config = LatexExtractionConfig(boxed_match_priority=-1)
    found = parse(f"${_as_latex(text)}$", extraction_config=(config,), parsing_timeout=None)
    return tuple(found)


def _as_latex(text: str) -> str:
    """Ratios as quotients, and powers and roots as other languages write them, in LaTeX."""
    if _RATIO.fullmatch(text):
        over, under = text.split(":")
        text = f"\\frac{{{over}}}{{{under}}}"
    text = _POWER_TIMES.sub(r"\1\\cdot ", text)
    text = _STARRED.sub(lambda match: f"^{{{match[1] or match[2]}}}", text)
    return _ROOT_WORD.sub(r"\\sqrt{\1}", text)
