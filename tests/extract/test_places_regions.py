"""Polygons and masks as models print them. The replies are our own, in the forms of the sources that the
comments name."""

from __future__ import annotations

import json

import pytest

from snellen.core.output import Answer, Misplaced, ParsedAnswer, Truncated
from snellen.core.place import Mask, Places, Point, load_places, parse_space, write_places
from snellen.core.sample import Sample
from snellen.extract.places.read import parse_places

EXTENT = (100, 50)
TRIANGLE = (Point(10, 10), Point(30, 10), Point(30, 20))
"""In thousandths [100, 200], [300, 200], [300, 400]."""
SQUARE = (Point(50, 5), Point(60, 5), Point(60, 15), Point(50, 15))


def read(
    text: str, space: str = "thousandths", *, count: int | None = 1, stop: str = "stop", shape: str = "polygon"
) -> Answer:
    sample = Sample("1", "place", "Where?", extent=EXTENT)
    return parse_places(text, stop, sample, (), shape=shape, count=count, space=parse_space(space))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("[[100, 200], [300, 200], [300, 400]]", "thousandths"),
        ("[100, 200, 300, 200, 300, 400]", "thousandths"),
        ("[(0.1, 0.2), (0.3, 0.2), (0.3, 0.4)]", "fractions"),
        ('```json\n[{"polygon": [[100, 200], [300, 200], [300, 400]], "label": "cat"}]\n```', "thousandths"),
        ('{"segmentation": [[10, 10, 30, 10, 30, 20]]}', "pixels"),
        ('{"points": [{"x": 10, "y": 10}, {"x": 30, "y": 10}, {"x": 30, "y": 20}]}', "pixels"),
        ("The outline is (200, 100), (200, 300), (400, 300).", "thousandths-yx"),
        # microsoft/Florence-2, <REFERRING_EXPRESSION_SEGMENTATION>
        ("<poly><loc_100><loc_200><loc_300><loc_200><loc_300><loc_400></poly>", "thousandths"),
        ("<think>[[1, 2], [3, 4], [9, 9]]</think><answer>[[100,200],[300,200],[300,400]]</answer>", "thousandths"),
    ],
)
def test_polygons_are_read(text: str, space: str) -> None:
    for shape in ("polygon", "mask"):
        answer = read(text, space, shape=shape)
        assert isinstance(answer, ParsedAnswer), answer
        places = load_places(answer.value)
        assert [tuple(map(tuple, one)) for one in places.polygons] == [tuple(map(tuple, TRIANGLE))]
        assert places.extent == EXTENT


def test_parts_of_one_object_and_several_objects() -> None:
    both = "[[[100, 200], [300, 200], [300, 400]], [[500, 100], [600, 100], [600, 300], [500, 300]]]"
    answer = read(both)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).polygons == (TRIANGLE, SQUARE)
    labelled = (
        '[{"polygon": [[100, 200], [300, 200], [300, 400]], "label": "cat"}, '
        '{"polygon": [[500, 100], [600, 100], [600, 300], [500, 300]], "label": "dog"}]'
    )
    answer = read(labelled, count=None)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).labels == ("cat", "dog")
    other = read(labelled, count=3)
    assert isinstance(other, Misplaced)
    assert other.problem == "other_count"


RUNS = (500, 100, 4400)
"""Columns 10 and 11 of the picture."""


@pytest.mark.parametrize(
    ("text", "labels"),
    [
        (json.dumps({"size": [50, 100], "counts": RUNS}), ()),
        ("{'size': [50, 100], 'counts': [500, 100, 4400]}", ()),
        # compressed by pycocotools
        ('```json\n[{"mask": {"size": [50, 100], "counts": "d?T3`Y4"}, "label": "pole"}]\n```', ("pole",)),
    ],
)
def test_run_lengths_are_read(text: str, labels: tuple[str, ...]) -> None:
    for shape in ("polygon", "mask"):
        answer = read(text, shape=shape)
        assert isinstance(answer, ParsedAnswer), answer
        places = load_places(answer.value)
        assert (places.masks, places.labels) == ((Mask(100, 50, RUNS),), labels)
        assert answer.rule == "run lengths"


def test_a_grid_of_labels_is_read() -> None:
    # mc-lan/Text4Seg, ms-swift/text4seg/demo.py: rows of "label *count", most of 16 x 16 cells
    answer = read("<seg>others *4\n others *1| black dog *2| others *1</seg>", shape="mask")
    assert isinstance(answer, ParsedAnswer), answer
    places = load_places(answer.value)
    assert places.labels == ("black dog",)
    assert places.masks == (Mask(100, 50, (1275, *(25, 25) * 49, 25, 1250)),)
    assert places.masks[0].bounds() == (25, 25, 75, 50)


@pytest.mark.parametrize(
    ("text", "problem", "rule"),
    [
        ("[[100, 200], [300, 200]]", "malformed_place", "brackets, not three points or more"),
        ('{"bbox_2d": [100, 200, 300, 400]}', "malformed_place", "key bbox_2d, not three points or more"),
        ("[100, 200, 300, 200, 300, 400, 7]", "malformed_place", "brackets, not three points or more"),
        ("[[100, 200], [NaN, 200], [300, 400]]", "malformed_place", "brackets, no finite number"),
        ('{"size": [50, 100], "counts": [1, 2]}', "malformed_place", "run lengths, without pixels of its own"),
        ('{"size": [50, 100], "counts": "~~"}', "malformed_place", "run lengths, without pixels of its own"),
        ('{"size": [2, 2], "counts": [1, 3]}', "other_space", "run lengths"),
        ("<seg>others *4\n others *1| dog</seg>", "malformed_place", "grid of labels, without pixels of its own"),
        ("<seg>others *4\n others *3</seg>", "malformed_place", "grid of labels, without pixels of its own"),
        # google-research/big_vision, PaliGemma: codes of its own decoder
        ("<loc0100><loc0200><loc0300><loc0400><seg012><seg013> cat", "malformed_place",
         "segmentation tokens, without pixels of its own"),
        ("[[0.1, 0.2], [0.3, 0.2], [0.3, 0.4]]", "other_space", "brackets"),
        ("[[100, 200], [300, 200], [300, 1400]]", "outside", "brackets"),
        ("[]", "other_count", "no place"),
    ],
)  # fmt: skip
def test_what_is_no_region_is_named(text: str, problem: str, rule: str) -> None:
    answer = read(text)
    assert isinstance(answer, Misplaced), answer
    assert (answer.problem, answer.rule) == (problem, rule)


@pytest.mark.parametrize(
    "text",
    ["[[100, 200], [300, 200], [300, 400], [2", "[[100, 200], [300, 200], [300, 400],", '{"size": [50, 100], "coun'],
)
def test_a_cut_region_is_cut(text: str) -> None:
    assert isinstance(read(text, stop="length"), Truncated)
    whole = read("[[100, 200], [300, 200], [300, 400]]", stop="length")
    assert isinstance(whole, ParsedAnswer)


@pytest.mark.parametrize("space", ["pixels", "thousandths", "fractions", "percent-yx"])
def test_regions_written_in_a_space_are_read_back(space: str) -> None:
    for places in (
        Places(polygons=(TRIANGLE,), extent=EXTENT),
        Places(polygons=(TRIANGLE, SQUARE), labels=("cat", "dog"), extent=EXTENT),
        Places(masks=(Mask(100, 50, RUNS),), extent=EXTENT),
    ):
        answer = read(write_places(places, parse_space(space)), space, count=None)
        assert isinstance(answer, ParsedAnswer), answer
        found = load_places(answer.value)
        assert (found.masks, found.labels) == (places.masks, places.labels)
        for one, other in zip(found.polygons, places.polygons, strict=True):
            assert [tuple(point) for point in one] == [pytest.approx(tuple(point)) for point in other]
