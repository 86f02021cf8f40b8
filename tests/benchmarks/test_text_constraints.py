"""Constraints that a program checks, on texts whose parts are counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from snellen.benchmarks.open_answers.mm_ifeval.text_constraints import (
    keeps_constraint,
    split_paragraphs,
    split_sentences,
)

TEXT = "The sea is calm.\n \nDr. Reed waits, e.g. here! She has 2.50 boats.\n\n\nThe end"


def test_splits_paragraphs_and_sentences() -> None:
    assert split_paragraphs(TEXT) == ["The sea is calm.", "Dr. Reed waits, e.g. here! She has 2.50 boats.", "The end"]
    assert split_sentences(split_paragraphs(TEXT)[1]) == ["Dr. Reed waits, e.g. here!", "She has 2.50 boats."]
    assert split_sentences('He said: "No." Then he left... slowly.') == ['He said: "No."', "Then he left... slowly."]


@pytest.mark.parametrize(
    ("check", "parameters", "kept"),
    [
        ("check_whether_response_paragraph_number_in_range", [3, 3], True),
        ("check_whether_response_paragraph_number_in_range", [1, 2], False),
        ("check_whether_each_paragraph_sentence_number_in_range_list", [[[1, 1], [2, 2], [1, 1]]], True),
        ("check_whether_each_paragraph_sentence_number_in_range_list", [[[1, 2]]], False),
        ("check_number_precision_in_response", [2], True),
        ("check_number_precision_in_response", [1], False),
        ("check_whether_has_no_arabic_number_in_response", [], False),
        ("check_whether_each_keyword_in_list_metioned_in_range", [["BOATS", "sea"], 1, 1], True),
        ("check_whether_each_keyword_in_list_metioned_in_range", [["boat"], 1, 1], False),
        ("check_whether_response_word_count_in_range", ["one", 2], None),
        ("check_whether_response_word_count_in_range", [1], None),
        ("check_of_the_future", [1], None),
    ],
)
def test_constraint_checks(check: str, parameters: list[Any], kept: bool | None) -> None:
    assert keeps_constraint(TEXT, check, parameters) is kept
