"""What many accounts can recover of hidden answers, measured on a copy of a board.

The copy has the board's questions: their number, options, categories and parts. Its answers are
drawn at random, so that nothing of the real ones is used. The numbers that attackers see are those
that a hub shows (`packages/hub/tests/test_hub_attack.py` compares them with a hub).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from snellen.core.errors import UsageError
from snellen.core.sample import Sample
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.hosting import read_samples
from snellen_hub.question_parts import read_draw
from snellen_hub.storage import Storage
from snellen_hub.uploaded_replies import decode_questions

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Answers = NDArray[np.signedinteger[Any]]
    """Options by number, (submissions, questions) or (questions)."""
    Members = NDArray[np.int64]
    """Positions of questions."""

_RIGHT = 0.8
"""Accuracy of the model from which one attack starts."""
_CHANGED = 0.2
"""Share of its answers that each submission of that attack changes."""
_RIDGE = 0.1


class BoardCopy(NamedTuple):
    """The questions of a hidden board without their answers."""

    options: Answers
    """Number of options of each question."""
    is_public: NDArray[np.bool_]
    groups: Sequence[Members]
    """Questions of each group whose score is shown: of the column with the most groups."""
    categories: Sequence[Mapping[str, str]]


class Recovered(NamedTuple):
    """Shares of the answers that attacks get right."""

    public: Sequence[float]
    """By random answers, by one change at a time, from a model that is right in 80 %."""
    private: Sequence[float]
    """By the same, before a reveal."""
    finals: float
    """Of the private answers, from the final scores of all accounts and nothing else."""


def copy_board(storage: Storage, row: HostedBenchmark) -> BoardCopy:
    """The copy of a hidden board. Raises UsageError if it is none, or asks for no choices."""
    if not row.is_hidden:
        raise UsageError(f"the answers of {row.name} are not hidden: there is nothing to recover")
    read_draw(row)
    part_of = {each.name: each.part for each in decode_questions(storage.get(row.ids))}
    samples = [each for each in read_samples(storage, row) if 2 <= len(_labels(each)) <= 26]
    if not samples:
        raise UsageError(f"{row.name} has no question with options: a guess recovers nothing")
    is_public = np.array([part_of[each.id] <= row.revealed for each in samples])
    if is_public.all() or not is_public.any():
        part = "public by now" if is_public.all() else "private"
        raise UsageError(f"all questions with options of {row.name} are {part}: nothing to compare")
    return BoardCopy(
        np.array([len(_labels(each)) for each in samples]),
        is_public,
        _groups(samples),
        [dict(each.groups) for each in samples],
    )


def attack_board(board: BoardCopy, accounts: int, draws: np.random.Generator) -> Recovered:
    """Attack a board with new answers, with one submission of each account."""
    gold = draws.integers(0, board.options)
    asked = draws.integers(0, board.options, (accounts, len(gold)), dtype=np.int8)
    model = np.where(draws.random(len(gold)) < _RIGHT, gold, draws.integers(0, board.options))
    near = np.where(draws.random(asked.shape) < _CHANGED, asked, model)
    tried = (_fit(board, gold, asked, None), _change_one_by_one(board, gold, accounts), _fit(board, gold, near, model))
    public = [float((answers == gold)[board.is_public].mean()) for answers in tried]
    private = [float((answers == gold)[~board.is_public].mean()) for answers in tried]
    finals = board._replace(is_public=~board.is_public, groups=[np.arange(len(gold))])
    by_finals = _fit(finals, gold, asked, None)
    return Recovered(public, private, float((by_finals == gold)[finals.is_public].mean()))


def _fit(board: BoardCopy, gold: Answers, asked: Answers, model: Answers | None) -> Answers:
    """The likeliest answers, by ridge regression of the right answers of each group on the answers
    given, around a prior: the answers of a model, or none. `gold` only makes the numbers shown."""
    most = int(board.options.max())
    prior = np.repeat(1 / board.options[:, None], most, axis=1)
    if model is not None:
        prior[:] = (1 - _RIGHT) / (most - 1)
        prior[np.arange(len(model)), model] = _RIGHT
    weights = prior * board.is_public.mean()
    right = (asked == gold) & board.is_public
    for members in board.groups:
        given = asked[:, members]
        chosen = [(given == option).astype(float) for option in range(most)]
        kernel = sum(each @ each.T for each in chosen) + _RIDGE * np.eye(len(asked))
        expected = weights[members, given].sum(axis=1)
        surprise = np.linalg.solve(kernel, right[:, members].sum(axis=1) - expected)
        for option, each in enumerate(chosen):
            weights[members, option] += each.T @ surprise
    # A question that turns out not to count has no weights: its answer stays that of the prior.
    weights += prior / 2
    weights[np.arange(most) >= board.options[:, None]] = -np.inf
    answers: Answers = weights.argmax(axis=1)
    return answers


def _change_one_by_one(board: BoardCopy, gold: Answers, submissions: int) -> Answers:
    """One account after the other changes the answer to one question of each group, and keeps what
    makes the group's score rise; where it falls, the answer before was right."""
    answers = np.zeros_like(gold)
    for members in board.groups:
        left = submissions - 1
        for question in members:
            for option in range(1, int(board.options[question])):
                if left <= 0:
                    break
                left -= 1
                if board.is_public[question] and gold[question] in (0, option):
                    answers[question] = gold[question]
                    break
    return answers


def _labels(sample: Sample) -> Sequence[str]:
    return tuple(sample.options) or (("yes", "no") if sample.kind == "yes_no" else ())


def _groups(samples: Sequence[Sample]) -> Sequence[Members]:
    """The questions of each label of the column with the most labels; all as one without any."""
    columns = {column for each in samples for column in each.groups}
    labels = {name: [each.groups.get(name, "") for each in samples] for name in sorted(columns)}
    best = max(labels.values(), key=lambda own: len(set(own)), default=[""] * len(samples))
    return [np.flatnonzero(np.array(best) == label) for label in dict.fromkeys(best)]
