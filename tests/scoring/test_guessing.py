"""What guessing scores, against simulated guesses."""

from __future__ import annotations

import random
from itertools import cycle

import numpy as np
import pytest

from snellen.core.record import Record
from snellen.core.sample import Kind
from snellen.scoring.accuracy import accepted_fraction, chance_of, guess_metrics

FOUR = dict.fromkeys("ABCD", "")


def question(at: int, gold: str, kind: Kind = "choice", options: str = "ABCD", **more: object) -> Record:
    shown = dict.fromkeys(options if kind == "choice" else "", "")
    golds = (gold,) if kind == "yes_no" else tuple(gold)
    return Record(str(at), kind, "q", "answered", 0.0, gold=golds, options=shown, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize("golds", [("A", "B"), ("AC", "AD", "A"), ("AB", "BC"), ("ABCD", "B")])
def test_chance_is_what_uniform_guesses_score(golds: tuple[str, ...]) -> None:
    rng = np.random.default_rng(1)
    drawn = rng.choice(list("ABCD"), (100_000, len(golds)))
    right = [np.isin(drawn[:, at], list(gold)).mean() for at, gold in enumerate(golds)]
    found = guess_metrics([question(at, gold) for at, gold in enumerate(golds)])
    assert found["chance"].value == pytest.approx(100 * np.mean(right), abs=0.5)


@pytest.mark.parametrize("gold", ["A", "AC"])
def test_three_ways_to_guess_through_rotations(gold: str) -> None:
    """Guess anew in each pass, keep one text, keep one letter: texts turn round under letters."""
    rng = np.random.default_rng(2)
    repeats, turns = 100_000, np.arange(4)
    accepted = np.isin(np.arange(4), ["ABCD".index(label) for label in gold])
    anew = accepted[(rng.integers(0, 4, (repeats, 4)) + turns) % 4].all(axis=1)
    text = accepted[rng.integers(0, 4, repeats)]
    letter = accepted[(rng.integers(0, 4, (repeats, 1)) + turns) % 4].all(axis=1)
    found = guess_metrics([question(1, gold, values={"vanilla": 0.0})])
    shares = {"chance": anew, "chance_same_text": text, "chance_same_letter": letter}
    assert set(found) == set(shares)
    for name, share in shares.items():
        assert found[name].value == pytest.approx(100 * share.mean(), abs=0.5)


def test_chance_of_one_pass_without_rotations() -> None:
    once = question(1, "A", values={"vanilla": 0.0}, asked_once=True)
    assert guess_metrics([once])["chance_same_letter"].value == 25.0
    short = question(1, "A", values={"vanilla": 0.0}, lacking=2)
    assert (chance_of(short), accepted_fraction(short)) == (1 / 16, 1 / 4)
    yes = question(1, "Yes", kind="yes_no", values={"vanilla": 0.0})
    assert chance_of(yes) == 0.5
    every = question(1, "ABCD", values={"vanilla": 0.0})
    assert guess_metrics([every])["chance_same_letter"].value == 100.0


@pytest.mark.parametrize("n", [10, 50, 200])
def test_the_most_frequent_of_random_labels_scores_chance(n: int) -> None:
    """Chosen and scored on the same ten questions it would be 42."""
    draw = random.Random(n)
    found = [
        guess_metrics([question(at, draw.choice("ABCD")) for at in range(n)])["frequent"].value for _ in range(300)
    ]
    assert np.mean([value for value in found if value is not None]) == pytest.approx(25, abs=1)


def test_the_most_frequent_label_counts_all_that_are_accepted() -> None:
    records = [question(at, gold) for at, gold in zip(range(100), cycle(["AB", "BC"]))]
    assert guess_metrics(records)["frequent"].value == 100.0


def test_as_many_yes_as_no_about_each_picture_is_half() -> None:
    """Halves of questions would have more of the one where the other has less: 30 %."""
    records = [question(at, "Yes" if at % 2 else "No", kind="yes_no", unit=f"picture {at // 2}") for at in range(6)]
    assert guess_metrics(records)["frequent"].value == 50.0
    assert guess_metrics(records[::-1]) == guess_metrics(records)


def test_each_kind_of_question_has_its_own_most_frequent_label() -> None:
    mixed = [question(at, "B") for at in range(30)]
    mixed += [question(at, "No", kind="yes_no") for at in range(30, 60)]
    mixed += [question(at, "x", kind="open") for at in range(60, 80)]
    found = guess_metrics(mixed)
    assert (found["frequent"].value, found["frequent"].n) == (75.0, 80)
    assert found["chance"].value == pytest.approx(100 * (30 / 4 + 30 / 2) / 80)
    assert guess_metrics(mixed[::-1]) == found
    assert guess_metrics([]) == {}
    assert set(guess_metrics([question(1, "A", options="")])) == {"frequent"}
