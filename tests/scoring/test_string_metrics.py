"""VQA accuracy, ANLS, relaxed accuracy and containment: each line a fact of the reference."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.benchmarks.documents.ocrbench import contains_a_gold
from snellen.scoring.edit_distance import anls, anls_by_script, similarity
from snellen.scoring.exact import contains_gold, equal_converted, equal_folded, equal_without_dot
from snellen.scoring.relaxed import relaxed_correct
from snellen.scoring.vqa_accuracy import (
    normalise_vqa,
    vqa_accuracy,
    vqa_accuracy_authors,
    vqa_accuracy_m4c,
    vqa_accuracy_vlmevalkit,
)

TEXT = st.text(alphabet="aB1. ,'%", max_size=8)
GOLDS = st.lists(TEXT, min_size=1, max_size=10)


@pytest.mark.parametrize(
    ("text", "form"),
    [
        ("Two dogs.", "2 dogs"),
        ("1,000", "1000"),
        ("U.S.A.", "usa"),
        ("It's a cat!", "it's cat"),
        ("a, b", "b"),
        ("Yes,it is blue, and", "yesit is blue and"),
        ("$5.00", "$5.00"),
        ("10%", "10%"),
        ("3.", "3"),
        ("3.5.", "3.5"),
        ("none", "0"),
        ("they dont", "they don't"),
        ("couldnt've couldn'tve couldntve", "couldn't've couldn't've couldntve"),
    ],
)
def test_normalising_as_the_vqa_code(text: str, form: str) -> None:
    assert normalise_vqa(text) == form


def test_lone_dots_option_keeps_the_dot_after_a_digit() -> None:
    assert normalise_vqa("3.", lone_dots=True) == "3."
    assert normalise_vqa("3.5", lone_dots=True) == "3.5"


@pytest.mark.parametrize(
    ("answer", "golds", "ours", "authors", "m4c", "vlmevalkit"),
    [
        ("2012.", ["2012"] * 4 + ["2013"] * 6, 1.0, 1.0, 1.0, 0.0),
        ("Yes", ["yes"] * 10, 1.0, 0.0, 1.0, 1.0),
        ("a,b", ["ab"] * 3 + ["a b"] * 7, 1.0, 1.0, 0.9, 1.0),
        ("thats", ["that's"] * 9 + ["no"], 1.0, 1.0, 0.0, 1.0),
        ("3.5", ["3.5"], 1.0, 1.0, 1.0, 0.0),
    ],
)
def test_vqa_accuracy_by_four_scripts(
    answer: str, golds: list[str], ours: float, authors: float, m4c: float, vlmevalkit: float
) -> None:
    """As the scripts of VQA, of TextVQA (M4C) and VLMEvalKit score them, but for the last row:
    with one gold there is nobody to leave out, and only VLMEvalKit counts it."""
    scores = [
        by(answer, golds) for by in (vqa_accuracy, vqa_accuracy_authors, vqa_accuracy_m4c, vqa_accuracy_vlmevalkit)
    ]
    assert scores == [pytest.approx(part) for part in (ours, authors, m4c, vlmevalkit)]


@pytest.mark.parametrize(("matches", "score"), [(0, 0.0), (1, 0.3), (2, 0.6), (3, 0.9), (4, 1.0)])
def test_leave_one_out_over_ten_people(matches: int, score: float) -> None:
    golds = ["red"] * matches + [f"other {number}" for number in range(10 - matches)]
    assert vqa_accuracy("Red!", golds) == pytest.approx(score)


def test_a_single_gold_is_compared() -> None:
    assert vqa_accuracy("two", ["2"]) == 1.0
    assert vqa_accuracy("three", ["2"]) == 0.0


@given(TEXT, GOLDS)
def test_vqa_accuracy_is_a_share_independent_of_order(answer: str, golds: list[str]) -> None:
    found = vqa_accuracy(answer, golds)
    assert 0 <= found <= 1
    assert found == pytest.approx(vqa_accuracy(answer, golds[::-1]))


@pytest.mark.parametrize(
    ("answer", "golds", "score"),
    [
        ("abxx", ["abcd"], 0.5),
        ("abxxx", ["abcde"], 0.0),
        ("abcx", ["abcd"], 0.75),
        ("  ABCD ", ["abcd"], 1.0),
        ("a  b", ["a b"], 1.0),
        ("zzz", ["abcd", "zzz"], 1.0),
        ("", ["abcd"], 0.0),
    ],
)
def test_anls(answer: str, golds: list[str], score: float) -> None:
    assert anls(answer, golds) == score


def test_the_competition_divides_by_the_length_before_trimming() -> None:
    assert anls_by_script("abxx    ", ["abcd"]) == 0.75
    assert anls("abxx    ", ["abcd"]) == 0.5


@given(TEXT, TEXT)
def test_similarity_is_symmetric_and_a_share(one: str, other: str) -> None:
    assert similarity(one, other) == similarity(other, one)
    assert 0 <= similarity(one, other) <= 1
    assert (similarity(one, other) == 1) == (one == other)


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("10", "10.5", True),
        ("10", "10.6", False),
        ("5%", "0.05", True),
        ("5%", "5", False),
        ("0", "0.0", False),
        ("1,000", "1000", False),
        ("Yes", "Yes.", False),
        ("yes", "Yes", True),
        ("2019", "2018", True),
        ("-10", "10", False),
        ("nan", "5", False),
        (" 47\n", "47", True),
    ],
)
def test_relaxed_accuracy(answer: str, gold: str, right: bool) -> None:
    assert relaxed_correct(answer, ["x", gold]) is right


@given(st.floats(0.01, 1e6), st.floats(0, 0.049))
def test_five_percent_either_way_is_right(gold: float, part: float) -> None:
    assert relaxed_correct(str(gold * (1 + part)), [str(gold)])
    assert relaxed_correct(str(gold * (1 - part)), [str(gold)])
    assert not relaxed_correct(str(gold * (1.06 + part)), [str(gold)])


def test_equality_of_three_strengths() -> None:
    assert equal_converted("No.", ["no"])
    assert not equal_converted("no, it is not", ["no"])
    assert not equal_converted("no", ["No"])
    assert equal_folded("No", ["no"])
    assert not equal_folded("No.", ["no"])
    assert equal_without_dot("No.", ["no"])
    assert not equal_without_dot("No..", ["no"])


def test_containment_without_dots() -> None:
    assert contains_gold("It is U.S.A.!", ["usa"])
    assert not contains_gold("usb", ["usa"])
    assert not contains_gold("anything", ["."])


def test_ocrbench_compares_expressions_in_their_own_case_without_blanks() -> None:
    assert contains_a_gold("The sign says\nSTOP now", ["stop NOW"])
    assert contains_a_gold("it is x ^ {2}", ["x^{2}"], expression=True)
    assert not contains_a_gold("it is X^{2}", ["x^{2}"], expression=True)
    assert not contains_a_gold("text", [""])
