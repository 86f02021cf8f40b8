"""What boards show of hidden scores, and what an attacker learns from it."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator
from numpy.typing import NDArray

from snellen.leaderboard_hub.ladder import EarlierScore, ladder_score

Answers = NDArray[np.int64]
QUESTIONS, OPTIONS = 1_000, 4
ALLOWED = 150
"""Submissions of one account: 5 a day for a month."""


def test_a_first_score_is_rounded_to_its_standard_error() -> None:
    samples = [1.0] * 700 + [0.0] * 300
    displayed = ladder_score(samples, [], 0)
    assert displayed.same_as is None
    assert abs(displayed.value - 0.7) <= 0.0145 / 2


def test_a_better_and_a_worse_model_have_scores_of_their_own() -> None:
    first = [1.0] * 600 + [0.0] * 400
    earlier = [EarlierScore(first, ladder_score(first, [], 0).value)]
    better, worse = [1.0] * 700 + [0.0] * 300, [1.0] * 450 + [0.0] * 550
    assert ladder_score(better, earlier, 1).same_as is None
    assert ladder_score(worse, earlier, 1).same_as is None


def test_a_few_changed_answers_change_nothing() -> None:
    first = [1.0] * 600 + [0.0] * 400
    earlier = [EarlierScore(first, ladder_score(first, [], 0).value)]
    for changed in range(1, 6):
        again = [1.0] * (600 + changed) + [0.0] * (400 - changed)
        assert ladder_score(again, earlier, 1) == (earlier[0].displayed, 0)


def test_bad_input_is_refused() -> None:
    with pytest.raises(ValueError, match="no sample scores"):
        ladder_score([], [], 0)
    with pytest.raises(ValueError, match="3 sample scores are compared with 2"):
        ladder_score([1, 0, 1], [EarlierScore([1, 0], 0.5)], 1)


class Board:
    """A hidden split as one account sees it."""

    def __init__(self, draws: Generator) -> None:
        # The most frequent answer is right for 28 %.
        self.gold: Answers = draws.choice(OPTIONS, QUESTIONS, p=[0.28, 0.26, 0.24, 0.22])
        self.earlier: list[EarlierScore] = []
        self.left = ALLOWED

    def submit(self, answers: Answers) -> float:
        assert self.left
        self.left -= 1
        samples = (answers == self.gold).astype(float).tolist()
        displayed = ladder_score(samples, self.earlier, ALLOWED - self.left - 1)
        if displayed.same_as is None:
            self.earlier.append(EarlierScore(samples, displayed.value))
        return displayed.value


def vote_of_random_submissions(board: Board, draws: Generator) -> Answers:
    """Blum and Hardt, section 4: random submissions vote, with their sign by what was displayed."""
    asked = draws.integers(0, OPTIONS, (board.left, QUESTIONS))
    displayed = np.array([board.submit(answers) for answers in asked])
    votes = np.zeros((QUESTIONS, OPTIONS))
    votes[:, 0] = 1e-6
    for answers, value in zip(asked, displayed - displayed.mean(), strict=True):
        votes[np.arange(QUESTIONS), answers] += value
    return votes.argmax(axis=1)


def flip_blocks(board: Board, draws: Generator) -> Answers:
    """Change a block of answers at a time, and keep what was displayed to be better."""
    answers = np.zeros(QUESTIONS, dtype=int)
    best = board.submit(answers)
    while board.left:
        changed = answers.copy()
        block = draws.choice(QUESTIONS, int(draws.choice([1, 5, 20, 100, 300])), replace=False)
        changed[block] = draws.integers(0, OPTIONS)
        displayed = board.submit(changed)
        if displayed > best:
            answers, best = changed, displayed
    return answers


def flip_around_a_low_score(board: Board, draws: Generator) -> Answers:
    """Leave most answers empty, and look for a change in the rest, where scores are coarse."""
    votes = np.zeros((QUESTIONS, OPTIONS))
    votes[:, 0] = 1e-6
    empty = np.full(QUESTIONS, -1)
    level = board.submit(empty)
    while board.left:
        asked = draws.choice(QUESTIONS, 250, replace=False)
        answers = empty.copy()
        answers[asked] = draws.integers(0, OPTIONS, 250)
        displayed = board.submit(answers)
        votes[asked, answers[asked]] += displayed - level - 62.5 / QUESTIONS * (displayed != level)
    return votes.argmax(axis=1)


@pytest.mark.parametrize(
    "attack", [vote_of_random_submissions, flip_blocks, flip_around_a_low_score]
)
def test_an_attack_learns_no_more_than_the_most_frequent_answer(
    attack: Callable[[Board, Generator], Answers],
) -> None:
    """With all the submissions that are allowed, on 40 drawn boards: the mean of the answers
    recovered is within the interval of what the most frequent answer gives."""
    gains = []
    for seed in range(40):
        draws = np.random.default_rng(seed)
        board = Board(draws)
        recovered = float((attack(board, draws) == board.gold).mean())
        gains.append(recovered - float((board.gold == 0).mean()))
    interval = 1.96 * np.sqrt(0.28 * 0.72 / QUESTIONS)
    assert np.mean(gains) <= interval / 2
    assert np.mean(np.array(gains) <= interval) >= 0.9


def test_without_the_ladder_the_same_attack_succeeds() -> None:
    """The attack is a real one: where exact scores are displayed it recovers far more."""

    class OpenBoard(Board):
        def submit(self, answers: Answers) -> float:
            self.left -= 1
            return float((answers == self.gold).mean())

    draws = np.random.default_rng(1)
    board = OpenBoard(draws)
    recovered = float((vote_of_random_submissions(board, draws) == board.gold).mean())
    assert recovered > 0.35
