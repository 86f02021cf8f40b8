"""Item statistics against scipy, and what chosen subsets are worth on simulated systems."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.items import difficulty, discrimination
from snellen.stats.subsets import SHARES, chosen, subsets


def simulated(seed: int, systems: int = 14, samples: int = 600) -> np.ndarray:
    """Scores by a two-parameter logistic model: (samples, systems)."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(-1, 1, systems)[None]
    hard, sharp = rng.normal(0, 1.5, (samples, 1)), np.exp(rng.normal(0, 0.5, (samples, 1)))
    return (rng.random((samples, systems)) < 1 / (1 + np.exp(-sharp * (skill - hard)))).astype(
        float
    )


def test_discrimination_is_the_corrected_point_biserial() -> None:
    from scipy.stats import pointbiserialr

    scores = simulated(1, samples=40)
    found = discrimination(scores)
    for at, row in enumerate(scores):
        if row.min() == row.max():
            assert np.isnan(found[at])
        else:
            rest = scores.sum(axis=0) - row
            assert found[at] == pytest.approx(pointbiserialr(row, rest).statistic)
    assert difficulty(scores) == pytest.approx(1 - scores.mean(axis=1))


def test_two_systems_tell_nothing_of_discrimination() -> None:
    assert np.isnan(discrimination(simulated(1, systems=2))).all()


def test_a_spoilt_sample_stands_out() -> None:
    """A wrong label turns the sample round: better systems get it wrong more often."""
    scores = simulated(3)
    spoilt = int(np.nanargmax(discrimination(scores)))
    scores[spoilt] = 1 - scores[spoilt]
    assert int(np.nanargmin(discrimination(scores))) == spoilt


def test_larger_subsets_are_nearer_to_the_whole() -> None:
    found = subsets(simulated(5), np.ones(600), "x")
    assert [one.units for one in found] == [5 * round(share * 120) for share in SHARES]
    errors = [one.error for one in found]
    assert errors[0] > errors[2] > errors[-1]
    assert found[-1].agreement > found[0].agreement
    assert found[-1].agreement > 0.9
    assert all(one.largest >= one.error for one in found)
    assert subsets(simulated(5), np.ones(600), "x") == found


def test_choosing_is_better_than_drawing_on_systems_that_did_not_choose() -> None:
    chose, drew = [], []
    for seed in range(6):
        for one in subsets(simulated(seed, systems=12), np.ones(600), str(seed)):
            chose.append(one.agreement)
            drew.append(one.random_agreement)
    assert np.mean(chose) > np.mean(drew)


def test_the_chosen_subset_takes_from_every_stratum() -> None:
    scores = simulated(2)
    units = chosen(scores, np.ones(600), 0.1, "x")
    assert len(units) == 60
    assert len(set(units.tolist())) == 60
    order = np.argsort(np.argsort(scores.mean(axis=1), kind="stable"))
    counts = np.bincount(order[units] * 5 // 600, minlength=5)
    assert counts.min() >= 8


def test_few_systems_choose_nothing() -> None:
    with pytest.raises(ValueError, match="4 systems, got 3"):
        subsets(simulated(1, systems=3), np.ones(600), "x")
