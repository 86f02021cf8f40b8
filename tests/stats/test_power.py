"""Sizes of studies: against published formulas, and by simulated power."""

from __future__ import annotations

import numpy as np
import pytest

from snellen.stats.paired import required_samples
from snellen.stats.power import design_effect_of_sizes, discordance_of_means, min_margin, required_samples_no_worse
from snellen.stats.score_test import tango_interval


def no_worse_power(margin: float, discordance: float, n: int, both: bool, draws: int) -> float:
    random = np.random.default_rng(7)
    half = discordance / 2
    won, lost, _ = random.multinomial(n, [half, half, 1 - discordance], size=draws).T * 1.0
    low, high = tango_interval(won, lost, n, 0.95)
    return float(((low > -margin) & ((high < margin) | (not both))).mean())


@pytest.mark.parametrize("both", [False, True])
@pytest.mark.parametrize(("margin", "discordance"), [(0.01, 0.1), (0.02, 0.3), (0.02, 0.1), (0.05, 0.4), (0.1, 0.3)])
def test_power_at_the_samples_for_no_worse(margin: float, discordance: float, both: bool) -> None:
    n = required_samples_no_worse(margin, discordance, both=both)
    assert no_worse_power(margin, discordance, n, both, 4000) == pytest.approx(0.8, abs=0.025)


def test_a_margin_as_large_as_the_discordance_has_power_enough() -> None:
    n = required_samples_no_worse(0.05, 0.05)
    assert 0.78 < no_worse_power(0.05, 0.05, n, False, 4000) < 0.87


def test_large_samples_are_those_of_the_simple_formula() -> None:
    """(z_level + z_power)^2 discordance / margin^2 where the margin is small beside the spread."""
    assert required_samples_no_worse(0.001, 0.5) == pytest.approx((1.95996 + 0.84162) ** 2 * 0.5e6, rel=1e-3)
    assert required_samples_no_worse(0.001, 0.5, both=True) == pytest.approx((1.95996 + 1.28155) ** 2 * 0.5e6, rel=1e-3)
    assert required_samples_no_worse(0.01, 0.3, design=2.0) == pytest.approx(
        2 * required_samples_no_worse(0.01, 0.3), abs=2
    )


def test_equal_models_still_need_samples() -> None:
    assert 50 < required_samples_no_worse(0.05, 0.0) < 100


@pytest.mark.parametrize("discordance", [0.0, 0.1, 0.4])
def test_min_margin_inverts_required_samples(discordance: float) -> None:
    found = min_margin(discordance, 1500)
    assert found is not None
    assert required_samples_no_worse(found, discordance) == pytest.approx(1500, abs=1)
    assert min_margin(discordance, 0) is None


def test_design_effects() -> None:
    assert design_effect_of_sizes([1] * 50, 0.7) == 1.0
    assert design_effect_of_sizes([5] * 10, 0.25) == pytest.approx(2.0)
    assert design_effect_of_sizes([1, 9], 0.5) == pytest.approx(1 + (82 / 10 - 1) * 0.5)
    assert design_effect_of_sizes([5] * 10, -0.1) == 1.0
    with pytest.raises(ValueError, match="needs clusters"):
        design_effect_of_sizes([], 0.5)


def test_repeats_lower_what_comes_from_drawing_alone() -> None:
    assert [discordance_of_means(0.1, 0.2, repeats) for repeats in (1, 2, 4)] == pytest.approx([0.3, 0.2, 0.15])
    assert required_samples(0.02, 0.3) > required_samples(0.02, 0.2)  # type: ignore[operator]


@pytest.mark.parametrize("wrong", [(0.0, 0.1), (1.0, 0.1), (0.1, -0.1), (0.1, 1.1)])
def test_sizes_out_of_range(wrong: tuple[float, float]) -> None:
    with pytest.raises(ValueError, match="expected a margin"):
        required_samples_no_worse(*wrong)
