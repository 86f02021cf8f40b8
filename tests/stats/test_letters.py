"""Letters of systems that cannot be told apart."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from snellen.stats.compact_letters import letter_groups


@pytest.mark.parametrize(
    ("count", "different", "letters"),
    [
        (0, [], []),
        (1, [], ["a"]),
        (3, [], ["a", "a", "a"]),
        (2, [(0, 1)], ["a", "b"]),
        (3, [(0, 2)], ["a", "ab", "b"]),
        (3, [(2, 0), (1, 2)], ["a", "a", "b"]),
        # Not an order: the middle one is the least precise.
        (4, [(0, 3), (1, 3), (1, 2)], ["ab", "a", "bc", "c"]),
    ],
)
def test_letters(count: int, different: list[tuple[int, int]], letters: list[str]) -> None:
    assert letter_groups(count, different) == letters


def test_eight_systems_that_no_line_would_group() -> None:
    different = [
        (0, 6),
        (0, 7),
        (1, 3),
        (1, 4),
        (1, 6),
        (1, 7),
        (2, 6),
        (3, 4),
        (3, 6),
        (3, 7),
        (4, 6),
        (4, 7),
        (5, 6),
        (5, 7),
    ]
    found = letter_groups(8, different)
    assert shares_letters(found) == {pair for pair in combinations(range(8), 2) if pair not in different}


def shares_letters(letters: list[str]) -> set[tuple[int, int]]:
    sets = [set(one.split() if " " in one else one) for one in letters]
    return {(a, b) for a, b in combinations(range(len(sets)), 2) if sets[a] & sets[b]}


@settings(max_examples=150, deadline=None)
@given(st.integers(1, 8), st.data())
def test_systems_share_a_letter_exactly_if_they_do_not_differ(count: int, data: st.DataObject) -> None:
    pairs = list(combinations(range(count), 2))
    different = data.draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    found = letter_groups(count, different)
    assert all(found)
    assert shares_letters(found) == set(pairs) - different
    assert found[0].startswith("a")


def test_many_letters() -> None:
    found = letter_groups(30, list(combinations(range(30), 2)))
    assert (found[25], found[26], found[29]) == ("z", "aa", "ad")


@pytest.mark.parametrize("pair", [(0, 0), (0, 3), (-1, 1)])
def test_pairs_that_are_not_there(pair: tuple[int, int]) -> None:
    with pytest.raises(ValueError, match="pairs of two of 3 systems"):
        letter_groups(3, [pair])
