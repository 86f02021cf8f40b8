"""Which questions are about the same picture, in every layout that MME comes in."""

from __future__ import annotations

from collections import Counter

import pytest

from snellen.benchmarks.abilities.eyechart import BENCHMARK as eyechart
from snellen.benchmarks.declaration.rows import add_yes_no_pair, pair_names
from snellen.core.benchmark import Variant
from snellen.core.media import InlineSource
from snellen.core.sample import MediaRef, Row, Sample


def rows(*cells: dict[str, str], pictures: tuple[str, ...] = ()) -> list[Row]:
    media = [(MediaRef(name, InlineSource(b"")),) for name in pictures] or [()] * len(cells)
    return [Row(number, one, media[number]) for number, one in enumerate(cells)]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (rows({"image_path": "a"}, {"image_path": "b"}, {"image_path": "a"}), ["s/a", "s/b", "s/a"]),
        (rows({"image": "a.jpg"}, {"image": "a.jpg"}), ["s/a.jpg", "s/a.jpg"]),
        (rows({"question_id": "x"}, {"question_id": "x"}, pictures=("1", "2")), ["s/x", "s/x"]),
        (rows({"question_id": "1"}, {"question_id": "2"}, pictures=("p", "p")), ["s/p", "s/p"]),
        (rows({}, {"image": "0"}, pictures=("p", "p")), ["s/p", "s/p"]),
        (rows({}, {}, {}, {}), ["s", "s", "s#2", "s#2"]),
        (rows({"image": "a"}, {"image": "b"}), ["s/a", "s/b"]),
        (rows(*[{"image": "a"}] * 4), ["s/a", "s/a", "s/a#2", "s/a#2"]),
    ],
)
def test_names_of_pairs(found: list[Row], expected: list[str]) -> None:
    assert pair_names(found, ["s"] * len(found)) == expected


def test_a_picture_of_two_subtasks_is_two_pairs() -> None:
    found = rows(*[{"image": "a"}] * 4)
    assert pair_names(found, ["x", "x", "y", "y"]) == ["x/a", "x/a", "y/a", "y/a"]


def test_the_pairs_of_the_eyechart_are_units() -> None:
    chosen = eyechart(Variant())
    held = Counter(sample.unit for sample in chosen.samples(chosen.open()) if sample.unit)
    assert len(held) > 50
    assert set(held.values()) == {2}


def test_only_yes_no_questions_about_pictures_become_units() -> None:
    picture = (MediaRef("p", InlineSource(b"")),)
    given = [
        Sample("1", "yes_no", "q", media=picture, groups={"category": "c"}),
        Sample("2", "yes_no", "q", media=picture, groups={"category": "c"}),
        Sample("3", "choice", "q", media=picture, groups={"category": "c"}),
        Sample("4", "yes_no", "q"),
    ]
    assert [add_yes_no_pair(sample, Row(0, {})).unit for sample in given] == ["c/p", "c/p", "", ""]
