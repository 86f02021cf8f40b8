"""Equivalence of an answer to a mathematical question with the gold: as text, as a number or as a
term.

Three tests, the cheapest first: equal texts after LaTeX markup is removed; equal numbers (plain
decimals, fractions, powers of ten and percentages); equal terms, which Math-Verify (extra `maths`)
parses by a grammar and `scoring.terms` compares. Nothing is ever evaluated as code. What no test
can parse is not equal. Work is bounded by the size of a term and not by a clock, so that a verdict
is the same on every machine.

A ratio a:b is the number a/b, as MATH-Vision's authors compare it (arXiv:2402.14804, their
published verdicts). Numbers are equal within 1e-6.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from functools import lru_cache
from math import isfinite
from typing import Any

from snellen.core.errors import MissingExtra
from snellen.scoring.terms import is_same_term

TOLERANCE = 1e-6
EXTRA = "maths"
_MAX_LENGTH = 160
"""Characters of a term that is parsed; longer texts are sentences."""
_MAX_DEPTH = 6
_MAX_DIGITS = 300
_MAX_SIGNS = 8
"""With `_MAX_DEPTH`, the limits within which the parser is fast: nested brackets, and bars, equals
signs or functions in a row."""
_MARKUP = re.compile(r"\\(?:displaystyle|left|right|limits|,|;|!|:|quad|qquad)(?![A-Za-z])|\\[()\[\]]|\\?\$|~")
_TEXT = re.compile(r"\\(?:text|mathrm|mathbf|textbf|mbox|mathit|operatorname)\s*\{([^{}]*)\}")
_BOX = re.compile(r"\\f?boxed\s*\{(.*)\}", re.DOTALL)
_DEGREE = re.compile(r"\^?\{?\\circ\}?|°")
_SPACE = re.compile(r"\s+")
_NUMBER = r"[-+]?(?:\d{1,3}(?:,\d{3})+|\d+)?(?:\.\d+|\.(?!\d))?(?:[eE][-+]?\d{1,3})?"
_PLAIN_NUMBER = re.compile(rf"(?P<top>{_NUMBER})(?:[/:](?P<bottom>{_NUMBER}))?(?P<percent>\\?%)?")
_FRACTION = re.compile(r"(?P<sign>[-+]?)(?P<whole>\d+)?\\[dt]?frac\{(?P<top>\d+)\}\{(?P<bottom>\d+)\}")
_RATIO = re.compile(r"[^:]+:[^:]+")
_TOWER = re.compile(r"\^\{?[\w.]{1,8}\^|\^\{[^{}]*\^|\^\{?\s*\d{6,}|\d{4,}\s*!|!\s*!")
"""Terms whose value is too large to write down; they are compared as text only."""
_COMMANDS_IN_A_ROW = re.compile(r"(?:\\[a-z]+){4}")
_BRACED = re.compile(r"\{[^{}]*\}")
_NUMERIC_WORDS = re.compile(
    r"\\(?:displaystyle|frac|dfrac|tfrac|sqrt|pi|cdot|times|left|right|div|log|ln|sin|cos|tan)"
    r"(?![A-Za-z])|\bsqrt\b|\bpi\b"
)
_UNSUPPORTED_OFFICIALLY = re.compile(
    r"\||\*\*|\\!|\\[dt]?frac(?!\s*\{)|\\[dt]?frac\s*\{[^{}]*\}(?!\s*\{)|\\sqrt(?!\s*[\[{])"
)
_OFFICIAL_NUMBER = re.compile(r"([-+]?\d+(?:\.\d+)?)\.[a-z]")
_BEFORE_FRACTION = re.compile(r"(?<=\d)(?=\\[dt]?frac)")
_NOT_NUMERIC = re.compile(r"[A-Za-z%'\"]|[^\x00-\x7f]|\\circ")
"""Letters, quotes and signs outside ASCII: the official parser accepts none, nor a Unicode
minus."""
_POWER_TIMES = re.compile(r"(\^\{[^{}]*\})\s*(?=\d)")
"""A power before a digit is a product; without an explicit sign the parser misreads the digit."""
_STARRED = re.compile(r"\*\*\(([^()]*)\)|\*\*([A-Za-z0-9.]+)")
_ROOT_WORD = re.compile(r"(?<![\\A-Za-z])sqrt\(([^()]*)\)")
_WORD = re.compile(r"(?<!\\)\b[A-Za-z]{4,}\b")


def equal(answer: str, gold: str) -> bool:
    """Whether two answers are the same text, number or term.

    Raises MissingExtra if a term has to be parsed and Math-Verify is not installed.
    """
    left, right = strip_markup(answer), strip_markup(gold)
    if not left or not right:
        return False
    if left == right:
        return True
    number, other = parse_number(left), parse_number(right)
    if number is not None and other is not None:
        return abs(number - other) < TOLERANCE
    return _same_term(left, right)


def equals_gold(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer is `equal` to a gold answer. Raises MissingExtra as `equal`."""
    return any(equal(answer, gold) for gold in golds)


def same_number(answer: str, golds: Sequence[str]) -> bool:
    """Whether the answer is the number that a gold answer is."""
    number = parse_number(strip_markup(answer))
    return number is not None and any(
        other is not None and abs(number - other) < TOLERANCE for other in map(parse_number, map(strip_markup, golds))
    )


def equal_official(answer: str, gold: str) -> bool:
    """MATH-Vision's own verdict on a short answer: equal texts in any case, tuples of equal values,
    or two values that agree after rounding to two decimals. A unit, a degree or a percent sign
    makes an answer non-numeric; whatever follows a number, a dot and a letter is ignored."""
    if answer.strip().lower() == gold.strip().lower():
        return bool(answer.strip())
    if _official_tuple(answer) == _official_tuple(gold) != ():
        return True
    left, right = _official_value(answer), _official_value(gold)
    return left is not None and right is not None and abs(round(left, 2) - round(right, 2)) < TOLERANCE


@lru_cache(maxsize=65536)
def strip_markup(text: str) -> str:
    """Remove LaTeX markup: lower case without spaces, dollar signs, sizes, degree signs, boxes and
    a final dot; the contents of \\text{...} are kept. The text is cut at a closing brace that was
    never opened, since extraction from \\boxed{...} leaves such tails."""
    boxed = _BOX.fullmatch(text.strip())
    core = boxed[1] if boxed else text
    core = _DEGREE.sub("", _MARKUP.sub("", _TEXT.sub(r"\1", core)))
    core = _cut_at_unopened_brace(core).replace("\\dfrac", "\\frac").replace("\\tfrac", "\\frac")
    core = _SPACE.sub("", core).rstrip(".\\").lower()
    inner = core[1:-1]
    if core.startswith("{") and core.endswith("}") and not set("{},") & set(inner):
        return inner
    return core


def parse_number(text: str) -> float | None:
    """The value of a text without markup, if it is a number: 12, 1,000, .5, 3/4, 5:19, 20%,
    2\\frac{1}{2}. Else None."""
    fraction = _FRACTION.fullmatch(text)
    if fraction:
        # Floats end at 308 digits, and Python refuses to parse integers above 4,300 digits.
        if max(map(len, filter(None, fraction.groups()))) > _MAX_DIGITS:
            return None
        top, bottom = int(fraction["top"]), int(fraction["bottom"])
        if bottom == 0:
            return None
        value = int(fraction["whole"] or 0) + top / bottom
        return -value if fraction["sign"] == "-" else value
    plain = _PLAIN_NUMBER.fullmatch(text)
    if plain is None:
        return None
    numerator = _parse_decimal(plain["top"])
    denominator = 1.0 if plain["bottom"] is None else _parse_decimal(plain["bottom"])
    if numerator is None or not denominator:
        return None
    return numerator / denominator / (100 if plain["percent"] else 1)


def _official_value(text: str) -> float | None:
    """The value by the parser of MATH-Vision's script, which multiplies 2\\frac{1}{2} and supports
    neither bars, stars and thin spaces nor fractions and roots without braces."""
    closed = _official_form(text)
    if _UNSUPPORTED_OFFICIALLY.search(closed):
        return None
    stopped = _OFFICIAL_NUMBER.match(closed)
    try:
        value = _numeric_value(stopped[1] if stopped else _BEFORE_FRACTION.sub(r"\\cdot ", closed))
    except OverflowError:  # 2^{99999} exceeds the range of floats
        return None
    return value if value is not None and isfinite(value) else None


def _official_tuple(text: str) -> tuple[str, ...]:
    """The opening bracket and the values of (a,b) or [a,b], integers without decimals and others to
    two decimals. Empty if the text is not a tuple."""
    core = text.strip().lower()
    parts = core[1:-1].split(",")
    if len(parts) < 2 or core[0] + core[-1] not in ("()", "[]"):
        return ()
    parts_text = [core[0]]
    for part in parts:
        value = None if _is_kept_officially(part) else _official_value(part)
        if value is None and not _is_kept_officially(part):
            return ()
        rounded = value if value is None or value != int(value) else int(value)
        parts_text.append(part if rounded is None else str(round(rounded, 2)))
    return tuple(parts_text)


def _is_kept_officially(part: str) -> bool:
    return "infty" in part or part in ("a", "-a")


def _official_form(text: str) -> str:
    """Lower case without dollar signs, cut at an unopened closing brace."""
    core = _SPACE.sub(" ", _cut_at_unopened_brace(text.strip().strip("$")).strip().lower())
    return core[1:-1] if _BRACED.fullmatch(core) else core


@lru_cache(maxsize=65536)
def _numeric_value(text: str) -> float | None:
    """The value of a text or of a numeric LaTeX term, or None."""
    bare = text.replace(" ", "")
    if not text or _NOT_NUMERIC.search(_NUMERIC_WORDS.sub(" ", text)):
        return None
    plain = parse_number(bare)
    if plain is not None:
        return plain
    if _is_unparsable(bare):
        return None
    for term in _parse_terms(text):
        if getattr(term, "is_number", False) and getattr(term, "is_real", False):
            return float(term)
    return None


def require_math_verify() -> None:
    """Check that terms can be compared. Raises MissingExtra if Math-Verify is not installed."""
    try:
        import math_verify  # noqa: F401
    except ImportError as error:
        raise MissingExtra("comparing terms", EXTRA, "Math-Verify") from error


def _parse_decimal(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


def _cut_at_unopened_brace(text: str) -> str:
    """The text up to the first closing brace that was never opened."""
    depth = 0
    for position, sign in enumerate(text):
        depth += (sign == "{") - (sign == "}")
        if depth < 0:
            return text[:position]
    return text


@lru_cache(maxsize=65536)
def _same_term(left: str, right: str) -> bool:
    if _is_unparsable(left) or _is_unparsable(right):
        return False
    answers, golds = _parse_terms(left), _parse_terms(right)
    if not answers or not golds:
        return False
    return any(is_same_term(gold, answer) for gold in golds for answer in answers)


def _is_unparsable(text: str) -> bool:
    """Whether a text is a sentence, or a term too large or too slow to parse."""
    return (
        len(text) > _MAX_LENGTH
        or _TOWER.search(text) is not None
        or _WORD.search(text.replace("sqrt", "")) is not None
        or is_slow_to_parse(text)
    )


def is_slow_to_parse(text: str) -> bool:
    """Whether the parser would take too long: its work doubles with every bracket level."""
    depth = max_depth = 0
    for sign in text:
        depth += (sign in "([{") - (sign in ")]}")
        max_depth = max(max_depth, depth)
    repeated = max(text.count("|"), text.count("="), len(_COMMANDS_IN_A_ROW.findall(text)))
    return max_depth > _MAX_DEPTH or repeated > _MAX_SIGNS


@lru_cache(maxsize=65536)
def _parse_terms(text: str) -> tuple[Any, ...]:
    """Terms that Math-Verify parses from a text, SymPy's first; empty if it parses none."""
    require_math_verify()
    from math_verify import LatexExtractionConfig, parse

    # Without a timeout it logs a warning; with one it would use signals, which only work in the
    # main thread and make verdicts depend on the machine.
    logging.getLogger("math_verify").setLevel(logging.ERROR)
    config = LatexExtractionConfig(boxed_match_priority=-1)
    terms = parse(f"${_to_latex(text)}$", extraction_config=(config,), parsing_timeout=None)
    return tuple(terms)


def _to_latex(text: str) -> str:
    """Rewrite ratios as quotients, and powers and roots in program notation as LaTeX."""
    if _RATIO.fullmatch(text):
        over, under = text.split(":")
        text = f"\\frac{{{over}}}{{{under}}}"
    text = _POWER_TIMES.sub(r"\1\\cdot ", text)
    text = _STARRED.sub(lambda match: f"^{{{match[1] or match[2]}}}", text)
    return _ROOT_WORD.sub(r"\\sqrt{\1}", text)
