"""How many questions a simple classifier answers from their texts alone, cross-validated.

A conditional logit (D. McFadden, "Conditional logit analysis of qualitative choice behavior", 1974)
chooses among the options of a question by their places, their lengths, what the shortcut rules
pick, and how often their words were right in other questions. It has never seen a question that it
is tested on, nor one about the same image: what it answers beyond chance, it answers from patterns
that the data set repeats. Without a language model it knows nothing of the world, so that this is a
floor; `snellen run --control blind` asks a model.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy import bool_, float64, int64
from numpy.typing import NDArray

from snellen.stats.exact_counts import EventGroup, count_tails
from snellen.stats.intervals import share_interval
from snellen.stats.resampling import seeded_generator
from snellen_curate.statistics.item_columns import SampledQuestion
from snellen_curate.statistics.results import ProbeScore, TextProbe
from snellen_curate.statistics.shortcut_rules import SHORTCUT_RULES, choice_texts, long_terms, pick_options
from snellen_curate.statistics.words import split_all_terms

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
_WORD_COLUMNS = [[name for part in FEATURES.values() for name in part].index(name) for name in _WORDS]
_MAX_QUESTION_TERMS = 12
_MAX_OPTION_TERMS = 8
"""Longer options are hardly ever repeated with a question's words."""
_PRIOR = 2.0
"""Right and expected answers that every word is given beforehand, so that rare ones say little."""
_RIDGE = 1.0
_MAX_STEPS = 30
_TOLERANCE = 1e-8


class OptionRows(NamedTuple):
    """Questions whose options are rows, one after the other."""

    starts: NDArray[int64]
    """First row of each question; shape (questions,)."""
    sizes: NDArray[int64]
    """Options of each question."""
    right: NDArray[int64]
    """Row of each question's right option."""
    question: NDArray[int64]
    """The question of each row."""

    @classmethod
    def of(cls, sizes: NDArray[int64], places: NDArray[int64]) -> OptionRows:
        """Of questions with these numbers of options, the right one at these places."""
        starts = np.cumsum(sizes) - sizes
        return cls(starts, sizes, starts + places, np.repeat(np.arange(len(sizes)), sizes))

    def take(self, which: NDArray[bool_]) -> OptionRows:
        return OptionRows.of(self.sizes[which], (self.right - self.starts)[which])


class OptionTerms(NamedTuple):
    """Terms of the rows as numbers: `term[i]` belongs to `row[i]`."""

    row: NDArray[int64]
    term: NDArray[int64]
    distinct: int
    """Number of different terms."""


def probe_texts(
    questions: Sequence[SampledQuestion], of: int | None = None, parts: Sequence[str] = (ALL, *FEATURES)
) -> TextProbe:
    """Train and test the classifier, and these parts of it, on these questions, a sample `of` so
    many.

    Raises ValueError for fewer than `MIN_PROBED` questions or a single cluster.
    """
    if len(questions) < MIN_PROBED:
        raise ValueError(f"expected at least {MIN_PROBED} questions, got {len(questions)}")
    folds, clusters = _fold_of_question([question.cluster for question in questions])
    features = _CrossFittedFeatures(questions, folds)
    names = [name for part in FEATURES.values() for name in part]
    columns = {ALL: names, **FEATURES}
    scores = []
    for part in parts:
        right, _ = _cross_validated(features, folds, [names.index(name) for name in columns[part]])
        scores.append(_score(part, features.choices.sizes, right, clusters))
    return TextProbe(folds=FOLDS, items=len(questions), of=len(questions) if of is None else of, scores=scores)


def right_option_chances(questions: Sequence[SampledQuestion]) -> NDArray[float64]:
    """The probability of each question's right option by classifiers that were trained on other
    questions; the questions are divided otherwise than by `probe_texts`."""
    folds, _ = _fold_of_question([question.cluster for question in questions], "other folds")
    every = list(range(sum(map(len, FEATURES.values()))))
    return _cross_validated(_CrossFittedFeatures(questions, folds), folds, every)[1]


def fit_choices(features: NDArray[float64], choices: OptionRows) -> NDArray[float64]:
    """Weights of a conditional logit with a ridge penalty, by Newton's method.

    `features` has shape (rows, features). The penalised likelihood is concave, so that the maximum
    is the only one; steps that overshoot are halved. (scikit-learn has no choice among options.)
    """

    def likelihood(weights: NDArray[float64]) -> float:
        chosen = _log_chances(features @ weights, choices)[choices.right]
        return float(chosen.sum() - _RIDGE / 2 * (weights**2).sum())

    weights = np.zeros(features.shape[1])
    value = likelihood(weights)
    for _ in range(_MAX_STEPS):
        chances = np.exp(_log_chances(features @ weights, choices))[:, None]
        means = np.add.reduceat(chances * features, choices.starts, axis=0)
        gradient = features[choices.right].sum(axis=0) - means.sum(axis=0) - _RIDGE * weights
        centred = features - means[choices.question]
        curvature = centred.T @ (chances * centred) + _RIDGE * np.eye(len(weights))
        step = np.linalg.solve(curvature, gradient)
        size = 1.0
        while (moved := likelihood(weights + size * step)) < value and size > 1e-4:
            size /= 2
        if moved < value:
            break
        gained, weights, value = moved - value, weights + size * step, moved
        if gained < _TOLERANCE:
            break
    return weights


def _fit_weights(features: NDArray[float64], choices: OptionRows, words: NDArray[bool_]) -> NDArray[float64]:
    """Weights of which those of `words` are not negative: an option does not become likelier by
    having been wrong elsewhere. Where keys are balanced by value it does, by the keys alone: the
    one that was right least often in the other questions is right in this one."""
    used = np.ones(len(words), dtype=np.bool_)
    while used.any():
        weights = np.zeros(len(words))
        weights[used] = fit_choices(features[:, used], choices)
        negative = words & (weights < 0)
        if not negative.any():
            return weights
        used &= ~negative
    return np.zeros(len(words))


def _log_chances(utilities: NDArray[float64], choices: OptionRows) -> NDArray[float64]:
    """Logarithm of the probability of each option; those of a question sum to 1."""
    lowered = utilities - np.maximum.reduceat(utilities, choices.starts)[choices.question]
    sums = np.add.reduceat(np.exp(lowered), choices.starts)
    chances: NDArray[float64] = lowered - np.log(sums)[choices.question]
    return chances


def _cross_validated(
    features: _CrossFittedFeatures, folds: NDArray[int64], columns: list[int]
) -> tuple[NDArray[bool_], NDArray[float64]]:
    """Whether each question is answered right by a classifier trained on the other folds, and how
    likely it holds the right option."""
    choices = features.choices
    words = np.isin(columns, _WORD_COLUMNS)
    chances = 1 / choices.sizes
    right = np.zeros(len(choices.starts), dtype=np.bool_)
    # Options that the classifier cannot tell apart are drawn from.
    ties = seeded_generator("text probe").random(len(choices.question)) * 1e-9
    for fold in range(FOLDS):
        tested = folds == fold
        if not tested.any() or tested.all():
            continue
        values, trained = features.without(fold)[:, columns], ~tested[choices.question]
        values = _standardise(values, values[trained])
        weights = _fit_weights(values[trained], choices.take(~tested), words)
        utilities = values @ weights + ties
        best = np.maximum.reduceat(utilities, choices.starts)
        right[tested] = (utilities[choices.right] == best)[tested]
        chances[tested] = np.exp(_log_chances(utilities, choices)[choices.right])[tested]
    return right, chances


def _standardise(values: NDArray[float64], training: NDArray[float64]) -> NDArray[float64]:
    """Divided by the standard deviation of the training rows; features that do not vary are 0."""
    deviation = training.std(axis=0)
    scaled: NDArray[float64] = np.where(deviation > 1e-12, values / np.maximum(deviation, 1e-12), 0.0)
    return scaled


def _score(features: str, sizes: NDArray[int64], right: NDArray[bool_], clusters: NDArray[int64]) -> ProbeScore:
    counts, events = np.unique(sizes, return_counts=True)
    groups = [EventGroup(1 / count, n) for count, n in zip(counts.tolist(), events.tolist(), strict=True)]
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

    def __init__(self, questions: Sequence[SampledQuestion], folds: NDArray[int64]) -> None:
        self.choices = choices = OptionRows.of(
            np.array([len(question.options) for question in questions]),
            np.array([question.right for question in questions]),
        )
        self._fixed, self._terms = _option_features(questions)
        self._row_folds = folds[choices.question]
        is_right = np.zeros(len(choices.question))
        is_right[choices.right] = 1.0
        expected = 1 / choices.sizes[choices.question]
        self._counts = [
            tuple(self._by_fold(terms, weights) for weights in (is_right, expected)) for terms in self._terms
        ]

    def _by_fold(self, terms: OptionTerms, weights: NDArray[float64]) -> NDArray[float64]:
        """Weights of the rows that have each term, by fold: shape (folds, terms)."""
        cells = self._row_folds[terms.row] * terms.distinct + terms.term
        sums: NDArray[float64] = np.bincount(
            cells, weights=weights[terms.row], minlength=FOLDS * terms.distinct
        ).astype(np.float64)
        return sums.reshape(FOLDS, terms.distinct)

    def without(self, left_out: int) -> NDArray[float64]:
        """All features, the words counted neither in this fold nor in the row's own."""
        columns, n = [self._fixed], len(self._fixed)
        for terms, (right, expected) in zip(self._terms, self._counts, strict=True):
            values = np.zeros(n)
            sizes = np.maximum(1, np.bincount(terms.row, minlength=n))
            for fold in range(FOLDS):
                others = [each for each in range(FOLDS) if each not in (fold, left_out)]
                ratio = (right[others].sum(axis=0) + _PRIOR) / (expected[others].sum(axis=0) + _PRIOR)
                own = self._row_folds[terms.row] == fold
                values += np.bincount(terms.row[own], weights=np.log(ratio)[terms.term[own]], minlength=n)
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


def _option_features(questions: Sequence[SampledQuestion]) -> tuple[NDArray[float64], list[OptionTerms]]:
    """Features that need no other question (places, lengths, rules), shape (rows, features), and
    for each feature of words what is looked up in the other questions."""
    fixed: list[list[float]] = []
    vocabularies: list[dict[object, int]] = [{} for _ in _WORDS]
    cells: list[list[tuple[int, int]]] = [[] for _ in _WORDS]
    texts = choice_texts([question.question for question in questions], [question.options for question in questions])
    picks = pick_options(texts, (*_LENGTHS[2:], *_RULES))
    counts = np.repeat(picks.counts, texts.sizes, axis=1)
    shares = (picks.options / np.maximum(counts, 1)).T.tolist()
    columns = iter(zip(texts.lengths.tolist(), shares, strict=True))
    for question, question_terms in zip(questions, texts.question_terms, strict=True):
        for values, found in _features_of_options(question, question_terms, columns):
            for vocabulary, own_cells, own_terms in zip(vocabularies, cells, found, strict=True):
                for term in own_terms:
                    number = vocabulary.setdefault(term, len(vocabulary))
                    own_cells.append((len(fixed), number))
            fixed.append(values)
    terms = []
    for own_cells, vocabulary in zip(cells, vocabularies, strict=True):
        row, term = np.array(own_cells, dtype=np.int64).reshape(-1, 2).T
        terms.append(OptionTerms(row, term, len(vocabulary)))
    return np.array(fixed), terms


_OptionFeatures = tuple[list[float], tuple[Sequence[object], ...]]


def _features_of_options(
    question: SampledQuestion, question_terms: Sequence[str], columns: Iterator[tuple[int, list[float]]]
) -> list[_OptionFeatures]:
    """For each option its fixed features, and the terms of each feature of words. `columns`: for each option its
    characters, and for each rule that picks it, 1 divided by the number that the rule picks."""
    count = len(question.options)
    yes_no = list(question.options) == ["Yes", "No"]
    words = list(dict.fromkeys(long_terms(question_terms)))[:_MAX_QUESTION_TERMS]
    features: list[_OptionFeatures] = []
    for place, option_terms in enumerate(split_all_terms(question.options)):
        characters, shares = next(columns)
        places = [0.0] * len(_PLACES)
        if yes_no:
            places[-1] = float(place == 0)
        else:
            places[min(place, 3)] = float(place < 4)
            places[4] = float(place == count - 1)
        length = [math.log1p(characters), math.log1p(len(option_terms))]
        picked = [0.0] * len(shares) if yes_no else shares
        text = " ".join(option_terms)
        given: Sequence[object] = [(word, text) for word in words] if len(option_terms) <= _MAX_OPTION_TERMS else ()
        features.append(([*places, *length, *picked], (tuple(set(option_terms)), (text,), given)))
    return features
