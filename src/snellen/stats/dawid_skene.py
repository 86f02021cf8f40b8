"""The probable value of each item from the votes of several annotators, and how each annotator
errs, by expectation maximisation (A. P. Dawid and A. M. Skene, Applied Statistics 28 (1979)).

An annotator has a table of confusion: the chance of each vote given the true value. Where values
mean another thing for every item, such as the options of a question, an annotator has one chance
of being right, and errs evenly among the others ("one coin").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from snellen.core.arrays import Floats, Ints, np

PRIOR_VOTES = 1.0
"""Votes of each annotator that are added, spread as all annotators together vote: of a few votes
alone nobody is taken for infallible."""
_FLOOR = 1e-10
_STEPS, _TOLERANCE = 200, 1e-5
"""Of EM, which ends once no probability moves by more."""


class Votes(NamedTuple):
    """Votes as three columns of the same length, (votes): who said what of which item."""

    items: Ints
    annotators: Ints
    values: Ints


class VotePosterior(NamedTuple):
    """What votes say of the items and of the annotators."""

    items: Floats
    """(items, values): the probability that a value is the item's; each row adds up to 1."""
    without: Floats
    """(votes, values): the same of the vote's item as the votes of the others alone have it."""
    confusion: Floats
    """(annotators, true values, votes): the chance of a vote given the true value."""


def vote_posterior(
    votes: Votes,
    sizes: Ints,
    known: Mapping[int, int] | None = None,
    *,
    one_coin: bool = False,
    prior_votes: float = PRIOR_VOTES,
) -> VotePosterior:
    """The most likely tables of confusion, and the probability of each value of each item.

    Args:
        votes: at least one; values are counted from 0.
        sizes: how many values each item has, at least 2: (items,).
        known: the true value of some items.
        one_coin: values mean another thing for every item, and all are as likely beforehand.
        prior_votes: see `PRIOR_VOTES`; 0 for maximum likelihood.
    """
    items, annotators, values = votes
    width, people = int(sizes.max()), int(annotators.max()) + 1
    allowed = np.arange(width) < sizes[:, None]
    fixed = np.array(list((known or {}).items()), dtype=int).reshape(-1, 2)
    chances = _sums(items, np.eye(width)[values], len(sizes))
    chances[chances.sum(1) == 0] = 1
    chances = _to_shares(chances * allowed)
    for _ in range(_STEPS):
        chances[fixed[:, 0]] = np.eye(width)[fixed[:, 1]]
        pairs = _sums(annotators * width + values, chances[items], people * width)
        counts = pairs.reshape(people, width, width).swapaxes(1, 2)
        confusion = (_one_coin if one_coin else _confusion)(counts, prior_votes)
        said = np.log(confusion[annotators, :, values])
        if one_coin:
            # An error falls on one of the item's other values.
            wrong = np.arange(width) != values[:, None]
            said -= wrong * np.log((sizes[items] - 1) / max(width - 1, 1))[:, None]
        prior = np.ones(width) if one_coin else chances.mean(0)
        logs = np.where(allowed, np.log(np.maximum(prior, _FLOOR)), -np.inf)
        logs += _sums(items, said, len(sizes))
        before, chances = chances, _from_logs(logs)
        chances[fixed[:, 0]] = np.eye(width)[fixed[:, 1]]
        if np.abs(chances - before).max() < _TOLERANCE:
            break
    is_known = np.isin(items, fixed[:, 0])[:, None]
    without = np.where(is_known, chances[items], _from_logs(logs[items] - said))
    return VotePosterior(chances, without, confusion)


def _confusion(counts: Floats, prior_votes: float) -> Floats:
    """The table of each annotator by the votes for each true value."""
    pooled = _to_shares(np.maximum(counts.sum(0), _FLOOR))
    return _to_shares(np.maximum(counts + prior_votes * pooled, _FLOOR))


def _one_coin(counts: Floats, prior_votes: float) -> Floats:
    """The same with one chance of being right."""
    width = counts.shape[1]
    right, total = np.trace(counts, axis1=1, axis2=2), counts.sum((1, 2))
    share = (right + prior_votes * right.sum() / total.sum()) / (total + prior_votes)
    share = np.clip(share, _FLOOR, 1 - _FLOOR)[:, None, None]
    table = np.where(np.eye(width, dtype=bool), share, (1 - share) / max(width - 1, 1))
    return np.asarray(table, dtype=float)


def _sums(groups: Ints, rows: Floats, size: int) -> Floats:
    """The sum of the rows of each group: (size, columns)."""
    return np.stack([np.bincount(groups, column, size) for column in rows.T], axis=1)


def _from_logs(logs: Floats) -> Floats:
    return _to_shares(np.exp(logs - logs.max(1, keepdims=True)))


def _to_shares(weights: Floats) -> Floats:
    """Weights of which each row adds up to 1."""
    return np.asarray(weights / weights.sum(-1, keepdims=True), dtype=float)
