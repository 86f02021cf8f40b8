"""MME's four problems: by hand, and on recorded replies of a real model."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.analysis.findings.yes_no_problems import (
    Proportion,
    broken_reasoning,
    problems,
    problems_by_group,
)
from snellen.api import score
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Pass, Record
from snellen.core.request import user


def asked(
    name: str, reply: str, answer: str | None, gold: str, unit: str = "", question: str = "Is it?"
) -> Record:
    one = Pass(
        (user(),), Generated(reply), ParsedAnswer(answer, "official") if answer else None, (gold,)
    )
    outcome = "answered" if answer else "unparsed"
    return Record(
        name, "yes_no", question, outcome, float(answer == gold), answer=answer, gold=(gold,),
        unit=unit, passes=(one,), groups={"category": name[0]},
    )  # fmt: skip


def test_counts() -> None:
    records = [
        asked("a1", "Yes.", "Yes", "Yes", "a"),
        asked("a2", "Yes, it is.", "Yes", "No", "a"),
        asked("b1", "No", "No", "Yes", "b"),
        asked("b2", "No", "No", "No", "b"),
        asked("c1", "A man stands there.", None, "Yes", "c"),
        asked("c2", "Yes", "Yes", "No", "c"),
        Record("d", "yes_no", "q", "failed", unscored="failed"),
    ]
    found = problems(records)
    assert found.not_following == Proportion(1, 6)
    assert (found.contradictory, found.both_yes, found.both_no) == (Proportion(2, 2), 1, 1)
    assert (found.yes, found.gold_yes) == (Proportion(3, 5), Proportion(2, 5))
    assert found.yes_bias == pytest.approx(0.2)
    assert found.hallucinated == Proportion(2, 3)
    assert {name: one.yes for name, one in problems_by_group(records, "category").items()} == {
        "a": Proportion(2, 2),
        "b": Proportion(0, 2),
        "c": Proportion(1, 1),
    }
    assert problems([]).yes_bias is None


@pytest.mark.parametrize(
    ("reply", "answer", "gold", "question", "why"),
    [
        ("Yes, this is not an office.", "Yes", "No", "Is this an office?", "denies: is not"),
        ("Yes, this is an office.", "Yes", "No", "Is this an office?", None),
        (
            "No, it is a shop, so the answer is yes.",
            "No",
            "Yes",
            "Is it a shop?",
            "closes with yes",
        ),
        ("No, 20 + 25 = 45.", "No", "Yes", "Is the answer 45?", "arrives at 45, asked about 45"),
        ("Yes, 20 + 25 = 45.", "Yes", "No", "Is the answer 54?", "arrives at 45, asked about 54"),
        ("Yes, there are 4 bananas.", "Yes", "No", "Are there 4 bananas?", None),
        ("No, this is not Rio Bravo (1959).", "No", "Yes", "Is it Rio Bravo (1959)?", None),
        ("Yes.", "Yes", "No", "Is this an office?", None),
        ("Yes, this is not an office.", "Yes", "Yes", "Is this a shop?", None),
        ("It is not an office. Yes", "Yes", "No", "Is this an office?", None),
    ],
)
def test_the_rule_for_broken_reasoning(
    reply: str, answer: str, gold: str, question: str, why: str | None
) -> None:
    found = list(broken_reasoning([asked("a", reply, answer, gold, question=question)]))
    assert [one.why for one in found] == ([why] if why else [])


@pytest.mark.parametrize(
    ("question", "reply", "why"),
    [
        ("Is there no one here?", "no, there is no one here.", "states: there is no one here."),
        ("Is there a cat in this image?", "No. A dog sits. A cat is in it.", "states: A cat is"),
        (
            "Is there a motorcycle?",
            "no, there is none. it shows a parked motor",
            "states: it shows",
        ),
        ("Is it red?", "No, it is red.", "states: it is red."),
        (
            'Is the word "beaver tails"?',
            'Yes, the word is "beaver tales".',
            "quotes 'beaver tales'",
        ),
        # The order of the words counts, and a later sentence may say what else the thing is.
        ("Is it left of the red car?", "No, it is red, left of the car.", None),
        ("Does it run from left to right?", "No, it runs from right to left.", None),
        ("Is this a photo of Adare Manor?", "No, it is not. Adare Manor is a house.", None),
        ("Is it directed by S. Lee?", "No, it is not directed by S. Lee.", None),
        ('Is the word "a b"?', 'Yes, the word is "A-b."', None),
    ],
)
def test_a_statement_against_the_answer(question: str, reply: str, why: str | None) -> None:
    answer = "No" if reply.lower().startswith("no") else "Yes"
    gold = "Yes" if answer == "No" else "No"
    asked_for = f"{question} Please answer yes or no."
    found = list(broken_reasoning([asked("a", reply, answer, gold, question=asked_for)]))
    assert [one.why.startswith(why) for one in found] == ([True] if why else [])


@pytest.mark.external_golden("mme_lavin")
def test_recorded_replies(golden: Callable[[str], Path]) -> None:
    found = problems(score("mme", golden("mme_lavin") / "predictions.csv").records)
    # The official script reads no yes or no in twelve replies.
    assert found.not_following == Proportion(12, 2374)
    assert (found.both_yes, found.both_no) == (319, 417)
    assert found.yes_bias == pytest.approx((1082 - 1182) / 2362)
    assert found.broken_reasoning == Proportion(3, 920)
