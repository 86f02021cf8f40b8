"""Whether an answer solves a puzzle: MME-Reasoning's checks of answers that are not unique.

Yuan et al. 2025 (https://arxiv.org/abs/2505.21327), Sec. 3.3. Each check has its name in the data
(`function_id`). It gets the answer as a value of JSON, or as text, the gold answer, and what the
data say of the puzzle (`special_info`); what has another form than a check expects is wrong.
"""

from __future__ import annotations

import ast
import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from functools import partial
from itertools import pairwise
from string import ascii_uppercase
from typing import Any

PuzzleCheck = Callable[[Any, Any, Any], bool]
"""The answer, the gold and the puzzle's own data, to whether the answer is right."""

_LONGEST_FORMULA = 200
_BRIDGES_BETWEEN = 2


def solves(name: str, answer: Any, gold: Any, puzzle: Any) -> bool:
    """Whether an answer passes the check of that name. Raises KeyError for an unknown name."""
    check = CHECKS[name]
    try:
        return bool(check(answer, gold, puzzle))
    except (TypeError, ValueError, KeyError, IndexError, AttributeError, ZeroDivisionError):
        return False


def _sums(answer: Mapping[str, Any], lines: str) -> list[Any]:
    """The sum of each line; lines are parted by blanks and name a label by each letter."""
    return [sum(answer[label] for label in line) for line in lines.split()]


def _has_numbers(answer: Any, count: int) -> bool:
    """Whether the first `count` letters stand for 1 to `count`, each for another."""
    labels = set(ascii_uppercase[:count])
    return labels <= answer.keys() and set(answer.values()) == set(range(1, count + 1))


def _fills_lines(count: int, total: int, lines: str, answer: Any, gold: Any, puzzle: Any) -> bool:
    """The numbers 1 to `count`, one for each letter, with the same total in every line."""
    return _has_numbers(answer, count) and set(_sums(answer, lines)) == {total}


def _is_three_to_one(answer: Any, gold: Any, puzzle: Any) -> bool:
    a, b, c = (answer[label] for label in "ABC")
    return bool(b != 0 and (a, c) == (3 * b, 2 * b))


def _adds_to_25(answer: Any, gold: Any, puzzle: Any) -> bool:
    return set("ABCDEF") <= answer.keys() and set(_sums(answer, "ABC CEF ADF")) == {25}


def _fills_coins(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Five coins of 20, three of 15 and of 10 and six of 5 at most; 55 in every line."""
    most = {20: 5, 15: 3, 10: 3, 5: 6}
    counts = Counter(answer.values())
    lines = "ABC AGO OPQ CKQ ADINQ CFILO BEIMP GHIJK"
    return (
        set(ascii_uppercase[:17]) <= answer.keys()
        and all(counts[value] <= most.get(value, 0) for value in counts)
        and set(_sums(answer, lines)) == {55}
    )


def _adds_to_20(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Different numbers of 1 to 15; 20 in every line."""
    values = list(answer.values())
    lines = "ABC AFK BDE BEH CHM DGJ EGI FIL HJI KLM"
    return (
        set(ascii_uppercase[:13]) <= answer.keys()
        and all(1 <= value <= 15 for value in values)
        and len(set(values)) == len(values)
        and set(_sums(answer, lines)) == {20}
    )


def _has_equal_sides(answer: Any, gold: Any, puzzle: Any) -> bool:
    return _has_numbers(answer, 6) and len(set(_sums(answer, "ABD DEF ACF"))) == 1


def _adds_to_19(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Lines of 19, two of them with a number that is there already: 9 and 6."""
    if not set("ABCDEFG") <= answer.keys() or set(answer.values()) != {1, 2, 3, 5, 7, 8}:
        return False
    first, second, third, last = _sums(answer, "AC BCD FED EG")
    return bool((first + 9, second, third, last + 6) == (19, 19, 19, 19))


def _cats_and_dogs(answer: Any, gold: Any, puzzle: Any) -> bool:
    """CAT + DOG = PETS."""
    if not set("ACTDOGPES") <= answer.keys():
        return False

    def number(word: str) -> Any:
        return sum(answer[letter] * 10**place for place, letter in enumerate(reversed(word)))

    return bool(number("CAT") + number("DOG") == number("PETS"))


def _as_set(value: Any) -> Any:
    return set(value) if isinstance(value, list) else value


def _has_values(answer: Any, gold: Any, puzzle: Any) -> bool:
    """The gold's value for each of its keys; lists in any order."""
    return all(_as_set(answer.get(key)) == _as_set(value) for key, value in gold.items())


def _is_one_of(answer: Any, gold: Any, puzzle: Any) -> bool:
    """One value, which is among the golds; lists in any order."""
    [value] = answer.values()
    return _as_set(value) in [_as_set(one) for one in gold]


def _has_places(answer: Any, gold: Any, puzzle: Any) -> bool:
    """The gold's rows and columns, in its order."""
    golds = [gold] if isinstance(gold, dict) else gold
    return _places(answer) == _places(golds)


def _places(places: Any) -> list[str]:
    return [f"{place['row']}{place['column']}" for place in places]


def _same_formula(answer: Any, gold: Any, puzzle: Any) -> bool:
    """The left side of one of the golds; the parts of a sum or product in any order."""
    formula = _parts(answer["equation"])
    return any(formula == _parts(one) for one in gold)


def _parts(equation: str) -> tuple[str, frozenset[str]]:
    """The outer operation of a left side, and its parts."""
    tree = _parse_formula(equation.partition("=")[0])
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Add | ast.Sub):
        return "sum", frozenset(_flat(tree, ast.Add, ast.Sub))
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, ast.Mult | ast.Div):
        return "product", frozenset(_flat(tree, ast.Mult, ast.Div))
    return "one", frozenset({ast.unparse(tree)})


def _flat(tree: ast.expr, joins: type[ast.operator], takes: type[ast.operator], mark: str = "") -> Iterator[str]:
    if isinstance(tree, ast.BinOp) and isinstance(tree.op, joins | takes) and not mark:
        yield from _flat(tree.left, joins, takes)
        yield from _flat(tree.right, joins, takes, "inverse " if isinstance(tree.op, takes) else "")
        return
    yield mark + ast.unparse(tree)


def _parse_formula(text: str) -> ast.expr:
    """The tree of a formula. Raises ValueError for one that is none, or is too long."""
    if len(text) > _LONGEST_FORMULA:
        raise ValueError(f"a formula of {len(text)} characters")
    try:
        return ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, RecursionError, MemoryError) as error:
        raise ValueError(f"no formula: {text}") from error


def _makes_24(answer: Any, gold: Any, puzzle: Any) -> bool:
    """A formula of the four cards, each once, whose value is 24 exactly."""
    formula = answer.replace(" ", "").partition("=")[0]
    cards = sorted(map(int, re.findall(r"\d+", formula)))
    return cards == sorted(puzzle["init_cards"]) and _value(_parse_formula(formula)) == 24


def _value(tree: ast.expr) -> Fraction:
    """The value of a formula of whole numbers. Raises ValueError for anything else in it."""
    if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
        return Fraction(tree.value)
    if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
        return -_value(tree.operand)
    if isinstance(tree, ast.BinOp):
        left, right = _value(tree.left), _value(tree.right)
        match tree.op:
            case ast.Add():
                return left + right
            case ast.Sub():
                return left - right
            case ast.Mult():
                return left * right
            case ast.Div():
                return left / right
    raise ValueError(f"not in a formula: {ast.unparse(tree)}")


def _keeps_given(grid: Sequence[Sequence[Any]], puzzle: Mapping[str, Any]) -> bool:
    """Whether the cells that were filled hold what they held."""
    return all(
        given is None or given == grid[row][column]
        for row, line in enumerate(puzzle["base_matrix"])
        for column, given in enumerate(line)
    )


def _columns(grid: Sequence[Sequence[Any]]) -> list[list[Any]]:
    return [list(column) for column in zip(*grid, strict=True)]


def _all_differ(lines: Sequence[Sequence[Any]], size: int) -> bool:
    return all(len(set(line)) == size for line in lines)


def _is_square(grid: Any, size: int) -> bool:
    return isinstance(grid, list) and len(grid) == size and all(len(row) == size for row in grid)


def _is_sudoku(size: int, height: int, width: int, answer: Any, gold: Any, puzzle: Any) -> bool:
    """Nothing twice in a row, a column or a box of `height` rows and `width` columns."""
    if not _is_square(answer, size) or not _keeps_given(answer, puzzle):
        return False
    boxes = [
        [answer[row + down][column + right] for down in range(height) for right in range(width)]
        for row in range(0, size, height)
        for column in range(0, size, width)
    ]
    return _all_differ([*answer, *_columns(answer), *boxes], size)


def _is_skyline(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Nothing twice in a row or column, and as many towers in sight as at each side; the sides are
    top, left, right and bottom."""
    size = len(puzzle["base_matrix"])
    if not answer or not _is_square(answer, size) or not _keeps_given(answer, puzzle):
        return False
    columns = _columns(answer)
    if not _all_differ([*answer, *columns], size):
        return False
    top, left, right, bottom = puzzle["visible_skyscrapers"]
    views = [
        *zip(columns, top, strict=False),
        *zip(answer, left, strict=False),
        *((row[::-1], count) for row, count in zip(answer, right, strict=False)),
        *((column[::-1], count) for column, count in zip(columns, bottom, strict=False)),
    ]
    return all(count is None or _towers_in_sight(line) == count for line, count in views)


def _towers_in_sight(line: Sequence[Any]) -> int:
    highest, count = line[0], 1
    for tower in line[1:]:
        if tower > highest:
            highest, count = tower, count + 1
    return count


def _is_yin_yang(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Two connected groups, 0 and 1, and no square of four equal cells, in a grid of six."""
    if not _is_square(answer, 6) or not _keeps_given(answer, puzzle):
        return False
    return all(_is_connected(answer, value) for value in (0, 1)) and not any(
        {*upper[column : column + 2], *lower[column : column + 2]} in ({0}, {1})
        for upper, lower in pairwise(answer)
        for column in range(5)
    )


def _is_connected(grid: Sequence[Sequence[Any]], value: Any) -> bool:
    cells = {(row, column) for row, line in enumerate(grid) for column, cell in enumerate(line) if cell == value}
    waiting = [min(cells)] if cells else []
    seen = set(waiting)
    while waiting:
        row, column = waiting.pop()
        near = {(row - 1, column), (row + 1, column), (row, column - 1), (row, column + 1)}
        waiting += (near & cells) - seen
        seen |= near & cells
    return seen == cells


def _is_bridged(answer: Any, gold: Any, puzzle: Any) -> bool:
    """Hashi: straight bridges between islands, at most two between a pair, none across another,
    and as many at each island as it asks for."""
    wanted = {island["cord"]: island["requirement"] for island in puzzle["init_islands"]}
    at_island: dict[str, int] = defaultdict(int)
    between: dict[tuple[str, ...], int] = defaultdict(int)
    occupied: set[tuple[int, int]] = set()
    for bridge in answer:
        start, end, number = bridge["start"], bridge["end"], bridge["number"]
        # First, since the cells between two places may be any number.
        if start == end or not {start, end} <= wanted.keys():
            return False
        between[tuple(sorted((start, end)))] += number
        at_island[start] += number
        at_island[end] += number
        inner = _cells_between(_coordinates(start), _coordinates(end))
        if inner is None or occupied & inner:
            return False
        occupied |= inner
    return (
        bool(answer)
        and all(count <= _BRIDGES_BETWEEN for count in between.values())
        and all(at_island[island] == count for island, count in wanted.items())
    )


def _coordinates(cell: str) -> tuple[int, int]:
    return ord(cell[0]), int(cell[1:])


def _cells_between(start: tuple[int, int], end: tuple[int, int]) -> set[tuple[int, int]] | None:
    """The cells between two; None where they are in no row or column together."""
    (left, top), (right, bottom) = sorted((start, end))
    if left == right:
        return {(left, row) for row in range(top + 1, bottom)}
    if top == bottom:
        return {(column, top) for column in range(left + 1, right)}
    return None


_PREFIX = "calculate_answer_function_"
CHECKS: Mapping[str, PuzzleCheck] = {
    f"{_PREFIX}1": _is_three_to_one,
    f"{_PREFIX}2": _adds_to_25,
    f"{_PREFIX}3": partial(_fills_lines, 15, 30, "ADEH CEGH IGJH NMJH OMHL KLHF BFHD"),
    f"{_PREFIX}4": partial(_fills_lines, 9, 20, "ABED BCEF DEGH EFHI BDHF ACIG"),
    f"{_PREFIX}5": _fills_coins,
    f"{_PREFIX}6": partial(_fills_lines, 19, 30, "AJS CJQ EJO GJM IJK LJH NJF PJD RJB"),
    f"{_PREFIX}7": partial(_fills_lines, 12, 26, "ACFH ADGK BCDE HIJK BFIL EGJL"),
    f"{_PREFIX}8": _adds_to_20,
    f"{_PREFIX}9": partial(_fills_lines, 19, 22, "ABC ADH AEJ CFJ CGL HIJ HMQ JKL JNQ JOS LPS QRS"),
    f"{_PREFIX}10": _has_equal_sides,
    f"{_PREFIX}11": _adds_to_19,
    f"{_PREFIX}12": _cats_and_dogs,
    f"{_PREFIX}hashi": _is_bridged,
    f"{_PREFIX}skyscraper": _is_skyline,
    f"{_PREFIX}sudoku_4": partial(_is_sudoku, 4, 2, 2),
    f"{_PREFIX}sudoku_6": partial(_is_sudoku, 6, 2, 3),
    f"{_PREFIX}yinyang": _is_yin_yang,
    "judge_24points_function": _makes_24,
    "match_answer_function": _has_values,
    "multiple_match_function": _is_one_of,
    "match_coordinate_function": _has_places,
    "compare_expression_function": _same_formula,
}
"""Every check by its name in the data."""
