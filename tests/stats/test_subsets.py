"""What chosen subsets are worth on simulated systems."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

from snellen.stats.subsets import SHARES, SubsetChoice, _FullBenchmark, _StratifiedDraws, choose_subset


def simulated(seed: int, systems: int = 14, samples: int = 600) -> np.ndarray:
    """Scores by a two-parameter logistic model: (samples, systems)."""
    rng = np.random.default_rng(seed)
    skill = np.linspace(-1, 1, systems)[None]
    hard, sharp = rng.normal(0, 1.5, (samples, 1)), np.exp(rng.normal(0, 0.5, (samples, 1)))
    return (rng.random((samples, systems)) < 1 / (1 + np.exp(-sharp * (skill - hard)))).astype(float)


@pytest.fixture(scope="module")
def choice() -> SubsetChoice:
    return choose_subset(simulated(5), np.ones(600), 0.8, "x")


def test_larger_subsets_are_nearer_to_the_whole(choice: SubsetChoice) -> None:
    found = choice.sizes
    assert [one.units for one in found] == [5 * round(share * 120) for share in SHARES]
    errors = [one.error for one in found]
    assert errors[0] > errors[2] > errors[-1]
    assert found[-1].agreement > found[0].agreement
    assert found[-1].agreement > 0.9
    assert all(one.largest >= one.error for one in found)


def test_the_smallest_size_from_which_on_all_are_good_enough(choice: SubsetChoice) -> None:
    good = [one.agreement >= 0.8 for one in choice.sizes]
    place = SHARES.index(choice.share)
    assert choice.is_reached
    assert all(good[place:])
    assert place == 0 or not good[place - 1]
    assert 0.7 < choice.agreement < 1


def test_the_chosen_subset_takes_from_every_stratum(choice: SubsetChoice) -> None:
    assert len(choice.units) == 5 * round(choice.share * 120)
    assert sorted(set(choice.units.tolist())) == choice.units.tolist()
    order = np.argsort(np.argsort(simulated(5).mean(axis=1), kind="stable"))
    counts = np.bincount(order[choice.units] * 5 // 600, minlength=5)
    # Ties at the edges of strata are broken by lot.
    assert counts.min() >= 0.7 * counts.max()


def test_equal_seeds_choose_alike_and_the_largest_is_given_where_none_is_good_enough() -> None:
    small = simulated(2, systems=10, samples=60)
    one, other = (choose_subset(small, np.ones(60), 1.01, "x") for _ in range(2))
    assert not one.is_reached
    assert one.share == SHARES[-1]
    assert len(one.units) == 30
    assert (one.sizes, one.agreement) == (other.sizes, other.agreement)


def test_units_of_several_samples_weigh_by_their_size() -> None:
    """Doubling every unit changes no score."""
    small = simulated(3, systems=10, samples=60)
    one = choose_subset(small, np.ones(60), 0.8, "x")
    other = choose_subset(2 * small, np.full(60, 2.0), 0.8, "x")
    assert one.sizes == other.sizes
    assert one.units.tolist() == other.units.tolist()


def test_refuses_subset_from_few_systems() -> None:
    with pytest.raises(ValueError, match="10 systems, got 9"):
        choose_subset(simulated(1, systems=9), np.ones(600), 0.9, "x")


def test_pairs_of_many_systems_are_compared_in_little_memory() -> None:
    scores = np.random.default_rng(0).random((500, 100))
    full = _FullBenchmark(scores, np.ones(500))
    picks = _StratifiedDraws(500, np.random.default_rng(1)).select(0.5)
    tracemalloc.start()
    found = full.compare_draws(picks, np.arange(500))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    first, second = np.triu_indices(100, 1)
    means = (picks @ scores) / picks.sum(axis=1)[:, None]
    signs = np.sign(scores.mean(axis=0)[first] - scores.mean(axis=0)[second])
    assert np.array_equal(found.agree, (means[:, first] - means[:, second]) * signs > 0)
    assert peak < 2 * found.agree.nbytes
