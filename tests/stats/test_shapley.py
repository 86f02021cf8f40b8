"""A difference shared by the Shapley value, from all or from some combinations."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from snellen.stats.shapley import Coalition, shapley_split


def cells(**values: float) -> dict[Coalition, np.ndarray]:
    """`mp=1.0`: the value with m and p switched; `none` with nothing."""
    return {frozenset() if name == "none" else frozenset(name): np.array([value]) for name, value in values.items()}


def shares(**values: float) -> dict[str, float]:
    split = shapley_split(cells(**values))
    return {"".join(sorted(block)): float(one[0]) for block, one in split.shares.items()}


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        # Everything known: the textbook value, e.g. of the glove game (one left, two right gloves).
        ({"none": 0, "m": 3, "p": 1, "mp": 4}, {"m": 3, "p": 1}),
        ({"none": 0, "m": 0, "p": 0, "mp": 1}, {"m": 0.5, "p": 0.5}),
        ({"none": 0, "m": 1, "p": 0, "mp": 0}, {"m": 0.5, "p": -0.5}),
        (
            {"none": 0, "l": 0, "r": 0, "s": 0, "lr": 1, "ls": 1, "rs": 0, "lrs": 1},
            {"l": 4 / 6, "r": 1 / 6, "s": 1 / 6},
        ),
        # Two runs alone: what both move, and nothing of either.
        ({"none": 0.2, "mp": 0.5}, {"mp": 0.3}),
        # A third run: one order of two.
        ({"none": 0, "m": 3, "mp": 4}, {"m": 3, "p": 1}),
        # Two of three cannot be told apart.
        ({"none": 0, "m": 3, "mpd": 4}, {"m": 3, "dp": 1}),
        # Either m or p could stand alone: neither is favoured.
        ({"none": 0, "m": 3, "p": 1, "mpd": 4}, {"dmp": 4}),
        ({"none": 2, "m": 2}, {"m": 0}),
    ],
)
def test_shapley_shares(values: dict[str, float], expected: dict[str, float]) -> None:
    found = shares(**values)
    assert found == pytest.approx(expected)
    everyone = max(values, key=lambda name: 0 if name == "none" else len(name))
    assert sum(found.values()) == pytest.approx(values[everyone] - values["none"])


def test_moves_range_over_the_possible_orders() -> None:
    split = shapley_split(cells(none=0, m=1, p=0, mp=0))
    moved = [one[frozenset("m")] for one in split.moves.values()]
    assert sorted(moved) == [0.0, 1.0]
    assert split.possible_orders == 2
    assert shapley_split(cells(none=0, m=3, mp=4)).possible_orders == 2


@pytest.mark.parametrize("seed", range(12))
def test_shares_change_sign_when_runs_are_swapped(seed: int) -> None:
    """Whatever is known of three things: the missing combinations are drawn."""
    random = np.random.default_rng(seed)
    players = "mpd"
    some = [frozenset(one) for size in (1, 2) for one in combinations(players, size)]
    known = {one: random.random(4) for one in some if random.random() < 0.6}
    known |= {frozenset(): random.random(4), frozenset(players): random.random(4)}
    there = shapley_split(known)
    back = shapley_split({frozenset(players) - one: values for one, values in known.items()})
    assert there.shares.keys() == back.shares.keys()
    for block, share in there.shares.items():
        np.testing.assert_allclose(share, -back.shares[block], atol=1e-12)
    total = known[frozenset(players)] - known[frozenset()]
    np.testing.assert_allclose(sum(there.shares.values()), total, atol=1e-12)


@pytest.mark.parametrize("values", [{"m": 1.0}, {"none": 1.0}, {"none": 0.0, "m": 1, "p": 1}])
def test_both_ends_are_needed(values: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="no player switched"):
        shapley_split(cells(**values))
