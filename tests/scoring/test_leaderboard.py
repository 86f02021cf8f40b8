"""Ranks, and counts recovered from printed percentages."""

from __future__ import annotations

import pytest

from snellen.scoring.leaderboard import rank_models, recover_counts


def test_equal_scores_share_a_rank_and_those_cut_off_are_counted() -> None:
    found = rank_models("x", {"a": 1.0, "b": 3.0, "c": 2.0, "d": 2.0, "e": 1.0}, limit=4)
    assert [(place.rank, place.model) for place in found.places] == [(1, "b"), (2, "c"), (2, "d"), (4, "a")]
    assert (found.models, found.tied_out) == (5, 1)


def test_equal_sums_of_different_percentages_are_equal() -> None:
    one, other = 100 * 50 / 60 + 100 * 21 / 30, 100 * 52 / 60 + 100 * 20 / 30
    assert one != other
    assert {place.rank for place in rank_models("x", {"a": one, "b": other}).places} == {1}


def test_leaderboard_without_models_is_empty() -> None:
    assert rank_models("x", {}).places == ()


@pytest.mark.parametrize(
    ("accuracy", "plus", "images", "counts"),
    [
        ("86.67", "73.33", 30, (52, 22, 30)),
        ("80.00", "60.00", 200, (320, 120, 200)),
        ("81.41", "64.32", 200, (324, 128, 199)),
        ("81.04", "65.93", 200, (295, 120, 182)),
    ],
)
def test_counts_behind_printed_numbers(accuracy: str, plus: str, images: int, counts: tuple[int, int, int]) -> None:
    assert recover_counts(accuracy, plus, images) == counts


@pytest.mark.parametrize(("accuracy", "plus"), [("33.33", "99.99"), ("80", "60"), ("80.0", "60.0")])
def test_inconsistent_accuracies_give_no_counts(accuracy: str, plus: str) -> None:
    assert recover_counts(accuracy, plus, 20) is None


def test_the_recovered_score_is_unrounded() -> None:
    found = recover_counts("86.67", "73.33", 30)
    assert found is not None
    assert found.score == pytest.approx(160.0)
