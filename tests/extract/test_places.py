"""Where in a reply an answer stands, and whether a label there is one of a list."""

from __future__ import annotations

import pytest

from snellen.core.output import ParsedAnswer
from snellen.extract.letters import names_multiple
from snellen.extract.options import prepare_options
from snellen.extract.yes_no import parse_yes_no


@pytest.mark.parametrize(
    ("reply", "value", "words"),
    [
        ("是的，有一只猫", "Yes", "是"),
        ("不是，没有", "No", "不是"),
        ("没有猫。", "No", "没有"),
        ("Yes, it is.", "Yes", "Yes"),
        ("There is no doubt: the answer is no", "No", "no"),
    ],
)
def test_span_of_the_deciding_words(reply: str, value: str, words: str) -> None:
    answer = parse_yes_no(reply)
    assert isinstance(answer, ParsedAnswer)
    assert answer.span is not None
    assert (answer.value, reply[slice(*answer.span)]) == (value, words)


@pytest.mark.parametrize(
    ("text", "letter", "several"),
    [
        ("A or B", "A", True),
        # The other label may be the very first letter of the reply.
        ("A or B", "B", True),
        ("(A) and (B)", "B", True),
        ("Z or B", "B", False),
        ("B", "B", False),
        ("It is B", "B", False),
    ],
)
def test_a_label_of_a_list(text: str, letter: str, several: bool) -> None:
    options = prepare_options((("A", "red"), ("B", "blue")))
    start = text.rindex(letter)
    assert names_multiple(text, start, start + 1, options) == several
