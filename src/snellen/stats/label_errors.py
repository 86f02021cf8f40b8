"""The probability that the label of a multiple choice sample is wrong, from the answers of systems.

If the label is right, systems err by ability and difficulty (the Rasch model, `rasch`), and wrong
options attract them unequally: for each sample their probabilities are drawn from a symmetric
Dirichlet distribution, so that counts of wrong answers follow Polya's distribution (F. Eggenberger
and G. Polya, 1923; J. Mosimann, Biometrika 49, 1962). If the label is wrong, one of the other
options is the right one, and they err in the same way around that. The share of wrong labels is
estimated from all samples (A. P. Dempster, N. M. Laird and D. B. Rubin, JRSS B 39, 1977), and the
probability of each sample follows by Bayes' rule, as in A. P. Dawid and A. M. Skene, Applied
Statistics 28 (1979). Given difficulty and attraction, systems err independently; systems that
learnt from each other share more errors than this.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Sequence
from typing import NamedTuple

from snellen.core.arrays import Bools, Floats, Indices, np
from snellen.stats.rasch import DifficultyGrid, abilities, right_chance, weighted_nodes

MIN_SYSTEMS = 5
"""With fewer systems an unusual label and a hard question look alike."""
_PRIOR_SAMPLES = 20.0
"""Samples with right labels that the estimated share of wrong ones starts from."""
_STEPS, _ROUNDS = 200, 4
"""Of EM, and of fitting difficulty and attraction without the samples whose label is wrong."""
_MIN_SAMPLES = 50
"""Samples with the same number of options that get their own distribution of difficulties."""
_ATTRACTIONS = np.logspace(-2, 2, 81)
"""Grid of the Dirichlet parameter: from one option that attracts all systems to equal options."""


class SystemAnswers(NamedTuple):
    """Answers of systems to multiple choice samples."""

    right: Floats
    """(samples, systems): 1 or 0."""
    wrong: Sequence[Sequence[Hashable | None]]
    """For each sample the systems' wrong answers; None for a right answer or none."""
    wrong_options: Floats
    """Number of wrong options of each sample, at least 1: (samples,)."""


class LabelChance(NamedTuple):
    """The probability that a label is wrong, and the answer that is then the likeliest; None if no
    system gave an option other than the label."""

    wrong: float
    answer: Hashable | None


def wrong_label_chances(answers: SystemAnswers) -> list[LabelChance]:
    """The probability that each label is wrong, (samples). Raises ValueError for fewer than
    `MIN_SYSTEMS` systems.
    """
    systems = answers.right.shape[1]
    if systems < MIN_SYSTEMS:
        raise ValueError(f"expected {MIN_SYSTEMS} or more systems, got {systems}")
    wrong = np.zeros(len(answers.wrong))
    best: list[Hashable | None] = []
    for _ in range(_ROUNDS):
        # Samples with a wrong label look harder, and their errors more alike, than they are.
        best, ratios = _label_ratios(answers, 1 - wrong)
        wrong = _posterior(ratios)
    return [LabelChance(*pair) for pair in zip(wrong.tolist(), best, strict=True)]


def _label_ratios(answers: SystemAnswers, weights: Floats) -> tuple[list[Hashable | None], Floats]:
    """The likeliest other answer to each sample, and how much likelier the answers are with a wrong
    label than with a right one; each sample counts `weights` (samples,) times in the fit."""
    attraction = _attraction(answers, weights)
    best: list[Hashable | None] = [None] * len(answers.wrong)
    ratios = np.zeros(len(answers.wrong))
    for rows in _strata(answers.wrong_options):
        table = answers.right[rows]
        ability = abilities(table, weights[rows])
        totals = table.sum(axis=1).astype(np.intp)
        counts = np.bincount(totals, weights[rows], minlength=table.shape[1] + 1)
        difficulties = DifficultyGrid(ability).fit(counts.astype(np.float64))
        nodes, node_weights = weighted_nodes(difficulties)
        chances = right_chance(ability[:, None], nodes).clip(1e-9, 1 - 1e-9)
        scale = _Likelihood(np.log(chances), np.log1p(-chances), node_weights, attraction)
        for row in rows.tolist():
            given, options = answers.wrong[row], float(answers.wrong_options[row])
            by_label = answers.right[row] > 0
            labelled = scale.of(by_label, given, options)
            every = [_LABEL if right else one for one, right in zip(given, by_label, strict=True)]
            others = {
                answer: scale.with_right(answer, every, options) - labelled
                for answer in dict.fromkeys(given)
                if answer is not None
            }
            if others:
                best[row] = max(others, key=others.__getitem__)
                ratios[row] = sum(np.exp(min(600.0, ratio)) for ratio in others.values()) / options
    return best, ratios


_LABEL = ("label",)
"""Stands for the label among the wrong answers where another option is the right one."""


class _Likelihood(NamedTuple):
    """The log-likelihood of systems' answers to a sample, integrated over its difficulty."""

    log_right: Floats
    """(systems, nodes)."""
    log_wrong: Floats
    weights: Floats
    attraction: float

    def with_right(self, answer: Hashable, every: Sequence[Hashable | None], options: float) -> float:
        """With this answer right, and all others of the systems wrong."""
        right = np.array([one == answer for one in every])
        return self.of(right, [None if one == answer else one for one in every], options)

    def of(self, right: Bools, wrong: Sequence[Hashable | None], options: float) -> float:
        """With these systems right, and the wrong options that others gave."""
        logs = np.where(right[:, None], self.log_right, self.log_wrong).sum(axis=0)
        top = float(logs.max())
        chosen = Counter(answer for answer in wrong if answer is not None)
        return (
            top
            + float(np.log(self.weights @ np.exp(logs - top)))
            + _polya(self.attraction, options, list(chosen.values()))
        )


def _attraction(answers: SystemAnswers, weights: Floats) -> float:
    """The Dirichlet parameter of wrong answers by maximum likelihood, from all systems."""
    patterns: dict[tuple[float, tuple[int, ...]], float] = defaultdict(float)
    for row, options, weight in zip(answers.wrong, answers.wrong_options.tolist(), weights.tolist(), strict=True):
        chosen = Counter(one for one in row if one is not None)
        patterns[options, tuple(sorted(chosen.values()))] += weight
    likelihoods = [
        sum(n * _polya(value, *pattern) for pattern, n in patterns.items()) for value in _ATTRACTIONS.tolist()
    ]
    return float(_ATTRACTIONS[int(np.argmax(likelihoods))])


def _posterior(ratios: Floats) -> Floats:
    """The probability of a wrong label by sample, from the likelihood of the answers with a wrong
    label relative to a right one. The share of wrong labels is fitted by EM."""
    share = 0.01
    posterior = np.zeros_like(ratios)
    for _ in range(_STEPS):
        posterior = share * ratios / (share * ratios + 1 - share)
        share = max(1e-6, float(posterior.sum()) / (len(ratios) + _PRIOR_SAMPLES))
    return posterior


def _strata(wrong_options: Floats) -> list[Indices]:
    """Indices of samples by their number of wrong options; rare numbers are one stratum."""
    by_width: dict[float, list[int]] = defaultdict(list)
    for sample, width in enumerate(wrong_options.tolist()):
        by_width[width].append(sample)
    strata = [rows for rows in by_width.values() if len(rows) >= _MIN_SAMPLES]
    rare = [sample for rows in by_width.values() if len(rows) < _MIN_SAMPLES for sample in rows]
    return [np.array(rows, dtype=np.intp) for rows in (*strata, rare) if rows]


def _polya(attraction: float, wrong_options: float, counts: Sequence[int]) -> float:
    """Log-likelihood of the counts of chosen wrong options under Polya's distribution."""
    n = sum(counts)
    log_likelihood = math.lgamma(wrong_options * attraction) - math.lgamma(wrong_options * attraction + n)
    return log_likelihood + sum(math.lgamma(attraction + count) - math.lgamma(attraction) for count in counts)
