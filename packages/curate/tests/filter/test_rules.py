"""Rules on small tables computed by hand."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from snellen.core.errors import UnknownName, UsageError
from snellen_curate.filter.rules import Judgement, check_rule, default_rules, judge, parse_rule

KEEP, FLAG, OPEN = Judgement.KEEP, Judgement.FLAG, Judgement.UNDECIDED

# (rule, models, right, silent) to the judgement.
TABLE = [
    ("text-majority", 3, 1, 0, KEEP),
    ("text-majority", 3, 2, 0, FLAG),
    ("text-majority", 3, 3, 0, FLAG),
    ("text-majority", 4, 2, 0, KEEP),  # half is not more than half
    ("text-majority", 4, 3, 0, FLAG),
    ("text-majority", 3, 2, 1, FLAG),  # whatever the third would have said
    ("text-majority", 3, 1, 1, OPEN),
    ("text-majority", 3, 0, 1, KEEP),
    ("text-majority", 3, 0, 3, OPEN),
    ("text-majority:0.6", 5, 3, 0, KEEP),
    ("text-majority:0.6", 5, 4, 0, FLAG),
    ("text-majority:2/3", 3, 2, 0, KEEP),
    ("text-majority:60%", 5, 4, 0, FLAG),
    ("text-majority:0", 3, 1, 0, FLAG),
    ("text-more-than", 3, 2, 0, KEEP),  # the appendix's "more than two" of three is all
    ("text-more-than", 3, 3, 0, FLAG),
    ("text-more-than", 4, 3, 0, FLAG),
    ("text-more-than:1", 3, 2, 0, FLAG),
    ("text-more-than:1", 3, 1, 1, OPEN),
    ("text-all", 3, 3, 0, FLAG),
    ("text-all", 3, 2, 0, KEEP),
    ("text-all", 3, 2, 1, OPEN),
    ("text-all", 3, 1, 1, KEEP),
    ("text-all", 1, 1, 0, FLAG),
    ("vision-none", 5, 0, 0, FLAG),
    ("vision-none", 5, 1, 0, KEEP),
    ("vision-none", 5, 0, 1, OPEN),
    ("vision-none", 5, 1, 4, KEEP),
    ("vision-none", 5, 0, 5, OPEN),
    ("vision-none:1", 5, 1, 0, FLAG),
    ("vision-none:1", 5, 2, 0, KEEP),
    ("vision-none:1", 5, 0, 1, FLAG),
    ("vision-none:1", 5, 1, 1, OPEN),
]


@pytest.mark.parametrize(("name", "models", "right", "silent", "judgement"), TABLE)
def test_judgements(name: str, models: int, right: int, silent: int, judgement: Judgement) -> None:
    judged = judge(parse_rule(name), np.array([right]), np.array([silent]), models)
    assert judged.tolist() == [judgement]


# With --limits min_replies, the models that replied decide alone.
ENOUGH = [
    ("text-majority", 3, 1, 1, 2, KEEP),  # 1 of 2 is not more than half
    ("text-majority", 3, 1, 2, 1, FLAG),  # 1 of 1
    ("text-majority", 3, 1, 2, 2, OPEN),
    ("text-all", 3, 2, 1, 2, FLAG),
    ("text-all", 3, 0, 3, 1, OPEN),
    ("vision-none", 5, 0, 2, 3, FLAG),
    ("vision-none", 5, 0, 2, 4, OPEN),
    ("vision-none", 5, 0, 5, 1, OPEN),  # no reply at all decides nothing
    ("text-more-than", 4, 2, 1, 3, KEEP),
]


@pytest.mark.parametrize(("name", "models", "right", "silent", "least", "judgement"), ENOUGH)
def test_enough_replies_judge_alone(
    name: str, models: int, right: int, silent: int, least: int, judgement: Judgement
) -> None:
    judged = judge(parse_rule(name), np.array([right]), np.array([silent]), models, least)
    assert judged.tolist() == [judgement]


@pytest.mark.parametrize("name", ["text-majority", "text-more-than:1", "text-all", "vision-none"])
def test_judgement_holds_for_all_completions_of_missing_replies(name: str) -> None:
    """Every table of four models: a judgement stands exactly if all completions agree on it."""
    rule = parse_rule(name)
    for verdicts in product((1, 0, None), repeat=4):
        right, silent = verdicts.count(1), verdicts.count(None)
        completed = {judge(rule, np.array([right + more]), np.array([0]), 4).item() for more in range(silent + 1)}
        judged = judge(rule, np.array([right]), np.array([silent]), 4).item()
        assert judged == (completed.pop() if len(completed) == 1 else OPEN)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("text-majority:1", "from 0 to below 1"),
        ("text-majority:half", "such as 0.5"),
        ("text-majority:1/0", "such as 0.5"),
        ("text-all:2", "takes no number"),
        ("vision-none:0.5", "a number of models"),
        ("text-more-than:-1", "a number of models"),
        ("text-more-than:", "a number of models"),
    ],
)
def test_a_wrong_number_is_one_sentence(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        parse_rule(text)


def test_an_unknown_rule_names_the_known_ones() -> None:
    with pytest.raises(UnknownName, match="text-majority"):
        parse_rule("text-majorty")


@pytest.mark.parametrize(
    ("name", "models", "words"),
    [
        ("text-majority", 0, "needs text-only models"),
        ("text-more-than", 2, "could flag nothing"),
        ("vision-none:3", 3, "which is everything"),
        ("vision-none", 0, "needs vision models"),
    ],
)
def test_a_rule_that_decides_nothing_is_refused(name: str, models: int, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        check_rule(parse_rule(name), models)


@pytest.mark.parametrize(
    ("typed", "name"),
    [
        ("text-majority:0.5", "text-majority"),
        ("text-majority:50%", "text-majority"),
        ("text-majority:2/3", "text-majority:2/3"),
        ("text-more-than:2", "text-more-than"),
        ("vision-none:1", "vision-none:1"),
    ],
)
def test_a_rule_has_one_name(typed: str, name: str) -> None:
    assert parse_rule(typed).name == name
    assert parse_rule(name) == parse_rule(typed)


def test_the_default_rules_are_those_of_section_3_2() -> None:
    assert [rule.name for rule in default_rules(["text-only", "vision"])] == ["text-majority", "vision-none"]
    assert [rule.name for rule in default_rules(["vision", "vision"])] == ["vision-none"]
