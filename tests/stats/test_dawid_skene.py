"""Dawid and Skene's posterior: against recorded results of crowd-kit 1.4.2 (`DawidSkene`, 3,000
steps, without tolerance), and against the truth of simulated annotators."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats import dawid_skene
from snellen.stats.dawid_skene import Votes, vote_posterior

SHARES = (0.95, 0.8, 0.6, 0.4)
"""How often each annotator votes for the truth; otherwise for any of three values."""


def drawn(seed: int, items: int = 60, shares=SHARES, values: int = 3):
    """The truth, and votes of which a quarter is missing."""
    chance = np.random.default_rng(seed)
    truth = chance.integers(0, values, items)
    rows = [
        (item, at, int(truth[item] if chance.random() < share else chance.integers(0, values)))
        for item in range(items)
        for at, share in enumerate(shares)
        if chance.random() < 0.75
    ]
    return truth, Votes(*np.array(rows).T)


@pytest.mark.parametrize(
    ("seed", "known", "expected", "squares"),
    [
        (
            2,
            0,
            [
                [0, 1, 0],
                [0.993813, 0.006187, 0],
                [1, 0, 0],
                [1, 0, 0],
                [0.02337, 0.97663, 0],
                [0.652193, 0.059223, 0.288584],
            ],
            54.491285,
        ),
        (
            2,
            20,
            [
                [1, 0, 0],
                [0.003673, 0.996327, 0],
                [1, 0, 0],
                [1, 0, 0],
                [0, 0.022435, 0.977565],
                [0.128598, 0.871402, 0],
            ],
            56.211423,
        ),
        (1, 20, [[0, 0, 1], [0, 0.093883, 0.906117], [0, 0, 1], [0, 1, 0], [0, 0, 1], [1, 0, 0]], 59.081192),
    ],
)
def test_posterior_agrees_with_crowd_kit(monkeypatch, seed, known, expected, squares):
    monkeypatch.setattr(dawid_skene, "_STEPS", 3000)
    monkeypatch.setattr(dawid_skene, "_TOLERANCE", 0.0)
    truth, votes = drawn(seed)
    given = {item: int(truth[item]) for item in range(known)}
    found = vote_posterior(votes, np.full(60, 3), given, prior_votes=0).items
    assert found[known : known + 6] == pytest.approx(np.array(expected), abs=2e-6)
    assert (found**2).sum() == pytest.approx(squares, abs=1e-5)


@pytest.mark.parametrize("one_coin", [False, True])
def test_a_good_annotator_counts_for_more_than_a_vote(one_coin):
    shares = (0.95, 0.95, 0.2, 0.2, 0.2)
    truth, votes = drawn(5, 400, shares)
    found = vote_posterior(votes, np.full(400, 3), one_coin=one_coin)
    by_vote = np.zeros((400, 3))
    np.add.at(by_vote, (votes.items, votes.values), 1)
    right, before = ((each.argmax(1) == truth).mean() for each in (found.items, by_vote))
    assert right > before + 0.05
    diagonal = found.confusion.trace(axis1=1, axis2=2) / 3
    assert min(diagonal[:2]) > 0.8 > 0.6 > max(diagonal[2:])


def test_votes_of_random_annotators_give_no_accuracy():
    """The control: votes without any truth in them are no better once they are weighed."""
    truth, votes = drawn(6, 400, (0.0,) * 5)
    found = vote_posterior(votes, np.full(400, 3))
    assert (found.items.argmax(1) == truth).mean() < 0.42


def test_an_item_has_its_own_number_of_values():
    votes = Votes(*np.array([(0, 0, 0), (0, 1, 1), (1, 0, 3), (1, 1, 3), (2, 0, 1)]).T)
    found = vote_posterior(votes, np.array([2, 4, 2, 3]), one_coin=True)
    assert found.items.sum(1) == pytest.approx(np.ones(4))
    assert found.items[0, 2:].tolist() == [0, 0]
    assert found.items[3].tolist() == pytest.approx([1 / 3, 1 / 3, 1 / 3, 0])
    # Of an item that nobody else judged, the votes of the others say nothing.
    assert found.without[4].tolist() == pytest.approx([0.5, 0.5, 0, 0])
