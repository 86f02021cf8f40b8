"""Rules that need no model, as tables."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen_curate.metadata.draw import place_options
from snellen_curate.questions.question_items import Candidate, answer_positions, balance
from snellen_curate.questions.rules import (
    WrittenQuestion,
    check_description_mention,
    check_distractors,
    check_giveaway,
    check_parts,
    check_repetition,
)


def written(question: str, answer: str, *distractors: str) -> WrittenQuestion:
    return WrittenQuestion(question, answer, list(distractors))


@pytest.mark.parametrize(
    ("answer", "distractor", "is_close"),
    [
        ("a dog", "A dog.", True),
        ("dog", "the dogs", True),
        ("gray", "grey", True),
        ("two", "2", True),
        ("a brown dog", "a dog", True),
        ("The puppies", "a puppy", True),
        ("on the left side of the road", "on left side of the road", True),
        ("2", "3", False),
        ("12", "1", False),
        ("-5", "5", False),
        ("$3", "3", False),
        ("a cat", "a cat and a dog", False),
        ("open", "not open", False),
        ("a man riding a horse", "a man riding a house", False),
        ("left of the cup", "right of the cup", False),
        ("first the cup, then the pan", "first the pan, then the cup", False),
        ("red", "dark blue", False),
        ("EXIT 7", "EXIT 1", False),
        ("glass", "grass", False),
        ("bus", "bush", False),
    ],
)
def test_distractors_that_say_the_same(answer: str, distractor: str, is_close: bool) -> None:
    others = ("something else", "another thing")
    assert bool(check_distractors(written("Which?", answer, distractor, *others))) is is_close
    # Two distractors that say the same leave only three options.
    assert bool(check_distractors(written("Which?", "nothing here", answer, distractor, "xyz"))) is is_close


@pytest.mark.parametrize(
    ("question", "answer", "distractors", "gives_away"),
    [
        ("Which animal is left of the brown dog?", "the brown dog", ("a cat", "a fox"), True),
        ("Is the lamp red or blue?", "blue", ("red", "green"), False),
        ("What is it?", "a lamp", ("a bed", "a pot"), False),
        ("Are there 2 cups?", "2", ("3", "4"), False),
        ("What can be seen in the catalogue?", "cat", ("dog", "fox"), False),
    ],
)
def test_answers_in_their_question(question: str, answer: str, distractors: tuple[str, ...], gives_away: bool) -> None:
    assert bool(check_giveaway(written(question, answer, *distractors, "a tree"))) is gives_away


@pytest.mark.parametrize(
    ("question", "speaks"),
    [
        ("According to the caption, what is left?", True),
        ("What has the bounding box [1, 2, 3, 4]?", True),
        ("Which object is in the given description?", True),
        ("What is in the box on the table?", False),
        ("What is at the left of the picture?", False),
    ],
)
def test_flags_questions_that_mention_a_description(question: str, speaks: bool) -> None:
    assert bool(check_description_mention(written(question, "a"))) is speaks


def test_missing_parts_and_repeated_questions() -> None:
    assert check_parts(written("", "a", "b", "c", "d")) == "there is no question"
    assert check_parts(written("Q?", " ", "b", "c", "d")) == "there is no answer"
    assert check_parts(written("Q?", "a", "b", "c")) == "there are 2 distractors; expected 3"
    assert check_parts(written("Q?", "a", "b", "c", "")) == "there are 2 distractors; expected 3"
    assert check_parts(written("Q?", "a", "b", "c", "d")) == ""
    assert check_repetition(written("Where is it?", "a"), ["Is it where"])
    assert not check_repetition(written("Where is it?", "a"), ["Where is he?"])


def some_candidates() -> list[Candidate]:
    return [
        Candidate(f"{image}/{name}", name, str(image))
        for image in range(30)
        for name in ("counting", "scene", *(["text"] if image < 4 else []))
    ]


def test_balance_over_dimensions_and_images() -> None:
    everything = some_candidates()
    choice = balance(everything, per_dimension=10, per_picture=1, seed=3)
    kept = [one for one in everything if one.id in choice.kept]
    counts = Counter(one.dimension for one in kept)
    assert (counts["counting"], counts["scene"]) == (10, 10)
    assert counts["text"] >= 1
    assert max(Counter(one.image for one in kept).values()) == 1
    assert choice.kept.isdisjoint(choice.left_out)
    assert len(choice.kept) + len(choice.left_out) == len(everything)
    # The same whatever the order, another with another seed, and more with a larger limit.
    assert balance(everything[::-1], per_dimension=10, per_picture=1, seed=3).kept == choice.kept
    assert balance(everything, per_dimension=10, per_picture=1, seed=4).kept != choice.kept
    small = balance(everything, per_dimension=5, seed=3).kept
    assert small < balance(everything, per_dimension=6, seed=3).kept
    assert len(balance(everything).kept) == len(everything)


def test_answer_positions_are_balanced() -> None:
    ids = [f"q{number}" for number in range(4001)]
    places = answer_positions(ids, 1)
    assert sorted(Counter(places.values()).values()) == [1000, 1000, 1000, 1001]
    assert answer_positions(ids[::-1], 1) == places
    assert answer_positions(ids, 2) != places
    options = place_options("x", ["a", "b", "c"], 2, "q1")
    assert list(options) == ["A", "B", "C", "D"]
    assert options["C"] == "x"
    assert sorted(options.values()) == ["a", "b", "c", "x"]
