from __future__ import annotations

import pytest

from snellen.core.output import NoMatch, Unparsed
from snellen.extract.choice import parse_choice
from snellen.extract.published.vlmevalkit import parse_choice_vlmevalkit
from snellen.extract.steps import step_of

OPTIONS = {"A": "red", "B": "green", "C": "dark blue"}


@pytest.mark.parametrize(
    ("reply", "step"),
    [
        ("B", "label"),
        ("(B)", "label"),
        ("B. green", "label"),
        ("The answer is (C).", "label"),
        ("My choice would be option B.", "label"),
        ("<answer>B</answer>", "label"),
        ("green", "content"),
        ("It is dark blue.", "content"),
        ("<answer>green</answer>", "content"),
        ("\\boxed{dark blue}", "content"),
        ("no idea", None),
        ("Z", None),
        ("", None),
    ],
)
def test_the_step_that_read_a_reply(reply: str, step: str | None) -> None:
    assert step_of(parse_choice(reply, OPTIONS), by_llm=False) == step


@pytest.mark.parametrize(("reply", "step"), [("B", "label"), ("it is green", "content")])
def test_the_step_of_another_tools_rules(reply: str, step: str) -> None:
    assert step_of(parse_choice_vlmevalkit(reply, OPTIONS), by_llm=False) == step


def test_extractor_is_the_third_step() -> None:
    assert step_of(parse_choice("B", OPTIONS), by_llm=True) == "llm"
    assert step_of(Unparsed(), by_llm=True) is None
    assert step_of(NoMatch("extractor"), by_llm=True) is None
