"""Scripts of benchmarks that look at the opening letter, word or sentence of a reply.

What they read of these replies was seen by running them: MME-RealWorld's and MMStar's evaluation,
MLVU's and MVBench's `check_ans`, TempCompass's `eval_rule`.
"""

from __future__ import annotations

import pytest

from snellen.core.output import ParsedAnswer
from snellen.extract.published.official import opening_parser, parse_before_bracket, parse_mme_realworld, parse_mmstar
from snellen.extract.published.tempcompass import parse_sentence_match


@pytest.mark.parametrize(
    ("reply", "realworld", "mmstar", "bracket"),
    [
        ("B", "B", "B", "B"),
        ("b", "B", "B", None),
        ("(c) green", "C", "C", None),
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
    read = [reader(reply, options) for reader in (parse_mme_realworld, parse_mmstar, parse_before_bracket)]
    assert [one.value if isinstance(one, ParsedAnswer) else None for one in read] == [realworld, mmstar, bracket]


@pytest.mark.parametrize(
    ("reply", "right"), [("", "ABC"), ("(b) red", "B"), ("C. red", "C"), (" B", "ABC"), ("red", ""), ("It is A", "")]
)
def test_mvbench_holds_the_first_word_against_the_gold(reply: str, right: str) -> None:
    options = {"A": "dog", "B": "red", "C": "blue"}
    found = [isinstance(opening_parser(gold)(reply, options, "stop"), ParsedAnswer) for gold in "ABC"]
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
    found = parse_sentence_match(reply, {"Sentence A": "He stands.", "Sentence B": "He sits."})
    assert (found.value if isinstance(found, ParsedAnswer) else None) == name
