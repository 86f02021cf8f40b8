"""Which questions are held out: the share, the balance, and what stays together."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from snellen_curate.publish.hold_out import SplitCandidate, choose_held_out

ITEMS = [SplitCandidate(f"q{number}", "abc"[number % 3]) for number in range(100)]


@pytest.mark.parametrize(("share", "expected"), [(0.3, 30), (0.5, 50), (0.01, 1), (0.99, 99), (0.255, 26)])
def test_the_share_is_met_exactly_if_nothing_must_stay_together(share: float, expected: int) -> None:
    assert len(choose_held_out(ITEMS, share, 0)) == expected


def test_every_ability_has_its_share() -> None:
    chosen = choose_held_out(ITEMS, 0.3, 0)
    counts = Counter(item.ability for item in ITEMS if item.id in chosen)
    assert dict(counts) == {"a": 10, "b": 10, "c": 10}


def test_the_order_of_the_data_does_not_matter_but_the_seed_does() -> None:
    shuffled = ITEMS[:]
    random.Random(1).shuffle(shuffled)
    assert choose_held_out(ITEMS, 0.3, 7) == choose_held_out(shuffled, 0.3, 7)
    assert choose_held_out(ITEMS, 0.3, 7) != choose_held_out(ITEMS, 0.3, 8)


def test_units_and_questions_about_one_image_stay_together() -> None:
    pairs = [SplitCandidate(f"p{n}", "a", unit=f"pair {n // 2}") for n in range(40)]
    # Each of these shares one of its two pictures with the next: a chain of four.
    chains = [SplitCandidate(f"c{n}-{k}", "b", media=(f"{n} {k}", f"{n} {k + 1}")) for n in range(10) for k in range(4)]
    chosen = choose_held_out([*pairs, *chains], 0.3, 0)
    assert len(chosen) == 24
    by_unit = {item.unit: {item.id in chosen} for item in pairs}
    assert all((item.id in chosen) in by_unit[item.unit] or item.unit not in by_unit for item in pairs)
    for number in range(10):
        assert len({item.id in chosen for item in chains if item.id.startswith(f"c{number}-")}) == 1


def test_public_item_keeps_its_unit_public() -> None:
    items = [
        SplitCandidate("1", "a", unit="u"),
        SplitCandidate("2", "a", unit="u", must_be_public=True),
        SplitCandidate("3", "a"),
        SplitCandidate("4", "a"),
    ]
    assert choose_held_out(items, 0.5, 0) == {"3", "4"}


def test_units_of_several_abilities_meet_the_share_of_each() -> None:
    items = [
        SplitCandidate(f"{image}-{ability}", ability, media=(f"picture {image}",))
        for image in range(20)
        for ability in "abc"
    ]
    chosen = choose_held_out(items, 0.3, 0)
    counts = Counter(item.ability for item in items if item.id in chosen)
    assert dict(counts) == {"a": 6, "b": 6, "c": 6}
