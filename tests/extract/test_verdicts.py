"""What judges write, and what is read from it."""

from __future__ import annotations

import pytest

from snellen.extract.verdicts import (
    parse_correctness,
    parse_extracted_answer,
    parse_grade,
    parse_grades,
    parse_labels,
    parse_object,
    parse_pair,
)


@pytest.mark.parametrize(
    ("reply", "grade"),
    [
        ("0.7", 0.7),
        (" **0.5**", 0.5),
        ("[1.0]", 1.0),
        ("Correctness: 0.4", 0.4),
        ("<think>0.1 or 0.2</think>0.3", 0.3),
        ("I would give it 0.4.", 0.4),
        ("0.9/1.0", 0.9),
    ],
)
def test_a_grade(reply: str, grade: float) -> None:
    found = parse_grade(reply, 0, 1)
    assert found is not None
    assert found.values == {"grade": grade}


@pytest.mark.parametrize("reply", ["", "1.2", "-0.1", "0.4 or 0.6", "good", "nan", "0.5 of 3 parts"])
def test_no_grade_is_never_a_number(reply: str) -> None:
    assert parse_grade(reply, 0, 1) is None


def test_a_whole_grade() -> None:
    assert parse_grade("4 out of 5", 1, 5, integers_only=True) is not None
    assert parse_grade("4.5", 1, 5, integers_only=True) is None
    assert parse_grade("0", 1, 5, integers_only=True) is None


@pytest.mark.parametrize(
    ("reply", "pair"),
    [
        ("8 10\nBoth are good, but 2 is better.", (8, 10)),
        ("\n7, 9.5\n", (7, 9.5)),
        ("8/10", (8, 10)),
        ("8 10 9", None),
        ("eight ten", None),
        ("9", None),
        ("8 11", None),
        ("", None),
    ],
)
def test_a_pair(reply: str, pair: tuple[float, float] | None) -> None:
    found = parse_pair(reply, ("one", "two"), 0, 10)
    assert (found and tuple(found.values.values())) == pair


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("Yes", 1.0),
        ("no.", 0.0),
        ("Correct", 1.0),
        ("The reply is incorrect.", 0.0),
        ("It is not correct.", 0.0),
        ("No, though one part is right.", None),
        ("1", 1.0),
        ("0", 0.0),
        ("Either right or wrong.", None),
        ("Hm.", None),
        ("", None),
    ],
)
def test_right_or_wrong(reply: str, right: float | None) -> None:
    found = parse_correctness(reply)
    assert (None if found is None else found.values["grade"]) == right


def test_marks_of_an_object() -> None:
    names = ("Overall Score", "Richness")
    for reply in (
        'It is close.\n{"richness": 6, "Overall Score": 7}',
        "```json\n{'Richness': '6', 'overall_score': 7}\n```",
    ):
        found = parse_grades(reply, names, 0, 10)
        assert found is not None
        assert found.values == {"Overall Score": 7.0, "Richness": 6.0}
    clipped = parse_grades('{"Overall Score": 12, "Richness": -1}', names, 0, 10)
    assert clipped is not None
    assert clipped.values == {"Overall Score": 10.0, "Richness": 0.0}


@pytest.mark.parametrize("reply", ['{"Overall Score": 7}', "7", "{", '{"Overall Score": true, "Richness": 1}'])
def test_marks_are_all_there_or_none(reply: str) -> None:
    assert parse_grades(reply, ("Overall Score", "Richness"), 0, 10) is None


def test_an_object_within_words() -> None:
    assert parse_object('First {this}, then {"a": {"b": 1}} so') == {"a": {"b": 1}}
    assert parse_object("[1]") is None
    for comma_behind in ("{'a': 7, 'b': [1, 2,],}", '{"a": 7,\n "b": [1, 2],\n}'):
        assert parse_object(comma_behind) == {"a": 7, "b": [1, 2]}


@pytest.mark.parametrize(
    ("reply", "labels"),
    [
        ("D", "D"),
        ("CA", "A, C"),
        ("Letters: A, C", "A, C"),
        ('["a", "c"]', "A, C"),
        ("3", "3"),
        ("Z", ""),
        ("[]", ""),
        ("triangle", ""),
        ("It is the second one", None),
        ("", None),
    ],
)
def test_labels(reply: str, labels: str | None) -> None:
    found = parse_labels(reply)
    assert (None if found is None else found.text) == labels


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("3.3", "3.3"),
        ("Answer: 3.3", "3.3"),
        ("The extracted answer is: B", "B"),
        ("So.\nAnswer: [1, 2]", "[1, 2]"),
        ("none", ""),
        ("N/A.", ""),
        ("", None),
    ],
)
def test_a_short_answer(reply: str, answer: str | None) -> None:
    found = parse_extracted_answer(reply)
    assert (None if found is None else found.text) == answer


@pytest.mark.parametrize(("said", "grade"), [(".5", 0.5), (".1.", 0.1), ("6e-1", 0.6), ("Score: .25", 0.25)])
def test_a_grade_may_begin_with_its_dot_or_have_an_exponent(said: str, grade: float) -> None:
    read = parse_grade(said, 0.0, 1.0)
    assert read is not None
    assert read.values == {"grade": grade}
