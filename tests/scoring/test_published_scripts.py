"""Comparisons as single published scripts make them, beside Snellen's own."""

from __future__ import annotations

import pytest

from snellen.benchmarks.documents.slidevqa import equal_authors, f1_authors
from snellen.benchmarks.documents.tablevqabench import same_items
from snellen.scoring.document import (
    anls_vlmevalkit,
    anls_vlmevalkit_joined_lines,
    equal_vlmevalkit,
    words_f1_vlmevalkit,
)
from snellen.scoring.exact import contains_gold, contains_gold_authors
from snellen.scoring.relaxed import relaxed_correct, relaxed_untrimmed
from snellen.scoring.typed_answer import typed_score, typed_score_by_script


@pytest.mark.parametrize(
    ("answer", "gold", "question", "score"),
    [
        ("It is 2.", "2", "How many?", 1.0),
        ("twelve boats", "12", "how many boats are there?", 1.0),
        ("Yes, it does", "yes", "Does it?", 1.0),
        ("apples and pears", "apples, pears", "What?", 1.0),
        ("5 percent", "5", "What?", 1.0),
        ("...", "-", "What?", 0.0),
    ],
)
def test_slidevqa(answer: str, gold: str, question: str, score: float) -> None:
    assert f1_authors(answer, gold, question) == score
    assert equal_authors(answer, gold, question) is (score == 1.0)


def test_vlmevalkit_joins_the_lines_of_a_gold() -> None:
    assert equal_vlmevalkit("roadclosed", "Road\nClosed")
    assert words_f1_vlmevalkit("road closed", "Road\nClosed") == 0.0
    assert anls_vlmevalkit_joined_lines("RoadClosed", "Road\nClosed") == 1.0
    assert anls_vlmevalkit("road closed", "Road\nClosed") == pytest.approx(10 / 11)


def test_mtvqa_finds_no_gold_with_a_dot() -> None:
    assert contains_gold("It is 3.5 m", ["3.5"])
    assert not contains_gold_authors("It is 3.5 m", ["3.5"])
    assert contains_gold_authors("It is 35 m", ["35"])


def test_pix2struct_leaves_white_space() -> None:
    assert relaxed_correct(" 42% ", ["42%"])
    assert not relaxed_untrimmed(" 42% ", ["42%"])
    assert relaxed_untrimmed(" 42 ", ["42"])


@pytest.mark.parametrize(
    ("answer", "gold", "kind", "ours", "script"),
    [
        ("It is unanswerable", "Not answerable", "None", 1.0, pytest.approx(11 / 18)),
        ("not answerable", "Not answerable", "None", 1.0, 1.0),
        ("Not answered", "Not answerable", "None", 0.0, pytest.approx(10 / 14)),
        ("$3.14", "3.14", "Float", 1.0, 1.0),
        ("['a', 'b'", "['a', 'b']", "List", 0.0, 0.0),
    ],
)
def test_typed_answers(answer: str, gold: str, kind: str, ours: float, script: float) -> None:
    assert typed_score(answer, gold, kind) == ours
    assert typed_score_by_script(answer, gold, kind) == script


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        ("0.0||0", "0", True),
        ("xx-06-xx ", "xx-6-xx", False),
        ("2001-06-07", "2001-6-7", True),
        ("2001-13-07", "2001-13-7", False),
    ],
)
def test_items_of_tables(answer: str, gold: str, same: bool) -> None:
    assert same_items(answer, gold) is same
