"""MME-Reasoning: every check, with answers that solve the puzzle and answers that nearly do."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from tests.differential.sets import STEPS, Case, Spec
from tests.differential.specs.judged_points import FIRST, VLMEVALKIT_JUDGED

APART = "judge: "
_LETTERS = "ABCDEFGHIJKLMNOPQRS"
_PREFIX = "calculate_answer_function_"


def _numbers(text: str) -> dict[str, int]:
    return dict(zip(_LETTERS, map(int, text.split()), strict=False))


_BY_LETTER: Mapping[str, dict[str, int]] = {
    "1": {"A": 6, "B": 2, "C": 4},
    "2": _numbers("5 10 10 12 7 8"),
    "3": _numbers("1 12 5 8 14 3 4 7 13 6 9 11 2 15 10"),
    "4": _numbers("1 6 7 8 5 2 3 4 9"),
    "5": _numbers("20 20 15 5 10 10 15 10 5 5 20 5 5 5 20 15 20"),
    "6": _numbers("1 9 2 8 3 7 4 6 5 10 15 14 16 13 17 12 18 11 19"),
    "7": _numbers("1 8 2 9 7 11 10 12 3 5 6 4"),
    "8": _numbers("1 8 11 3 9 12 4 2 7 5 13 15 10"),
    "9": _numbers("1 9 12 18 19 8 6 3 17 2 16 4 14 15 13 11 5 10 7"),
    "10": _numbers("1 4 6 5 2 3"),
    "11": _numbers("2 3 8 8 5 7 8"),
    "12": {"C": 9, "A": 2, "T": 3, "D": 1, "O": 0, "G": 7, "P": 1, "E": 0, "S": 0},
}
"""An answer to each puzzle of letters; those of 8 and 11, which has none, are no solutions."""
_GRID_4 = [[1, 2, 3, 4], [3, 4, 1, 2], [2, 1, 4, 3], [4, 3, 2, 1]]
_GRID_6 = [
    [1, 2, 3, 4, 5, 6],
    [4, 5, 6, 1, 2, 3],
    [2, 3, 1, 5, 6, 4],
    [5, 6, 4, 2, 3, 1],
    [3, 1, 2, 6, 4, 5],
    [6, 4, 5, 3, 1, 2],
]
_STONES = [
    [1, 1, 1, 1, 1, 1],
    [1, 0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 0, 0, 0, 0, 0],
    [1, 1, 1, 1, 1, 0],
    [1, 0, 0, 0, 0, 0],
]
_TOWERS = [[1, 2, 3], [3, 1, 2], [2, 3, 1]]
_BRIDGES = [
    {"start": "a1", "end": "c1", "number": 2},
    {"start": "c1", "end": "c4", "number": 1},
    {"start": "a1", "end": "a4", "number": 1},
]
_ISLANDS = {
    "init_islands": [
        {"cord": "a1", "requirement": 3},
        {"cord": "c1", "requirement": 3},
        {"cord": "c4", "requirement": 1},
        {"cord": "a4", "requirement": 1},
    ]
}


def _given(grid: Sequence[Sequence[int]]) -> list[list[int | None]]:
    """The grid with the first cell of each row alone."""
    return [[cell if column == 0 else None for column, cell in enumerate(row)] for row in grid]


def _changed(grid: Sequence[Sequence[int]]) -> Iterator[tuple[str, Any]]:
    """Variants of a grid."""
    rows = [list(row) for row in grid]
    yield "as it is", rows
    yield "rows swapped", [rows[1], rows[0], *rows[2:]]
    yield "last rows swapped", [*rows[:-2], rows[-1], rows[-2]]
    yield "mirrored", [row[::-1] for row in rows]
    yield "one cell changed", [*rows[:-1], [*rows[-1][:-1], rows[-1][0]]]
    yield "two cells swapped", [*rows[:-1], [*rows[-1][:-2], rows[-1][-1], rows[-1][-2]]]
    yield "turned", [list(column) for column in zip(*rows, strict=True)]
    yield "given cell changed", [[rows[0][1], rows[0][0], *rows[0][2:]], *rows[1:]]


def _varied(answer: Mapping[str, int]) -> Iterator[tuple[str, Any]]:
    """Variants of numbers by letter."""
    keys, values = list(answer), list(answer.values())
    yield "as it is", dict(answer)
    yield "another order", dict(reversed(answer.items()))
    yield "one missing", dict(list(answer.items())[:-1])
    yield "one more", {**answer, keys[0]: values[0] + 1}
    yield "two swapped", {**answer, keys[0]: values[1], keys[1]: values[0]}
    yield "last two swapped", {**answer, keys[-1]: values[-2], keys[-2]: values[-1]}
    yield "as fractions", {key: float(value) for key, value in answer.items()}
    yield "all doubled", {key: 2 * value for key, value in answer.items()}
    yield "all alike", dict.fromkeys(answer, values[0])


_Kind = dict[str, Any]
"""What the cells of one kind of puzzle hold beside the question."""


def _puzzles() -> Iterator[tuple[_Kind, str, Any]]:
    """Cells, a variant's name and an answer to it."""
    for number, solution in _BY_LETTER.items():
        kind = _Kind(function_id=f"{_PREFIX}{number}", prompt_id="id_answer_pair_prompt")
        for name, answer in _varied(solution):
            yield kind, name, answer
    grids = {
        "sudoku_4": (_GRID_4, "sudoku_4", {"base_matrix": _given(_GRID_4)}),
        "sudoku_6": (_GRID_6, "sudoku_6", {"base_matrix": _given(_GRID_6)}),
        "yinyang": (_STONES, "yinyang", {"base_matrix": _given(_STONES)}),
        "skyscraper": (
            _TOWERS,
            "skyscraper",
            {
                "base_matrix": [[1, None, None], [None] * 3, [None] * 3],
                "visible_skyscrapers": [[2, 2, 1], [3, None, 2], [1, 2, 2], [2, 1, 3]],
            },
        ),
    }
    for check, (grid, prompt, info) in grids.items():
        kind = _Kind(function_id=_PREFIX + check, prompt_id=f"{prompt}_extraction_prompt", special_info=str(info))
        for name, answer in _changed(grid):
            yield kind, name, answer
    yield from _others()


def _others() -> Iterator[tuple[_Kind, str, Any]]:
    hashi = _Kind(function_id=f"{_PREFIX}hashi", prompt_id="hashi_extraction_prompt", special_info=str(_ISLANDS))
    crossing = {"start": "a1", "end": "b4", "number": 1}
    for name, answer in {
        "as it is": _BRIDGES,
        "another order": _BRIDGES[::-1],
        "turned round": [{**one, "start": one["end"], "end": one["start"]} for one in _BRIDGES],
        "one missing": _BRIDGES[:-1],
        "one twice": [*_BRIDGES, _BRIDGES[-1]],
        "three at once": [{**_BRIDGES[0], "number": 3}, *_BRIDGES[1:]],
        "slanting": [*_BRIDGES[:-1], crossing],
        "to itself": [*_BRIDGES[:-1], {**_BRIDGES[-1], "end": "a1"}],
        "no island": [*_BRIDGES[:-1], {**_BRIDGES[-1], "end": "a5"}],
        "two singles": [{**_BRIDGES[0], "number": 1}, {**_BRIDGES[0], "number": 1}, *_BRIDGES[1:]],
    }.items():
        yield hashi, name, answer
    cards = _Kind(
        function_id="judge_24points_function",
        prompt_id="points24_prompt",
        special_info=str({"init_cards": [13, 9, 1, 8]}),
    )
    for formula in (
        "(13-9-1)*8=24",
        "(13 - 9 - 1) * 8",
        "8*(13-9-1)",
        "8*(13-1-9)=24",
        "13-9-1*8",
        "(13-9)*8",
        "(13-9-1)*8=25",
        "24",
        "13+9+1+8",
        "(13-9-1)*8*1",
        "-8*(9+1-13)",
        "(K-9-A)*8",
        "24=24",
    ):
        yield cards, formula, formula
    matched = _Kind(
        function_id="match_answer_function", prompt_id="id_answer_pair_prompt", answer=str({"A": 3, "B": ["x", "y"]})
    )
    for answer in (
        {"A": 3, "B": ["x", "y"]},
        {"A": 3, "B": ["y", "x"]},
        {"A": 3, "B": ["x"]},
        {"A": 3},
        {"A": "3", "B": ["x", "y"]},
        {"B": ["x", "y"], "A": 3, "C": 1},
        {"A": 4, "B": ["x", "y"]},
    ):
        yield matched, json.dumps(answer), answer
    one_of = _Kind(
        function_id="multiple_match_function", prompt_id="multiple_answer_prompt", answer=str([["A", "C"], ["B", "D"]])
    )
    for ids in (["A", "C"], ["C", "A"], ["D", "B"], ["A", "B"], ["A"], ["A", "C", "D"], []):
        yield one_of, f"one of, {ids}", {"id": ids}
    single = _Kind({**one_of, "answer": str(["7", 8])})
    for value in ("7", 8, "8", 7):
        yield single, f"one of, {value!r}", {"id": value}
    placed = _Kind(
        function_id="match_coordinate_function",
        prompt_id="coordinate_answer_prompt",
        answer=str([{"row": "A", "column": 1}, {"row": "B", "column": 3}]),
    )
    a, b = {"row": "A", "column": 1}, {"row": "B", "column": 3}
    for places in ([a, b], [b, a], [a], [{"row": "A", "column": "1"}, b], [a, b, b]):
        yield placed, json.dumps(places), places
    formula = _Kind(
        function_id="compare_expression_function",
        prompt_id="formula_extraction_prompt",
        answer=str(["2 + 3 = 5", "4 * 5 = 20"]),
    )
    for equation in (
        "2 + 3 = 5",
        "3 + 2 = 5",
        "2+3",
        "5 * 4 = 20",
        "4*5",
        "2 * 3 = 6",
        "2 + 3 + 0",
        "20",
        "5 - 2",
        "3 + 3",
    ):
        yield formula, f"formula {equation}", {"equation": equation}
    for gold in ("B", "['A', 'C']", "A,C"):
        choice = _Kind(question_type="Choice", answer=gold)
        for said in ("B", "A, C", "C,A", " B ", "A", "A,B,C", "(B)", "b", "None"):
            yield choice, f"choice {gold}, {said}", said
    for bracketed in ("[A, C]", "[B]"):
        choice = _Kind(question_type="Choice", answer="['A', 'C']")
        yield choice, f"{APART}brackets {bracketed}", bracketed
    for said in ("-4", "2\\sqrt{3}", "3.28", "ten", "1/3", "about 5"):
        for grade in ("1", "0", " 1\n", "0 "):
            opened = _Kind(question_type="Open", answer="3.28")
            yield _Kind({**opened, "grade": grade}), f"open {said}, {grade.strip()}", said


_ABILITIES = (
    "['calculation']",
    "['planning and exploring', 'pattern analysis']",
    "['spatial-temporal']",
    "['casual chaining analysis', 'calculation']",
)
_REASONING = ("inductive", "deductive", "abductive")


def _reasoning() -> Iterator[Case]:
    number = FIRST
    for times in range(2):
        for cells, variant, answer in _puzzles():
            said = answer if isinstance(answer, str) else json.dumps(answer)
            if times and not isinstance(answer, str):
                said = f"```json\n{said}\n```"
            held = {
                "question": f"Solve puzzle {number % 9}.",
                "question_type": "Rule",
                "answer": "",
                "function_id": "",
                "prompt_id": "",
                "special_info": "",
                "capability": _ABILITIES[number // 2 % len(_ABILITIES)],
                "reasoning_type": _REASONING[number % len(_REASONING)],
                **{key: value for key, value in cells.items() if key != "grade"},
            }
            check = held["function_id"].removeprefix(_PREFIX)
            style = variant if variant.startswith(APART) else f"{check or 'none'}; {variant}"
            words = json.dumps([said, cells.get("grade", "0")])
            yield Case(str(number), held, style, f"I think it is so ({number}).", words)
            number += 1


SPECS = (
    Spec(
        name="mme-reasoning.vlmevalkit",
        benchmark="mme-reasoning",
        rule="snellen",
        oracle=VLMEVALKIT_JUDGED,
        path="vlmeval/dataset/image_vqa.py, MMEReasoning.evaluate, and utils/mme_reasoning.py",
        cases=_reasoning,
        arguments={
            "dataset": "MME-Reasoning",
            "marks": ["question", "prediction"],
            "steps": [r"(?s)\A(?!.*\[Judgement\])", r"\[Judgement\]"],
            "column": "score",
        },
        metrics={
            "accuracy": "Overall",
            "capability/calculation": "calculation",
            "capability/pattern analysis": "pattern analysis",
            "reasoning_type/inductive": "inductive",
            "reasoning_type/abductive": "abductive",
        },
        role=STEPS,
        apart=APART,
    ),
)
