"""How many questions a simple classifier answers from their texts alone, cross-validated.

A conditional logit (D. McFadden, "Conditional logit analysis of qualitative choice behavior", 1974)
chooses among the options of a question by their places, their lengths, what the shortcut rules
pick, and how often their words were right in other questions. It has never seen a question that it
is tested on, nor one about the same image: what it answers beyond chance, it answers from patterns
that the data set repeats. Without a language model it knows nothing of the world, so that this is a
floor; `--blind MODEL` asks a model.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy import bool_, float64, int64
from numpy.typing import NDArray

from snellen.curate.statistics.item_columns import SampledQuestion
from snellen.curate.statistics.results import ProbeScore, TextProbe
from snellen.curate.statistics.shortcut_rules import SHORTCUT_RULES, choice_texts, long_terms
from snellen.stats.array_intervals import share_interval
from snellen.stats.exact_counts import EventGroup, count_tails
from snellen.stats.resampling import seeded_generator

FOLDS = 5
MIN_PROBED = 50
"""Questions below which nothing is learnt that could be tested."""
ALL = "all"
_PLACES = ("first place", "second place", "third place", "fourth place", "last place", "yes")
_LENGTHS = ("characters", "words", "longest", "shortest")
_RULES = tuple(rule for rule in SHORTCUT_RULES if rule not in _LENGTHS)
_WORDS = ("words of the option", "text of the option", "option given the question")
FEATURES: Mapping[str, Sequence[str]] = {
    "places": _PLACES,
    "lengths": _LENGTHS,
    "other shortcuts": _RULES,
    "words": _WORDS,
}
"""The parts of the classifier and their features."""
_MAX_QUESTION_TERMS = 12
_MAX_OPTION_TERMS = 8
"""Longer options are hardly ever repeated with a question's words."""
_PRIOR = 2.0
"""Right and expected answers that every word is given beforehand, so that rare ones say little."""
_RIDGE = 1.0
_MAX_STEPS = 30
_TOLERANCE = 1e-8


class OptionRows(NamedTuple):
    """The options of all questions, one row each, question by question."""

    starts: NDArray[int64]
    """First row of each question; shape (questions,)."""
    sizes: NDArray[int64]
    """Options of each question."""
    right: NDArray[int64]
    """Row of each question's right option."""
    question: NDArray[int64]
    """The question of each row."""
    fixed: NDArray[float64]
    """Features that need no other question: places, lengths, rules. Shape (rows, features)."""
    terms: Sequence[OptionTerms]
    """For each feature of words, what is looked up in the other questions."""


class OptionTerms(NamedTuple):
    """Terms of the rows as numbers: `term[i]` belongs to `row[i]`."""

    row: NDArray[int64]
    term: NDArray[int64]
    distinct: int
    """Number of different terms."""


def probe_texts(
    questions: Sequence[SampledQuestion],
    of: int | None = None,
    parts: Sequence[str] = (ALL, *FEATURES),
) -> TextProbe:
    """Train and test the classifier, and these parts of it, on these questions, a sample `of` so
    many.

    Raises ValueError for fewer than `MIN_PROBED` questions or a single cluster.
    """
    if len(questions) < MIN_PROBED:
        raise ValueError(f"expected at least {MIN_PROBED} questions, got {len(questions)}")
    folds, clusters = _fold_of_question([question.cluster for question in questions])
    rows = _option_rows(questions)
    features = _CrossFittedFeatures(rows, folds)
    names = [name for part in FEATURES.values() for name in part]
    columns = {ALL: range(len(names))} | {
        part: range(names.index(own[0]), names.index(own[0]) + len(own))
        for part, own in FEATURES.items()
    }
    scores = []
    for part in parts:
        right, _ = _cross_validated(rows, folds, features, list(columns[part]))
        scores.append(_score(part, rows.sizes, right, clusters))
    return TextProbe(
        folds=FOLDS,
        items=len(questions),
        of=len(questions) if of is None else of,
        scores=scores,
    )


def right_option_chances(questions: Sequence[SampledQuestion]) -> NDArray[float64]:
    """The probability of each question's right option by classifiers that were trained on other
    questions; the questions are divided otherwise than by `probe_texts`."""
    folds, _ = _fold_of_question([question.cluster for question in questions], "other folds")
    rows = _option_rows(questions)
    features = _CrossFittedFeatures(rows, folds)
    columns = list(range(sum(map(len, FEATURES.values()))))
    return _cross_validated(rows, folds, features, columns)[1]


def fit_choices(features: NDArray[float64], rows: OptionRows) -> NDArray[float64]:
    """Weights of a conditional logit with a ridge penalty, by Newton's method.

    `features` has shape (rows, features). The penalised likelihood is concave, so that the maximum
    is the only one; steps that overshoot are halved.
    """
    weights = np.zeros(features.shape[1])
    value = _likelihood(weights, features, rows)
    for _ in range(_MAX_STEPS):
        chances = _chances(features @ weights, rows)
        means = np.add.reduceat(chances[:, None] * features, rows.starts, axis=0)
        gradient = features[rows.right].sum(axis=0) - means.sum(axis=0) - _RIDGE * weights
        centred = features - means[rows.question]
        curvature = centred.T @ (chances[:, None] * centred) + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while size > 1e-4:
            moved = _likelihood(weights + size * step, features, rows)
            if moved >= value:
                break
            size /= 2
        else:
            break
        gained, weights, value = moved - value, weights + size * step, moved
        if gained < _TOLERANCE:
            break
    return weights


def _likelihood(weights: NDArray[float64], features: NDArray[float64], rows: OptionRows) -> float:
    utilities = features @ weights
    top = np.maximum.reduceat(utilities, rows.starts)
    sums = np.add.reduceat(np.exp(utilities - top[rows.question]), rows.starts)
    chosen = utilities[rows.right] - top - np.log(sums)
    return float(chosen.sum() - _RIDGE / 2 * (weights**2).sum())


def _chances(utilities: NDArray[float64], rows: OptionRows) -> NDArray[float64]:
    """The probability of each option; those of a question sum to 1."""
    top = np.maximum.reduceat(utilities, rows.starts)
    powers = np.exp(utilities - top[rows.question])
    sums = np.add.reduceat(powers, rows.starts)
    chances: NDArray[float64] = powers / sums[rows.question]
    return chances


def _cross_validated(
    rows: OptionRows, folds: NDArray[int64], features: _CrossFittedFeatures, columns: list[int]
) -> tuple[NDArray[bool_], NDArray[float64]]:
    """Whether each question is answered right by a classifier trained on the other folds, and how
    likely it holds the right option."""
    chances = 1 / rows.sizes
    right = np.zeros(len(rows.starts), dtype=np.bool_)
    # Options that the classifier cannot tell apart are drawn from.
    ties = seeded_generator("text probe").random(len(rows.question)) * 1e-9
    for fold in range(FOLDS):
        tested = folds == fold
        if not tested.any() or tested.all():
            continue
        values = features.without((fold,))[:, columns]
        trained = _part(rows, ~tested)
        values = _standardise(values, values[~tested[rows.question]])
        weights = fit_choices(values[~tested[rows.question]], trained)
        utilities = values @ weights + ties
        best = np.maximum.reduceat(utilities, rows.starts)
        right[tested] = (utilities[rows.right] == best)[tested]
        chances[tested] = _chances(utilities, rows)[rows.right][tested]
    return right, chances


def _part(rows: OptionRows, which: NDArray[bool_]) -> OptionRows:
    """The rows of some questions; without their features."""
    sizes = rows.sizes[which]
    starts = np.cumsum(sizes) - sizes
    return OptionRows(
        starts,
        sizes,
        starts + (rows.right - rows.starts)[which],
        np.repeat(np.arange(len(sizes)), sizes),
        rows.fixed[:0],
        (),
    )


def _standardise(values: NDArray[float64], training: NDArray[float64]) -> NDArray[float64]:
    """Divided by the standard deviation of the training rows; features that do not vary are 0."""
    deviation = training.std(axis=0)
    scaled: NDArray[float64] = np.where(
        deviation > 1e-12, values / np.maximum(deviation, 1e-12), 0.0
    )
    return scaled


def _score(
    features: str, sizes: NDArray[int64], right: NDArray[bool_], clusters: NDArray[int64]
) -> ProbeScore:
    counts, events = np.unique(sizes, return_counts=True)
    groups = [
        EventGroup(1 / count, n) for count, n in zip(counts.tolist(), events.tolist(), strict=True)
    ]
    hits = int(right.sum())
    return ProbeScore(
        features=features,
        n=len(sizes),
        right=hits,
        chance=float((1 / sizes).mean()),
        interval=share_interval(right, clusters.astype(np.uint64)),
        p=count_tails(groups, hits).upper,
    )


class _CrossFittedFeatures:
    """Features of all rows. Those of words are counted in other folds than the row's own, so that
    no row has seen its own answer."""

    def __init__(self, rows: OptionRows, folds: NDArray[int64]) -> None:
        self._rows = rows
        self._row_folds = folds[rows.question]
        is_right = np.zeros(len(rows.question))
        is_right[rows.right] = 1.0
        expected = 1 / rows.sizes[rows.question]
        self._counts = [
            tuple(self._by_fold(terms, weights) for weights in (is_right, expected))
            for terms in rows.terms
        ]

    def _by_fold(self, terms: OptionTerms, weights: NDArray[float64]) -> NDArray[float64]:
        """Weights of the rows that have each term, by fold: shape (folds, terms)."""
        cells = self._row_folds[terms.row] * terms.distinct + terms.term
        sums: NDArray[float64] = np.bincount(
            cells, weights=weights[terms.row], minlength=FOLDS * terms.distinct
        ).astype(np.float64)
        return sums.reshape(FOLDS, terms.distinct)

    def without(self, left_out: Sequence[int]) -> NDArray[float64]:
        """All features, the words counted neither in these folds nor in the row's own."""
        columns = [self._rows.fixed]
        n = len(self._rows.question)
        for terms, (right, expected) in zip(self._rows.terms, self._counts, strict=True):
            values = np.zeros(n)
            sizes = np.maximum(1, np.bincount(terms.row, minlength=n))
            for fold in range(FOLDS):
                others = [each for each in range(FOLDS) if each != fold and each not in left_out]
                ratio = (right[others].sum(axis=0) + _PRIOR) / (
                    expected[others].sum(axis=0) + _PRIOR
                )
                own = self._row_folds[terms.row] == fold
                values += np.bincount(
                    terms.row[own], weights=np.log(ratio)[terms.term[own]], minlength=n
                )
            columns.append((values / sizes)[:, None])
        return np.concatenate(columns, axis=1)


def _fold_of_question(
    cluster_of: Sequence[int], seed: str = "text probe folds"
) -> tuple[NDArray[int64], NDArray[int64]]:
    """The fold of each question and its cluster, both from 0. Questions of one cluster share a
    fold."""
    numbers: dict[int, int] = {}
    clusters = np.array([numbers.setdefault(name, len(numbers)) for name in cluster_of])
    if len(numbers) < 2:
        raise ValueError("expected questions of two clusters or more")
    order = seeded_generator(seed).permutation(len(numbers))
    return order[clusters] % FOLDS, clusters


def _option_rows(questions: Sequence[SampledQuestion]) -> OptionRows:
    """A row for each option of each question. Each feature of words numbers its own terms."""
    sizes = np.array([len(question.options) for question in questions])
    starts = np.cumsum(sizes) - sizes
    vocabularies: list[dict[object, int]] = [{} for _ in _WORDS]
    term_rows: list[list[int]] = [[] for _ in _WORDS]
    terms: list[list[int]] = [[] for _ in _WORDS]
    fixed = np.zeros((int(sizes.sum()), len(_PLACES) + len(_LENGTHS) + len(_RULES)))
    for question, start in zip(questions, starts.tolist(), strict=True):
        for place, (values, found) in enumerate(_features_of_options(question)):
            fixed[start + place] = values
            for feature, own_terms in enumerate(found):
                vocabulary = vocabularies[feature]
                for term in own_terms:
                    term_rows[feature].append(start + place)
                    terms[feature].append(vocabulary.setdefault(term, len(vocabulary)))
    return OptionRows(
        starts,
        sizes,
        starts + np.array([question.right for question in questions]),
        np.repeat(np.arange(len(questions)), sizes),
        fixed,
        [
            OptionTerms(np.array(row, dtype=np.int64), np.array(term, dtype=np.int64), len(known))
            for row, term, known in zip(term_rows, terms, vocabularies, strict=True)
        ],
    )


_OptionFeatures = tuple[list[float], tuple[Sequence[object], ...]]


def _features_of_options(question: SampledQuestion) -> list[_OptionFeatures]:
    """For each option its fixed features, and the terms of each feature of words."""
    texts = choice_texts(question.question, question.options)
    count = len(question.options)
    yes_no = list(question.options) == ["Yes", "No"]
    picks = {} if yes_no else {rule: function(texts) for rule, function in SHORTCUT_RULES.items()}
    words = list(dict.fromkeys(long_terms(texts)))[:_MAX_QUESTION_TERMS]
    features: list[_OptionFeatures] = []
    for place, option_terms in enumerate(texts.option_terms):
        places = [0.0] * len(_PLACES)
        if yes_no:
            places[-1] = float(place == 0)
        else:
            places[min(place, 3)] = float(place < 4)
            places[4] = float(place == count - 1)
        length = [math.log1p(texts.lengths[place]), math.log1p(len(option_terms))]
        picked = [
            1 / len(chosen) if place in chosen else 0.0
            for chosen in (picks.get(rule, ()) for rule in (*_LENGTHS[2:], *_RULES))
        ]
        text = " ".join(option_terms)
        given: Sequence[object] = (
            [(word, text) for word in words] if len(option_terms) <= _MAX_OPTION_TERMS else ()
        )
        features.append(([*places, *length, *picked], (tuple(set(option_terms)), (text,), given)))
    return features
