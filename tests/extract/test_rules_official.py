"""The readings of scripts published with single benchmarks."""

from __future__ import annotations

import pytest

from snellen.core.answer import Answer, Empty, Found, NoMatch, Truncated, Unparsed
from snellen.extract.rules_official import (
    opening_given_gold,
    read_blink,
    read_bracket,
    read_equal,
    read_mmbench,
    read_mme_realworld,
    read_mmstar,
)
from snellen.extract.rules_tempcompass import read_match_of

OPTIONS = {"A": "red", "B": "green", "C": "blue", "D": "yellow"}


def value(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, Found) else None


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("B", "B"),
        ("B.", "B"),
        ("(B)", "B"),
        ("(B).", "B"),
        ("Answer :B", "B"),
        ("A red car", "A"),
        ("A red car here", "A"),  # by its text: of four words, the A may be the article
        ("A thing of no colour", None),
        ("It is blue.", "C"),
        ("A or B", None),
        ("A. or B.", None),
        ("**B**", None),
        ("The answer is blue", "C"),
        ("Failed to obtain answer via API", None),
    ],
)
def test_mmbench_compares_words_as_they_stand(reply: str, label: str | None) -> None:
    assert value(read_mmbench(reply, OPTIONS)) == label


def test_mmbench_had_e_as_its_pseudo_choice() -> None:
    assert read_mmbench("E", OPTIONS) == NoMatch("official")
    assert value(read_mmbench("E", {**OPTIONS, "E": "pink"})) == "E"


@pytest.mark.parametrize(
    ("reply", "label"), [("A", "A"), (" A\n", "A"), ("A.", None), ("a", None), ("E", None)]
)
def test_seed_bench_takes_the_label_alone(reply: str, label: str | None) -> None:
    assert value(read_equal(reply, OPTIONS)) == label


@pytest.mark.parametrize(
    ("reply", "label"), [("(A)", "A"), ("A", None), ("(C) Point C", None), ("(Z)", None)]
)
def test_blink_takes_the_label_in_parentheses_alone(reply: str, label: str | None) -> None:
    assert value(read_blink(reply, OPTIONS)) == label
    assert value(read_blink(reply, {})) == label


@pytest.mark.parametrize("read", [read_mmbench, read_equal, read_blink])
def test_an_unread_reply_keeps_its_reason(read) -> None:
    assert read("", OPTIONS) == Empty()
    assert read("dunno", OPTIONS) == Unparsed()
    assert read("dun", OPTIONS, "length") == Truncated()


@pytest.mark.parametrize(
    ("reply", "realworld", "mmstar", "bracket"),
    [
        ("B", "B", "B", "B"),
        ("b", "B", "B", None),
        ("(c) green", None, "C", None),
        ("Answer: B", "A", "A", None),
        ("Best option: D", "B", "B", None),
        ("The answer is d", "A", "D", None),  # " d" stands in "red dog"
        ("Option C", "C", "C", None),
        ("red", "A", None, None),
        ("", "A", None, None),
        ("Because of (D)", "B", "B", "D"),
        (")", "A", None, None),
        ("nothing that stands among the options, in more than ten words", None, None, None),
    ],
)
def test_opening_letters_as_published_scripts_read_them(
    reply: str, realworld: str | None, mmstar: str | None, bracket: str | None
) -> None:
    options = {"A": "red dog", "B": "blue", "C": "green", "D": "grey"}
    read = [reader(reply, options) for reader in (read_mme_realworld, read_mmstar, read_bracket)]
    assert [one.value if isinstance(one, Found) else None for one in read] == [
        realworld,
        mmstar,
        bracket,
    ]


@pytest.mark.parametrize(
    ("reply", "right"),
    [("", "ABC"), ("(b) red", "B"), ("C. red", "C"), (" B", "ABC"), ("red", ""), ("It is A", "")],
)
def test_mvbench_holds_the_first_word_against_the_gold(reply: str, right: str) -> None:
    options = {"A": "dog", "B": "red", "C": "blue"}
    found = [isinstance(opening_given_gold(gold)(reply, options, "stop"), Found) for gold in "ABC"]
    assert found == [gold in right for gold in "ABC"]


@pytest.mark.parametrize(
    ("reply", "name"),
    [
        ("Sentence B.", "Sentence B"),
        ("B", "Sentence B"),
        ("Sentence B: He sits.", "Sentence B"),
        ("He sits.", "Sentence B"),
        ("(B) He sits.", "Sentence B"),
        ("he sits.", None),
        ("b", None),
        ("He sits", None),
    ],
)
def test_tempcompass_matches_sentences_letter_by_letter(reply: str, name: str | None) -> None:
    found = read_match_of(reply, {"Sentence A": "He stands.", "Sentence B": "He sits."})
    assert (found.value if isinstance(found, Found) else None) == name
