"""Reading a yes/no reply by three named rules: one fact a row."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.core.output import Empty, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.extract.yes_no import YesNoRule, parse_yes_no
from snellen.extract.yes_no_words import WORDS as WORDS_BY_LANGUAGE

WORDS = [
    ("yes", "Yes"),
    ("YES!", "Yes"),
    ("No.", "No"),
    ("**No**", "No"),
    ("Yes,it is blue, and", "Yes"),
    ("No,it is", "No"),
    ("yes, there is no doubt", "Yes"),
    ("No, there is no cat.", "No"),
    ("Answer: Yes", "Yes"),
    ("The answer is no.", "No"),
    ("No, but the answer is yes", "Yes"),
    ("The man is wearing a hat, so yes.", "Yes"),
    ("I think no", "No"),
    (r"So \boxed{yes}", "Yes"),
    ("<think>yes?</think>No", "No"),
    ("<s> Yes</s>", "Yes"),
    ("是", "Yes"),
    ("是的，图中有一只猫。", "Yes"),
    ("有", "Yes"),
    ("答案：是", "Yes"),
    ("不是", "No"),
    ("没有", "No"),
    ("否", "No"),
    ("不", "No"),
    ("答案是否", "No"),
]


@pytest.mark.parametrize(("reply", "value"), WORDS)
def test_a_word_is_read(reply: str, value: str) -> None:
    answer = parse_yes_no(reply)
    assert isinstance(answer, ParsedAnswer)
    assert answer.value == value


@pytest.mark.parametrize("tag", WORDS_BY_LANGUAGE)
def test_words_of_other_languages_open_a_reply(tag: str) -> None:
    for words, value in zip(WORDS_BY_LANGUAGE[tag], ("Yes", "No"), strict=True):
        for word in words.split("|"):
            for reply in (word, word.capitalize() + ".", unicodedata.normalize("NFD", word) + ", "):
                answer = parse_yes_no(reply)
                assert isinstance(answer, ParsedAnswer), reply
                assert answer.value == value, reply


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("Sì, c'è un cane.", "Yes"),
        ("نعم، يوجد", "Yes"),
        ("नहीं।", "No"),
        ("Nej, det finns ingen.", "No"),
        ("對，圖中有一隻貓。", "Yes"),
        ("沒有", "No"),
        ("答案應該是不對", "No"),
        ("Nu metal is a genre", None),
        ("Da Vinci", None),
        ("Sicuro", None),
    ],
)
def test_sentences_of_other_languages(reply: str, value: str | None) -> None:
    assert getattr(parse_yes_no(reply), "value", None) == value


@pytest.mark.parametrize(
    "reply",
    [
        "yes or no",
        "Yes/No",
        "Yes and no",
        "Yes.No",
        "notice",
        "not sure",
        "no-one",
        "No doubt, it is a cat",
        "There is no cat",
        "The answer is not yes.",
        "是否有猫？",
    ],
)
def test_unclear_words_are_unparsed(reply: str) -> None:
    assert isinstance(parse_yes_no(reply), Unparsed)


@pytest.mark.parametrize(
    ("reply", "rule", "value"),
    [
        ("Yes", "official", "Yes"),
        ("yes, there is", "official", "Yes"),
        ("not sure", "official", "No"),
        ("the answer is yes", "official", None),
        (" no", "official", "No"),
        ("Yes, it is", "paper", "Yes"),
        ("no.", "paper", "No"),
        ("not sure", "paper", None),
        ("The answer is yes", "paper", None),
    ],
)
def test_the_rules_differ(reply: str, rule: YesNoRule, value: str | None) -> None:
    answer = parse_yes_no(reply, rule=rule)
    assert (answer.value if isinstance(answer, ParsedAnswer) else None) == value


def test_why_nothing_was_read() -> None:
    assert isinstance(parse_yes_no(" "), Empty)
    assert isinstance(parse_yes_no("I'm sorry, I can't help with that."), Refused)
    assert isinstance(parse_yes_no("无法判断"), Refused)
    assert isinstance(parse_yes_no("The picture shows", stop_reason="length"), Truncated)


@settings(max_examples=200, deadline=None)
@given(st.text(max_size=120), st.sampled_from(["word", "official", "paper"]))
def test_any_text_can_be_read(reply: str, rule: YesNoRule) -> None:
    answer = parse_yes_no(reply, rule=rule)
    if isinstance(answer, ParsedAnswer):
        assert answer.span is not None
        assert answer.value in ("Yes", "No")
        assert 0 <= answer.span[0] < answer.span[1] <= len(reply)
