"""Planned studies: power at the samples that `snellen plan` gives, and what a subset is worth."""

from __future__ import annotations

import numpy as np

from simulations.study import Case, Share, Study
from snellen.stats.paired import paired_mean, required_samples
from snellen.stats.power import design_effect_of_sizes, required_samples_no_worse
from snellen.stats.score_test import tango_interval
from snellen.stats.subsets import choose_subset

_NEW_SYSTEMS = 60
_SAMPLES = 200


def finds(difference: float, discordance: float) -> Share:
    """Right or wrong answers, every sample alone: the test finds the difference."""

    def share(random: np.random.Generator, repeats: int) -> float:
        n = required_samples(difference, discordance)
        assert n is not None
        won, lost = (discordance + difference) / 2, (discordance - difference) / 2
        counts = random.multinomial(n, [won, lost, 1 - discordance], size=repeats).T * 1.0
        low, high = tango_interval(counts[0], counts[1], n, 0.95)
        return float(((low > 0) | (high < 0)).mean())

    return share


def finds_over_clusters(difference: float, discordance: float, size: int, correlation: float) -> Share:
    """Questions about pictures: the part `correlation` of the variance is the picture's."""

    def share(random: np.random.Generator, repeats: int) -> float:
        n = required_samples(difference, discordance, design=design_effect_of_sizes([size], correlation))
        assert n is not None
        groups = -(-n // size)
        clusters = np.repeat(np.arange(groups), size)
        chances = [(discordance + difference) / 2, (discordance - difference) / 2, 1 - discordance]
        found = 0
        for _ in range(repeats):
            # A sample has its picture's difference with this chance, so that two of a picture are
            # correlated so.
            own = random.choice([1.0, -1.0, 0.0], size=len(clusters), p=chances)
            of_picture = random.choice([1.0, -1.0, 0.0], size=groups, p=chances)[clusters]
            shared = random.random(len(clusters)) < correlation**0.5
            p = paired_mean(np.where(shared, of_picture, own), clusters).p
            found += p is not None and p < 0.05
        return found / repeats

    return share


def shows_no_worse(margin: float, discordance: float, both: bool) -> Share:
    """Two equally good systems: the interval lies above the margin, or within it on both sides."""

    def share(random: np.random.Generator, repeats: int) -> float:
        n = required_samples_no_worse(margin, discordance, both=both)
        half = discordance / 2
        counts = random.multinomial(n, [half, half, 1 - discordance], size=repeats).T * 1.0
        low, high = tango_interval(counts[0], counts[1], n, 0.95)
        return float(((low > -margin) & ((high < margin) | (not both))).mean())

    return share


def agreement_too_high(systems: int) -> Share:
    """Points by which the agreement that is told of a subset exceeds that on new systems."""

    def share(random: np.random.Generator, repeats: int) -> float:
        excess = 0.0
        for at in range(repeats):
            skill = random.normal(0.5, 0.5, systems + _NEW_SYSTEMS)
            hard = random.normal(0, 1.2, (_SAMPLES, 1))
            chance = 1 / (1 + np.exp(hard - skill))
            right = (random.random(chance.shape) < chance).astype(np.float64)
            choice = choose_subset(right[:, :systems], np.ones(_SAMPLES), 0.9, f"{at}")
            new = right[:, systems:]
            excess += choice.agreement - _agreement(new, choice.units)
        return 100 * excess / repeats

    return share


def _agreement(right: np.ndarray, units: np.ndarray) -> float:
    whole, part = right.mean(axis=0), right[units].mean(axis=0)
    one, other = np.triu_indices(right.shape[1], 1)
    apart = np.sign(np.round(whole[one] - whole[other], 9))
    there = np.sign(np.round(part[one] - part[other], 9))
    return float((there == apart)[apart != 0].mean())


_POWER = (0.78, 0.82)
_CONNOR = "R. J. Connor, Biometrics 43 (1987), eq. 3"

STUDIES = (
    Study(
        "planned-difference",
        "The samples that a difference needs",
        "the difference is found at a level of 5 % (power, planned as 80 %)",
        "`snellen plan --detect`: as many samples as Connor's formula gives, and the test of "
        "`snellen compare`. Assumes the discordance that is planned with.",
        _CONNOR,
        tuple(
            Case(
                f"{100 * difference:g} points, {100 * discordance:g} % discordant",
                finds(difference, discordance),
                *_POWER,
            )
            for difference, discordance in ((0.02, 0.3), (0.02, 0.1), (0.05, 0.5), (0.1, 0.3))
        ),
        repeats=20_000,
        quick=4_000,
    ),
    Study(
        "planned-clusters",
        "The samples that a difference needs, several of a picture",
        "the difference is found at a level of 5 % (power, planned as 80 %)",
        "`snellen plan --detect` with the design effect of the clusters, and the test over "
        "clusters of `snellen compare`. Assumes the correlation that is planned with.",
        f"{_CONNOR}; L. Kish, Survey Sampling (1965), Sec. 5.4",
        tuple(
            Case(
                f"{100 * difference:g} points, {size} of a picture, correlation {rho:g}",
                finds_over_clusters(difference, 0.3, size, rho),
                *_POWER,
            )
            for difference, size, rho in ((0.05, 3, 0.2), (0.05, 10, 0.2), (0.1, 5, 0.5))
        ),
        repeats=4_000,
        quick=200,
    ),
    Study(
        "planned-no-worse",
        "The samples that it takes to show two models alike",
        "it is shown of two equally good models (power, planned as 80 %)",
        "`snellen plan --no-worse`: the interval of the difference lies above the margin, or within it on both sides.",
        "J.-P. Liu, H.-M. Hsueh, E. Hsieh and J. J. Chen, Statistics in Medicine 21 (2002); T. "
        "Tango, Statistics in Medicine 17 (1998)",
        tuple(
            Case(
                f"{'both sides' if both else 'one side'}, {100 * margin:g} points, {100 * discordance:g} % discordant",
                shows_no_worse(margin, discordance, both),
                *_POWER,
            )
            for margin, discordance in ((0.01, 0.3), (0.02, 0.1), (0.05, 0.4))
            for both in (False, True)
        ),
        repeats=20_000,
        quick=4_000,
    ),
    Study(
        "subset-agreement",
        "What a subset is worth to models that did not choose it",
        "points by which the agreement told is above that on 60 new systems",
        "`snellen items`: nested cross-validation over systems, the choice of size inside.",
        "M. Stone, JRSS B 36 (1974); S. Varma and R. Simon, BMC Bioinformatics 7:91 (2006)",
        tuple(Case(f"{systems} systems", agreement_too_high(systems), -2.0, 2.0) for systems in (10, 12, 20)),
        repeats=200,
        quick=10,
    ),
)
