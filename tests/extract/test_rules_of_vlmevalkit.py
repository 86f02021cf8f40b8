"""VLMEvalKit's readers of single benchmarks, and its rule for choices as it was before.

What they read of these replies was seen by running VLMEvalKit's own functions (commit e8e78f05;
the releases of 2025-04 and 2026-02 for the rule for choices).
"""

from __future__ import annotations

import pytest

from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.first_capital import of_four_vlmevalkit
from snellen.extract.published.vlmevalkit import parse_choice_vlmevalkit
from snellen.extract.published.vlmevalkit_own import (
    bracket_parser,
    first_word_parser,
    parse_after_answer,
    parse_mme_realworld,
)

OPTIONS = {"A": "red dog", "B": "blue cat", "C": "green", "D": "12.5 cm"}
LONG = "C is right because the sky over there is what everybody sees"


def value(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


@pytest.mark.parametrize(
    ("reply", "video", "realworld"),
    [
        ("Bob holds A", "B", "B"),
        ("", None, "A"),
        ("(", None, "A"),
        ("b", None, "B"),
        ("(c)", None, "C"),
        ("The answer is b", None, None),
        ("The best option is D", "D", "D"),
        ("Best answer: D", "B", "D"),
        ("Answer: D", "D", "A"),
        ("<answer>b</answer>", None, "B"),
        ("<ANSWER>d</ANSWER>", "A", "A"),
        ("it is the dog", None, None),
    ],
)
def test_first_capitals(reply: str, video: str | None, realworld: str | None) -> None:
    assert value(of_four_vlmevalkit(reply, OPTIONS)) == video
    assert value(parse_mme_realworld(reply, {**OPTIONS, "E": "none"})) == realworld


@pytest.mark.parametrize(
    ("reply", "mvbench", "mlvu"),
    [
        ("", "ABCD", ""),
        ("(", "ABCD", ""),
        ("b", "B", ""),
        ("(B) blue cat", "B", "B"),
        ("B) blue cat, not red dog", "B", "B"),
        ("(A) is wrong, C", "A", "A"),
        ("(a)(b)", "AB", ""),
        ("B.", "B", "B"),
        ("It is green", "C", "C"),
    ],
)
def test_readers_that_look_at_the_gold(reply: str, mvbench: str, mlvu: str) -> None:
    for reader, right in ((first_word_parser, mvbench), (bracket_parser, mlvu)):
        found = [gold for gold in OPTIONS if value(reader((gold,))(reply, OPTIONS, "stop")) == gold]
        assert "".join(found) == right


@pytest.mark.parametrize(
    ("reply", "early", "middle", "late"),
    [
        (LONG, "C", None, None),
        ("The answer is blue", None, None, "B"),
        ("It is the red dog that runs over the wide meadow in the early light", "A", None, None),
        ("C", "C", "C", "C"),
    ],
)
def test_the_rule_for_choices_by_release(reply: str, early: str | None, middle: str | None, late: str | None) -> None:
    read = [
        value(parse_choice_vlmevalkit(reply, OPTIONS, release=month)) for month in ("2025-04", "2026-02", "2026-08")
    ]
    assert read == [early, middle, late]


@pytest.mark.parametrize(
    ("reply", "label"),
    [
        ("A or B?\nAnswer: B", "B"),
        ("Answer: $C", "C"),
        ("Answer: (B)\n\nA look at the rest shows it.", "B"),
        ("Answer: A\nAnswer: blue cat", "B"),
        ("The answer:\nIt is C", "C"),
    ],
)
def test_mmmu_pro_reads_the_text_after_the_last_answer(reply: str, label: str) -> None:
    assert value(parse_after_answer(reply, OPTIONS)) == label
