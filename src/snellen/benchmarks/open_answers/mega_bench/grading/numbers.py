"""Metrics of numbers, and of lists of them.

MEGA-Bench (arXiv:2410.10563), megabench/metrics/scoring: mse.py, number_rel_diff_ratio.py,
positive_int_match.py and general_numerical_match.py.
"""

from __future__ import annotations

import ast
import math
import operator
import re
import warnings
from collections.abc import Callable
from numbers import Number
from statistics import fmean
from typing import Any

from snellen.benchmarks.open_answers.mega_bench.grading.latex import LatexError, parse_latex
from snellen.benchmarks.open_answers.mega_bench.grading.literals import to_list
from snellen.benchmarks.open_answers.mega_bench.grading.texts import equal_signs
from snellen.core.literals import BROKEN_LITERAL, evaluate_literal

_FAR = 0.1
"""Difference of two fractions at which the score is 0."""
_FAR_ANGLES = 10.0
"""Mean difference of angles, in degrees, at which the score is 0."""
_NEAR = 0.01
_MAX_BITS = 4096
"""Bits of a power that is evaluated."""
_INLINE = re.compile(r"\\\((?:(.*?)\\\)|.*)")
_DISPLAY = re.compile(r"\\\[(?:(.*?)\\\]|.*)")
"""To the end of the line where the bracket that closes is missing: it is looked for once."""
_ASSIGNED = re.compile(r"(?:=|≈|\\approx)\s*(.+)")
_BOXED = re.compile(r"\\boxed\{((?:[^{}]+|\{[^{}]*\})*)\}")
_BARE_PI = re.compile(r"(?<![\d}])\\?π")
_TIMES_PI = re.compile(r"(\d)\\?π")
_BRACED_PI = re.compile(r"\{\\?π\}")
_STARRED_PI = re.compile(r"\*\\?π")
_PLAIN = re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")
_MAY_BE_NUMBER = re.compile(r"\d|E|True|False")
"""A text without any of these is no number, whatever grammar reads it."""
_UNITS = ("$", "¥", "°C", " C", "°")
_NAMES = {"E": 2.718, "True": True, "False": False}
"""Names that an expression may hold; E as the authors have it."""


def closeness(reply: Any, gold: Any) -> float:
    """`number_rel_diff_ratio`: 1 - |reply - gold| / |gold|, at least 0."""
    number = reply if isinstance(reply, Number) else evaluate_literal(reply)
    if not isinstance(number, Number):
        return 0.0
    value = evaluate_literal(gold)
    return max(0.0, 1 - math.fabs((number - value) / value))


def equal_count(reply: Any, gold: Any) -> float | None:
    """`positive_int_match`: equal whole numbers; None, which does not count, if neither is above
    0."""
    number = evaluate_literal(reply)
    if not gold:
        return 0.0
    expected = evaluate_literal(gold)
    if not isinstance(expected, int) or not isinstance(number, int):
        return 0.0
    return None if expected <= 0 and number <= 0 else float(number == expected)


def near_fraction(reply: Any, gold: Any) -> float:
    """`normalized_rmse`: 1 - difference / 0.1, at least 0."""
    difference = float(abs(evaluate_literal(reply) - evaluate_literal(gold)))
    return 1 - min(difference, _FAR) / _FAR


def near_angles(reply: Any, gold: Any) -> float:
    """`angle_seq_float_rmse`: 1 - mean difference of the angles in their order / 10, at least 0;
    0 for another number of angles."""
    reply, gold = to_list(reply), to_list(gold)
    if len(reply) != len(gold):
        return 0.0
    difference = fmean(abs(one - other) for one, other in zip(reply, gold, strict=True))
    return 0.0 if math.isnan(difference) else 1 - min(difference, _FAR_ANGLES) / _FAR_ANGLES


def equal_number(reply: Any, gold: Any) -> float:
    """`general_single_numerical_match`: within 1 % of the gold's value, behind an equals sign if
    there is one; texts that are no numbers are held against each other by their signs.

    Raises MissingExtra where LaTeX has to be parsed and cannot.
    """
    texts = [_term(str(reply)), _term(gold)]
    number, value = map(value_of, texts)
    if number is None or value is None:
        return equal_signs(*texts)
    if type(number) is type(value) and isinstance(number, list | tuple):
        return float(_same_numbers(number, value))
    return float(_is_near(number, value))


def equal_boxed_number(reply: Any, gold: Any) -> float:
    r"""`boxed_single_numerical_match`: as `equal_number`, of what stands in the first \boxed{}."""
    texts = [_box_content(str(reply)), _box_content(gold)]
    return equal_number(*texts)


def value_of(text: str) -> Any:
    """The value of a number in LaTeX or as Python writes it, without units; pi is 3.14. A list of
    numbers is a list. None for anything else, such as a term with a letter or a function."""
    text = _without_units(text)
    if _PLAIN.fullmatch(text):
        return float(text)
    if not _MAY_BE_NUMBER.search(text):
        return None
    try:
        written = str(parse_latex(text))
    except LatexError:
        written = text
    try:
        return float(written)
    except ValueError:
        value = evaluate(written)
    if isinstance(value, list | tuple):
        return value
    try:
        return None if value is None else float(value)
    except (ValueError, TypeError, OverflowError):
        return None


def evaluate(expression: str) -> Any:
    """The value of an expression of numbers, lists of them, + - * / ** and comparisons; None for
    any other. Nothing is run as code."""
    try:
        with warnings.catch_warnings():
            # A text such as "2if" is a warning of the parser, not of ours.
            warnings.simplefilter("ignore")
            tree = ast.parse(expression.strip(), mode="eval")
        return _value(tree.body)
    except (*BROKEN_LITERAL, ZeroDivisionError, OverflowError, KeyError):
        return None


_OPERATIONS: dict[type[ast.AST], Callable[..., Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
    ast.Mod: operator.mod,
    ast.USub: operator.neg,
    ast.UAdd: operator.pos,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}


def _value(node: ast.expr) -> Any:
    """Raises KeyError or ValueError for what is not arithmetic."""
    match node:
        case ast.Constant(value=int() | float() as number):
            return number
        case ast.Name(id=name):
            return _NAMES[name]
        case ast.List(elts=items):
            return [_value(item) for item in items]
        case ast.Tuple(elts=items):
            return tuple(_value(item) for item in items)
        case ast.UnaryOp(op=sign, operand=operand):
            return _OPERATIONS[type(sign)](_number(operand))
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            return _power(_number(left), _number(right))
        case ast.BinOp(left=left, op=sign, right=right):
            return _OPERATIONS[type(sign)](_number(left), _number(right))
        case ast.Compare(left=left, ops=[sign], comparators=[right]):
            return _OPERATIONS[type(sign)](_number(left), _number(right))
    raise ValueError(f"not arithmetic: {type(node).__name__}")


def _number(node: ast.expr) -> int | float:
    value = _value(node)
    if not isinstance(value, int | float):
        raise ValueError("not a number")
    return value


def _power(base: int | float, exponent: int | float) -> Any:
    if abs(base) > 1 and abs(exponent) * math.log2(abs(base)) > _MAX_BITS:
        raise OverflowError("a power too large to write down")
    return base**exponent


def _without_units(text: str) -> str:
    text = text.replace("\\pi", "π")
    text = _TIMES_PI.sub(r"\1*3.14", _BARE_PI.sub("3.14", text))
    text = _STARRED_PI.sub("*3.14", _BRACED_PI.sub("3.14", text)).replace("%", "/100")
    for unit in _UNITS:
        text = text.replace(unit, "")
    return text


def _term(text: str) -> str:
    """What stands behind an equals sign, else the text; both without LaTeX's brackets."""
    for brackets in (_INLINE, _DISPLAY):
        text = brackets.sub(lambda match: match[0] if match[1] is None else match[1], text)
    found = _ASSIGNED.search(text)
    return found[1].strip() if found else text


def _box_content(text: str) -> str:
    found = _BOXED.search(text)
    return found[1] if found else text


def _same_numbers(reply: Any, gold: Any) -> bool:
    """Whether lists hold the same numbers in any order. Tuples are never the same, as in the
    authors' code."""
    if not isinstance(reply, list) or len(reply) != len(gold):
        return False
    return all(map(_is_near, sorted(reply), sorted(gold)))


def _is_near(number: Any, gold: Any) -> bool:
    if not isinstance(number, int | float) or not isinstance(gold, int | float):
        return False
    margin = abs(gold) * _NEAR
    return gold - margin <= number <= gold + margin
