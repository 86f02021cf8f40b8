"""F1 of charts, and distances of colours."""

from __future__ import annotations

import itertools
import random

import pytest

from snellen.benchmarks.documents.chartmimic.charts import (
    Lab,
    best_total,
    calls_f1,
    colour_distance,
    colours_f1,
    counted_f1,
    distinct_colours,
    f1_of,
    similarity,
    to_lab,
)

SHARMA = [
    ((50.0, 2.6772, -79.7751), (50.0, 0.0, -82.7485), 2.0425),
    ((50.0, 3.1571, -77.2803), (50.0, 0.0, -82.7485), 2.8615),
    ((50.0, -1.3802, -84.2814), (50.0, 0.0, -82.7485), 1.0000),
    ((50.0, 0.0, 0.0), (50.0, -1.0, 2.0), 2.3669),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0009), 7.1792),
    ((50.0, 2.4900, -0.0010), (50.0, -2.4900, 0.0011), 7.2195),
    ((50.0, 2.5, 0.0), (73.0, 25.0, -18.0), 27.1492),
    ((50.0, 2.5, 0.0), (61.0, -5.0, 29.0), 22.8977),
    ((60.2574, -34.0099, 36.2677), (60.4626, -34.1751, 39.4387), 1.2644),
    ((22.7233, 20.0904, -46.6940), (23.0331, 14.9730, -42.5619), 2.0373),
    ((2.0776, 0.0795, -1.1350), (0.9033, -0.0636, -0.5514), 0.9082),
]
"""Pairs of colours and their distance, from Sharma, Wu and Dalal 2005, Table 1."""


@pytest.mark.parametrize(("first", "second", "distance"), SHARMA)
def test_distances_are_those_of_the_paper(
    first: tuple[float, float, float], second: tuple[float, float, float], distance: float
) -> None:
    there, back = (colour_distance(Lab(*first), Lab(*second)), colour_distance(Lab(*second), Lab(*first)))
    assert there == pytest.approx(distance, abs=5e-5)
    assert back == pytest.approx(there)


def test_colours_in_lab() -> None:
    assert to_lab("#FFFFFF") == pytest.approx((100.0, 0.0, 0.0), abs=0.02)
    assert to_lab("#000000") == pytest.approx((0.0, 0.0, 0.0), abs=1e-6)
    assert to_lab("#FF0000") == pytest.approx((53.24, 80.09, 67.20), abs=0.02)


@pytest.mark.parametrize(
    ("first", "second", "alike"),
    [
        ("#FF0000", "#FF0000", 1.0),
        ("#FF0000", "#FF000080", 1.0),
        ("viridis", "viridis", 1.0),
        ("viridis", "plasma", 0.0),
        ("viridis", "#FF0000", 0.0),
        ("#000000", "#FFFFFF", 0.0),
    ],
)
def test_similarity(first: str, second: str, alike: float) -> None:
    assert similarity(first, second) == pytest.approx(alike, abs=1e-4)


@pytest.mark.parametrize(
    ("correct", "generated", "reference", "f1"),
    [(2, 2, 2, 1.0), (1, 2, 2, 0.5), (1, 1, 3, 0.5), (0, 2, 2, 0.0), (0, 0, 0, 0.0), (0, 0, 1, 0.0)],
)
def test_f1(correct: float, generated: int, reference: int, f1: float) -> None:
    assert f1_of(correct, generated, reference) == pytest.approx(f1)


def test_f1_counts_repeated_things() -> None:
    assert counted_f1(["a", "a", "b"], ["a", "b", "b"]) == pytest.approx(2 / 3)
    assert calls_f1({"plot": 3}, {"plot": 1, "bar": 1}) == pytest.approx(2 / 5)
    assert calls_f1({}, {"plot": 1}) == 0.0


def test_colours_are_matched_within_a_function() -> None:
    red, blue = "#FF0000", "#0000FF"
    assert colours_f1([("bar", red), ("bar", blue)], [("bar", blue), ("bar", red)]) == 1.0
    assert colours_f1([("bar", red)], [("line", red)]) == 0.0
    assert colours_f1([("bar", red), ("line", red)], [("line", red)]) == pytest.approx(2 / 3)


def test_of_many_colours_those_that_resemble_an_earlier_one_are_left_out() -> None:
    greys = [("line", f"#{n:02X}{n:02X}{n:02X}") for n in range(0, 240, 24)]
    assert distinct_colours(greys) == greys
    kept = distinct_colours([*greys, ("bar", "#010101")])
    assert kept[0] == greys[0]
    assert 1 < len(kept) < 5
    assert ("bar", "#010101") not in kept


def test_the_best_matching_is_the_best_of_all() -> None:
    draw = random.Random(0)
    for _ in range(40):
        first, second = ([f"#{draw.randrange(1 << 24):06X}" for _ in range(draw.randrange(6))] for _ in range(2))
        short, long = sorted((first, second), key=len)
        best = max(sum(map(similarity, short, order)) for order in itertools.permutations(long, len(short)))
        assert best_total(first, second) == pytest.approx(best)
