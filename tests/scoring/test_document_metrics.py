"""Documents, tables and covered text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.benchmarks.documents.tablevqabench import (
    is_statement_correct,
    normalise_cell,
    parse_amount,
    same_amount,
    same_figure,
    same_items,
)
from snellen.benchmarks.documents.vcr_wiki.text_restoration import score_restoration
from snellen.scoring.document import (
    abstains,
    bag_of_words_f1,
    document_anls,
    list_anls,
    squad_equal,
    words_f1_vlmevalkit,
)
from snellen.scoring.typed_answer import parse_items, typed_score

WORDS = st.lists(st.sampled_from(["red", "green", "blue", "big"]), max_size=5)


@pytest.mark.parametrize(
    ("answer", "gold", "kind", "score"),
    [
        ("3.9", "3", "Int", 1.0),
        ("4", "3", "Int", 0.0),
        ("three", "3", "Int", 0.0),
        ("50%", "0.5", "Float", 1.0),
        ("1.009", "1.00", "Float", 1.0),
        ("1.02", "1.00", "Float", 0.0),
        ("half", "0.5", "Float", 0.0),
        ("0.5", "unknown", "Float", 0.0),
        ("apple pies", "apple pie", "Str", 0.9),
        ("Page 5", "page 5", "Str", 1.0),
        ("Page 6", "page 5", "Str", 0.0),
        ("2015-01-02", "2015-01-03", "Str", 0.0),
        ('["b", "a"]', "['a', 'b']", "List", 1.0),
        ('["a"]', "['a', 'b']", "List", 0.0),
        ("['1', '2']", "['2', '1']", "List", 1.0),
        ("Not answerable", "Not answerable", "None", 1.0),
        ("The question cannot be answered from the document.", "Not answerable", "None", 1.0),
        ("Not answerable", "3", "Int", 0.0),
        ("3", "Not answerable", "None", 0.0),
    ],
)
def test_mmlongbench_compares_by_type(answer: str, gold: str, kind: str, score: float) -> None:
    assert typed_score(answer, gold, kind) == pytest.approx(score)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("['a', 'b, c']", ["a", "b, c"]),
        ('["a", "b"]', ["a", "b"]),
        ("[1, 2]", ["1", "2"]),
        ("plain, text", ["plain, text"]),
        ("[]", []),
    ],
)
def test_items_of_a_list(text: str, found: list[str]) -> None:
    assert list(parse_items(text)) == found


def test_lists_are_paired_in_any_order() -> None:
    assert list_anls(["b", "a"], ["a", "b"]) == 1.0
    assert list_anls(["a"], ["a", "b"]) == 0.5
    assert list_anls([], ["a"]) == 0.0
    many = [f"item number {number:03}" for number in range(9)]
    assert list_anls(many[::-1], many) == 1.0


def test_abstaining_is_right_or_wrong() -> None:
    assert document_anls("This is not answerable.", ["Not answerable"]) == 1.0
    assert document_anls("Paris", ["Not answerable"]) == 0.0
    assert document_anls("Not answerable", ["Not answered"]) == 0.0
    assert not abstains("no answers were given in 1990")


@given(WORDS, WORDS)
def test_f1_of_words_is_symmetric_and_a_share(one: list[str], other: list[str]) -> None:
    there = bag_of_words_f1(" ".join(one), [" ".join(other)])
    assert there == bag_of_words_f1(" ".join(other), [" ".join(one)])
    assert 0 <= there <= 1
    assert (there == 1) == (sorted(one) == sorted(other))


def test_squads_normalisation() -> None:
    assert squad_equal("The Beatles!", ["beatles"])
    assert bag_of_words_f1("the big red dog", ["a red dog"]) == pytest.approx(0.8)
    assert bag_of_words_f1("red red red", ["red"]) == 0.5
    assert words_f1_vlmevalkit("red red red", "red") == 1.0


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("True", "True", True),
        ("It is false", "False", True),
        ("true or false", "True", False),
        ("perhaps", "False", False),
    ],
)
def test_statements(answer: str, gold: str, right: bool) -> None:
    assert is_statement_correct(answer, gold) is right


@pytest.mark.parametrize(
    ("answer", "gold", "right"),
    [
        ("2004", "2004.0", True),
        ("b||a", "a|b", True),
        ("a", "a|b", False),
        ("a|b|c", "a|b", False),
        ("Café (Paris)", "cafe", True),
        ("1990-xx-xx", "1990", True),
        ("2001-02-03", "2001-2-3", True),
        ("2001-02-03", "2001-02-04", False),
        ("1,000", "1000", False),
        ("2|2.0", "2", True),
    ],
)
def test_answers_from_wikipedia_tables(answer: str, gold: str, right: bool) -> None:
    assert same_items(answer, gold) is right


def test_financial_answers_with_and_without_units() -> None:
    assert parse_amount("$3,852 million").with_units == 3852e6
    assert same_amount("3.5 million dollars", "$3,500,000")
    assert not same_amount("34.2", "34.2%")
    assert same_figure("34.2", "34.2%")
    assert not same_figure("34.3", "34.2%")
    assert normalise_cell("“Été”† [1]") == "ete"


@pytest.mark.parametrize(
    ("reply", "gold", "chinese", "exact", "jaccard"),
    [
        ("The text is: of the largest cities.", "of the largest cities", False, 1.0, 1.0),
        ("of the biggest cities", "of the largest cities", False, 0.0, 3 / 5),
        ("sorry, of the largest cities", "of the largest cities", False, 0.0, 0.0),
        ("nothing alike", "of the largest cities", False, 0.0, 0.0),
        ("", "of the largest cities", False, 0.0, 0.0),
        ("内容是中国人民。", "中国人民", True, 1.0, 1.0),
        ("中国人", "中国人民", True, 0.0, 3 / 4),
    ],
)
def test_covered_text(reply: str, gold: str, chinese: bool, exact: float, jaccard: float) -> None:
    found = score_restoration(reply, gold, chinese=chinese)
    assert (found.exact, found.jaccard) == (exact, pytest.approx(jaccard))
