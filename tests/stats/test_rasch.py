"""The Rasch model against statsmodels and scipy."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from snellen.stats.rasch import DifficultyGrid, _chances_by_total, abilities, draw_patterns, elementary_symmetric

ABLE = np.array([-1.0, 0.0, 0.5, 1.5])


def answered(samples: int, spread: float, able: np.ndarray = ABLE, seed: int = 1) -> np.ndarray:
    rng = np.random.default_rng(seed)
    hard = rng.normal(0.3, spread, (samples, 1))
    right: np.ndarray = rng.random((samples, len(able))) < 1 / (1 + np.exp(hard - able))
    return right.astype(np.float64)


def test_abilities_are_those_of_a_conditional_logit() -> None:
    from statsmodels.discrete.conditional_models import ConditionalLogit

    right = answered(200, 1.4)
    right = right[(right.sum(axis=1) > 0) & (right.sum(axis=1) < 4)]
    systems = np.tile(np.eye(4)[:, 1:], (len(right), 1))
    model = ConditionalLogit(right.ravel(), systems, groups=np.repeat(np.arange(len(right)), 4))
    theirs = np.concatenate(([0.0], model.fit(disp=False).params))
    assert abilities(right, np.ones(len(right))) == pytest.approx(theirs - theirs.mean(), abs=1e-3)
    # A sample that counts twice is a sample that is there twice.
    twice = abilities(right, np.full(len(right), 2.0))
    assert twice == pytest.approx(abilities(right, np.ones(len(right))))


def test_ability_of_perfect_and_zero_scores_is_finite() -> None:
    right = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    able = abilities(right, np.ones(3))
    assert np.isfinite(able).all()
    assert able[0] > able[1] > able[2]
    assert (abilities(np.ones((3, 2)), np.ones(3)) == 0).all()
    with pytest.raises(ValueError, match="two or more systems, got 1"):
        abilities(np.ones((3, 1)), np.ones(3))


@pytest.mark.parametrize("spread", [0.0, 1.0, 2.5])
def test_the_distribution_of_difficulties_is_found_again(spread: float) -> None:
    right = answered(20_000, spread)
    counts = np.bincount(right.sum(axis=1).astype(int), minlength=5).astype(np.float64)
    found = DifficultyGrid(ABLE - ABLE.mean()).fit(counts)
    assert found.mean == pytest.approx(0.3 - ABLE.mean(), abs=0.15)
    assert found.spread == pytest.approx(spread, abs=0.15 if spread else 0.3)


def test_patterns_have_the_chances_of_the_model() -> None:
    easy = np.exp(ABLE)
    drawn = draw_patterns(ABLE, 2, 40_000, np.random.default_rng(3))
    assert (drawn.sum(axis=1) == 2).all()
    whole = elementary_symmetric(easy)
    assert whole == pytest.approx(np.poly(-easy))
    for one in range(4):
        chance = easy[one] * elementary_symmetric(np.delete(easy, one))[1] / whole[2]
        assert drawn[:, one].mean() == pytest.approx(chance, abs=0.01)


def test_pairs_of_many_systems_need_little_memory_beside_their_chances() -> None:
    ability = np.linspace(-2, 2, 100)
    tracemalloc.start()
    chances, joint = _chances_by_total(ability)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert np.allclose(joint[:, range(100), range(100)], chances)
    assert peak < 1.5 * joint.nbytes
