"""Equality of two SymPy terms, decided by a bounded amount of work so that no verdict depends on a
clock.

No term is simplified and no equation solved, since both may take any time. Two terms are the same
if they are written the same, or agree at fixed points: their variables get the same fractions in
both, and the values, with 20 digits, may differ by one part in 10^9. A chain "x = 2" against a bare
term is its right side. Equations and inequalities are the same if left minus right differs by a
constant factor, which for inequalities must keep or flip the sign accordingly. Sets are compared
without regard to order; (1, 2) may be an open interval or a pair.

Terms too large to evaluate (powers, factorials, integrals, sums) are compared only as written.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

_MAX_OPERATIONS = 150
_MAX_SYMBOLS = 6
_MAX_EXPONENT = 1000
_DIGITS = 20
_UNBOUNDED = frozenset({"Integral", "Sum", "Product", "Limit", "Derivative", "Subs"})
_TOLERANCE = 1e-9
_DECIMALS = 6
"""Decimals to which a decimal fraction is compared with another number."""
_POINTS = ((3, 7), (11, 5), (-13, 17), (5, 23), (29, 19))
"""Fractions assigned to the first variable; the other variables get fractions derived from them."""


def is_same_term(gold: Any, answer: Any) -> bool:
    """Whether a parsed answer equals the gold. Strings, which the parser returns for what is not a
    term, are compared as text."""
    from sympy import Basic, MatrixBase

    if isinstance(gold, str) or isinstance(answer, str):
        both = isinstance(gold, str) and isinstance(answer, str)
        return both and bool(gold.strip()) and gold.strip() == answer.strip()
    term = (Basic, MatrixBase)
    if not isinstance(gold, term) or not isinstance(answer, term):
        return False
    return _are_same(gold, answer)


def _are_same(gold: Any, answer: Any) -> bool:
    """Whether two SymPy terms are the same; relations, sets and matrices by their parts."""
    from sympy import MatrixBase, Set, Symbol, Tuple, nan, zoo

    gold, answer = _drop_equation_names(gold, answer)
    if gold in (nan, zoo) or answer in (nan, zoo):
        return False
    if gold == answer:
        return True
    relations = _relations(gold), _relations(answer)
    if relations[0] and relations[1]:
        return len(relations[0]) == len(relations[1]) and all(map(_same_relation, relations[0], relations[1]))
    if isinstance(gold, (Set, Tuple)) or isinstance(answer, (Set, Tuple)):
        return _same_items(gold, answer)
    if isinstance(gold, Symbol) or isinstance(answer, Symbol):
        return _letters(gold) == _letters(answer) != ""
    if isinstance(gold, MatrixBase) or isinstance(answer, MatrixBase):
        return getattr(gold, "shape", None) == getattr(answer, "shape", None) and all(
            map(_are_same, gold.flat(), answer.flat())
        )
    if relations[0] or relations[1]:
        return False
    return _same_value(gold, answer)


def _relations(term: Any) -> tuple[Any, ...]:
    """The relation that a term is, or the relations of a chain such as 1 < x < 2."""
    from sympy.core.relational import Relational

    if isinstance(term, Relational):
        return (term,)
    parts = getattr(term, "_unsorted_args", ())
    chain = type(term).__name__ == "And" and parts
    return tuple(parts) if chain and all(isinstance(part, Relational) for part in parts) else ()


def _drop_equation_names(gold: Any, answer: Any) -> tuple[Any, Any]:
    """For a gold that is not an equation, an answer "x = 2" becomes 2; for the answer 2, a gold "x
    = 2" becomes 2. A gold "2x + z = 1" is left unchanged."""
    from sympy import Eq

    golds, answers = _equations(gold), _equations(answer)
    if answers and not golds:
        return gold, answers[-1].rhs
    named = golds and golds[0].lhs.is_Symbol
    if named and not answers:
        return golds[-1].rhs, answer
    if len(golds) > 1 and named:
        gold = Eq(golds[0].lhs, golds[-1].rhs, evaluate=False)
    if len(answers) > 1 and answers[0].lhs.is_Symbol:
        answer = Eq(answers[0].lhs, answers[-1].rhs, evaluate=False)
    return gold, answer


def _equations(term: Any) -> tuple[Any, ...]:
    from sympy import Eq

    relations = _relations(term)
    return relations if all(isinstance(relation, Eq) for relation in relations) else ()


def _same_relation(gold: Any, answer: Any) -> bool:
    """Whether two equations or inequalities have the same solutions by a constant factor."""
    from sympy import Eq

    left, right = gold.lhs - gold.rhs, answer.lhs - answer.rhs
    turned = type(gold) is not Eq and gold.reversed.func is answer.func
    if type(gold) is not type(answer) and not turned:
        return False
    ratio = _constant_ratio(left, right)
    if ratio is None:
        return False
    if type(gold) is Eq:
        return True
    return ratio.real < 0 if turned else ratio.real > 0


def _same_items(gold: Any, answer: Any) -> bool:
    """Whether two sets, tuples or intervals have the same items."""
    from sympy import FiniteSet, Interval, Set, Tuple

    if isinstance(gold, Interval) and isinstance(answer, Interval):
        ends = gold.left_open == answer.left_open and gold.right_open == answer.right_open
        return ends and _are_same(gold.start, answer.start) and _are_same(gold.end, answer.end)
    if isinstance(gold, Interval) and gold.is_open:
        gold = Tuple(gold.start, gold.end)
    if isinstance(answer, Interval) and answer.is_open:
        answer = Tuple(answer.start, answer.end)
    gold_items, answer_items = (
        _items(term) if isinstance(term, (FiniteSet, Tuple)) else None if isinstance(term, Set) else [term]
        for term in (gold, answer)
    )
    if gold_items is None or answer_items is None or len(gold_items) != len(answer_items):
        return False
    if isinstance(gold, Tuple) or isinstance(answer, Tuple):
        return all(map(_are_same, gold_items, answer_items))
    return _match_unordered(gold_items, answer_items)


def _items(term: Any) -> list[Any]:
    """The items in the order they were written, if SymPy knows it."""
    return list(getattr(term, "_unsorted_args", term.args))


def _match_unordered(golds: Sequence[Any], answers: Sequence[Any]) -> bool:
    """Whether each gold item has an answer item of its own that is the same."""
    unmatched = list(answers)
    for gold in golds:
        index = next((position for position, answer in enumerate(unmatched) if _are_same(gold, answer)), None)
        if index is None:
            return False
        del unmatched[index]
    return True


def _letters(term: Any) -> str:
    """The letters of a symbol, or of the product of symbols that the parser makes of a word."""
    from sympy import E, Mul, Symbol

    parts = term.args if isinstance(term, Mul) else (term,)
    if not all(part == E or isinstance(part, Symbol) for part in parts):
        return ""
    names = [part.name if isinstance(part, Symbol) else "e" for part in parts]
    word = "".join(names)
    return word if len(word) == 1 else word.lower()


def _same_value(gold: Any, answer: Any) -> bool:
    """Whether two terms have the same value, at all fixed points if they have variables."""
    if not (_is_evaluable(gold) and _is_evaluable(answer)):
        return False
    if not gold.free_symbols and not answer.free_symbols:
        return _same_number(gold, answer)
    pairs = _values_at_points(gold, answer)
    return len(pairs) > 1 and all(_is_close(first, second) for first, second in pairs)


def _same_number(gold: Any, answer: Any) -> bool:
    from sympy import Float

    gold_value, answer_value = _value(gold, {}), _value(answer, {})
    if gold_value is None or answer_value is None:
        return False
    percents = _percent_value(gold), _percent_value(answer)
    if (percents[0] is None) != (percents[1] is None):  # only one has a percent sign: 9 % equals 9
        gold_value, answer_value = (
            value if part is None else part for value, part in zip((gold_value, answer_value), percents, strict=True)
        )
    if isinstance(gold, Float) or isinstance(answer, Float):
        return round(gold_value.real, _DECIMALS) == round(answer_value.real, _DECIMALS)
    return _is_close(gold_value, answer_value)


def _is_close(first: complex, second: complex) -> bool:
    return abs(first - second) <= _TOLERANCE * max(abs(first), abs(second), _TOLERANCE)


def _percent_value(term: Any) -> complex | None:
    from sympy import Integer, Mul, Rational, UnevaluatedExpr

    hundredth = UnevaluatedExpr(Rational(1, 100))
    is_part = isinstance(term, Mul) and len(term.args) == 2 and term.args[1] == hundredth
    return complex(term.args[0]) if is_part and isinstance(term.args[0], Integer) else None


def _constant_ratio(gold: Any, answer: Any) -> complex | None:
    """The ratio of two terms if it is the same at all points, else None."""
    if not (_is_evaluable(gold) and _is_evaluable(answer)):
        return None
    ratios = [gold_value / answer_value for gold_value, answer_value in _values_at_points(gold, answer) if answer_value]
    if len(ratios) < 2 or not ratios[0] or not all(_is_close(ratio, ratios[0]) for ratio in ratios):
        return None
    return ratios[0]


def _values_at_points(gold: Any, answer: Any) -> list[tuple[complex, complex]]:
    """The values of two terms at the fixed points at which both have one."""
    from sympy import Rational

    names = sorted(gold.free_symbols | answer.free_symbols, key=str)
    if len(names) > _MAX_SYMBOLS:
        return []
    pairs = []
    for top, bottom in _POINTS:
        point = {name: Rational(top + 2 * k, bottom + 3 * k) for k, name in enumerate(names)}
        gold_value, answer_value = _value(gold, point), _value(answer, point)
        if gold_value is not None and answer_value is not None:
            pairs.append((gold_value, answer_value))
    return pairs


def _value(term: Any, point: dict[Any, Any]) -> complex | None:
    """The value of a term at a point; None if it is not a finite number."""
    try:
        number = complex(term.evalf(_DIGITS, subs=point, maxn=2 * _DIGITS))
    except (TypeError, ValueError, ArithmeticError, AttributeError, NotImplementedError):
        return None
    return number if number == number and abs(number) != float("inf") else None


def _is_evaluable(term: Any) -> bool:
    """Whether a term is small, and all its operations take bounded work."""
    from sympy import Expr, factorial, preorder_traversal
    from sympy.core.function import AppliedUndef
    from sympy.core.power import Pow

    if not isinstance(term, Expr):
        return False
    for count, part in enumerate(preorder_traversal(term)):
        if count > _MAX_OPERATIONS or type(part).__name__ in _UNBOUNDED:
            return False
        large = isinstance(part, (Pow, factorial)) and _is_too_large(part.args[-1])
        if large or isinstance(part, AppliedUndef):
            return False
    return True


def _is_too_large(number: Any) -> bool:
    return bool(number.is_Number) and not abs(number) <= _MAX_EXPONENT
