"""Values that other tools wrote as text."""

from __future__ import annotations

import pytest

from snellen.core.literals import parse_finite, parse_json_or_literal, parse_literal
from snellen.data.columns import parse_list

NO_VALUES = (
    "",
    "a word",
    "open('file')",
    "[1, 2",
    "[[" * 20_000,
    "-" * 20_000 + "1",
    "9" * 5_000,
    "[{[1]: 2}]",
    "a\x00b",
)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("['a', \"b\"]", ["a", "b"]),
        ("{'a': None}", {"a": None}),
        ("(1, 2.5)", (1, 2.5)),
        (r"['\sqrt{2}']", [r"\sqrt{2}"]),
    ],
)
def test_python_literals(text: str, value: object) -> None:
    assert parse_literal(text) == parse_json_or_literal(text) == value


@pytest.mark.parametrize(
    ("text", "value"), [('{"a": [null, true]}', {"a": [None, True]}), ("[1, 2]", [1, 2]), (r'"\ud83d\ude00"', "😀")]
)
def test_json_is_tried_first(text: str, value: object) -> None:
    assert parse_json_or_literal(text) == value


@pytest.mark.parametrize("text", NO_VALUES, ids=lambda text: repr(text[:12]))
def test_anything_else_is_a_value_error(text: str) -> None:
    for parse in (parse_literal, parse_json_or_literal):
        with pytest.raises(ValueError, match="no Python literal"):
            parse(text)
    assert parse_list(text) is None


def test_a_cell_with_a_backslash_is_a_list() -> None:
    assert parse_list(r"['\sqrt{2}', '2']") == [r"\sqrt{2}", "2"]


@pytest.mark.parametrize(
    ("text", "number"), [(" 1e3 ", 1000.0), ("-.5", -0.5), ("nan", None), ("-inf", None), ("5 m", None)]
)
def test_finite_numbers(text: str, number: float | None) -> None:
    assert parse_finite(text) == number
