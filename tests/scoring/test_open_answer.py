"""Equality of free answers: one fact a row."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.scoring.open_answer import matches_gold, normalise_answer

EQUAL = [
    ("Red", "red"),
    ("red.", "red"),
    ("the cat", "A cat."),
    ("Two dogs.", "2 dogs"),
    ("two", "2"),
    ("3.0", "3"),
    ("1,000", "1000"),
    (".5", "0.5"),
    ("+3", "3"),
    ("-0.0", "0"),
    ("007", "7"),
    ("２５９０", "2590"),
    ("“Red”", "red"),
    ("it’s", "it's"),
    ("New\nYork", "new  york"),
    ("Straße", "STRASSE"),
    ("the", "The"),
]
DIFFERENT = [
    ("10", "100"),
    ("-3", "3"),
    ("5%", "5"),
    ("$5", "5"),
    ("3.01", "3"),
    ("①", "1"),
    ("abc", "ab"),
    ("red car", "red"),
    ("yes", "no"),
    ("1e3", "1000"),
    ("10000000000000000000000000000000001", "10000000000000000000000000000000002"),
    ("", ""),
    ("...", ""),
]


@pytest.mark.parametrize(("answer", "gold"), EQUAL)
def test_matching_answers(answer: str, gold: str) -> None:
    assert matches_gold(answer, [gold])
    assert matches_gold(gold, ["something else", answer])


@pytest.mark.parametrize(("answer", "gold"), DIFFERENT)
def test_different_answers_do_not_match(answer: str, gold: str) -> None:
    assert not matches_gold(answer, [gold])


def test_without_gold_nothing_matches() -> None:
    assert not matches_gold("red", [])


@given(st.text(max_size=60))
def test_normalising_twice_changes_nothing(text: str) -> None:
    once = normalise_answer(text)
    assert normalise_answer(once) == once


@given(st.text(max_size=60))
def test_an_answer_equals_itself(text: str) -> None:
    assert matches_gold(text, [text]) == (normalise_answer(text) != "")
