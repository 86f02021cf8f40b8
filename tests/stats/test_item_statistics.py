"""Item statistics against scipy."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.items import difficulty, discrimination


def simulated(seed: int, systems: int = 14, samples: int = 600) -> np.ndarray:
    """Scores by a two-parameter logistic model: (samples, systems)."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(-1, 1, systems)[None]
    hard, sharp = rng.normal(0, 1.5, (samples, 1)), np.exp(rng.normal(0, 0.5, (samples, 1)))
    return (rng.random((samples, systems)) < 1 / (1 + np.exp(-sharp * (skill - hard)))).astype(float)


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


def test_no_discrimination_from_two_systems() -> None:
    assert np.isnan(discrimination(simulated(1, systems=2))).all()


def test_sample_with_wrong_label_has_the_lowest_discrimination() -> None:
    """A wrong label turns the sample round: better systems get it wrong more often."""
    scores = simulated(3)
    spoilt = int(np.nanargmax(discrimination(scores)))
    scores[spoilt] = 1 - scores[spoilt]
    assert int(np.nanargmin(discrimination(scores))) == spoilt
