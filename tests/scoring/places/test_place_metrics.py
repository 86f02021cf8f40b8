"""Metrics of places: by hand, against scipy's assignment, and against COCO's masks."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from snellen.core.errors import DataError, UnknownName
from snellen.core.place import Box, Mask, Places, Point, Span, box_iou, parse_space, runs_of_text
from snellen.scoring.places.masks import mask_of_pixels, pixels_of_mask, pixels_of_polygons
from snellen.scoring.places.matching import count_pairs
from snellen.scoring.places.metrics import grade_places, place_metric
from snellen.scoring.places.overlap import area_of, holds_point, region_iou, shared_area
from snellen.scoring.places.run_metrics import is_run_metric, metric_of_one

VERDICTS = json.loads((Path(__file__).parent / "coco_verdicts.json").read_text())
MASKS, POLYGONS = VERDICTS["masks"], VERDICTS["polygons"]
SQUARE = (Point(0, 0), Point(10, 0), Point(10, 10), Point(0, 10))
U_SHAPE = tuple(Point(*xy) for xy in ((0, 0), (9, 0), (9, 9), (6, 9), (6, 3), (3, 3), (3, 9), (0, 9)))


def boxes(*corners: Sequence[float], **more: object) -> Places:
    return Places(boxes=tuple(Box(*one) for one in corners), **more)  # type: ignore[arg-type]


def spans(*ends: Sequence[float]) -> Places:
    return Places(spans=tuple(Span(*one) for one in ends))


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (boxes((0, 0, 10, 10)), boxes((5, 0, 15, 10)), 1 / 3),
        (boxes((0, 0, 10, 10)), boxes((10, 0, 20, 10)), 0),
        (boxes((0, 0, 10, 10), (5, 5, 15, 15)), boxes((0, 0, 10, 10)), 100 / 175),
        (boxes((0, 0, 10, 10), (0, 0, 10, 10)), boxes((0, 0, 10, 5), (0, 5, 10, 10)), 1),
        (spans((0, 10)), spans((5, 20)), 5 / 20),
        (spans((0, 4), (6, 10)), spans((3, 7)), 2 / 10),
        (spans((0, 4)), spans((5, 7)), 0),
        (spans((3, 3)), spans((3, 3)), 0),
        (Places(polygons=(SQUARE,), extent=(20, 20)), boxes((0, 0, 10, 5)), 0.5),
        (Places(), boxes((0, 0, 10, 5), extent=(20, 20)), 0),
    ],
)
def test_overlap_of_regions(one: Places, other: Places, expected: float) -> None:
    assert region_iou(one, other) == pytest.approx(expected)
    assert region_iou(other, one) == pytest.approx(expected)


def test_union_of_boxes_is_that_of_their_pixels() -> None:
    draw = Random(5)
    for _ in range(50):
        sides = [[sorted(draw.sample(range(31), 2)) for _ in range(2)] for _ in range(4)]
        corners = [(left, top, right, bottom) for (left, right), (top, bottom) in sides]
        covered = np.zeros((30, 30), dtype=bool)
        for left, top, right, bottom in corners:
            covered[top:bottom, left:right] = True
        assert area_of(boxes(*corners)) == covered.sum()
        as_mask = Places(masks=(mask_of_pixels(covered),), extent=(30, 30))
        assert region_iou(as_mask, boxes(*corners)) == 1.0


@pytest.mark.parametrize("number", range(len(MASKS)))
def test_masks_are_those_of_coco(number: int) -> None:
    """Compressed texts, areas and IoU by cocodataset/cocoapi."""
    verdict = MASKS[number]
    height, width = verdict["size"]
    masks = [Mask(width, height, runs_of_text(text)) for text in verdict["texts"]]
    for mask, runs, area in zip(masks, verdict["runs"], verdict["areas"], strict=True):
        assert mask.runs == tuple(runs)
        assert pixels_of_mask(mask).sum() == area
        assert mask_of_pixels(pixels_of_mask(mask)) == mask
        rows, columns = np.nonzero(pixels_of_mask(mask))
        held = (columns.min(), rows.min(), columns.max() + 1, rows.max() + 1) if len(rows) else (0, 0, 0, 0)
        assert mask.bounds() == held
    one, other = (Places(masks=(mask,)) for mask in masks)
    assert region_iou(one, other) == pytest.approx(verdict["iou"], abs=1e-12)


@pytest.mark.parametrize("text", ["0a", "é", "P"])
def test_a_broken_compressed_text_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="no compressed run-length text"):
        runs_of_text(text + ("" if text == "P" else "\x00"))


def test_runs_that_do_not_fill_the_picture_are_refused() -> None:
    with pytest.raises(DataError, match="count 5 pixels; its picture of 2x3 has 6"):
        pixels_of_mask(Mask(2, 3, (2, 3)))


@pytest.mark.parametrize(
    ("place", "point", "expected"),
    [
        (Box(0, 0, 10, 10), (10, 10), True),
        (Box(0, 0, 10, 10), (10.01, 5), False),
        (SQUARE, (0, 5), True),
        (SQUARE, (10, 10), True),
        (SQUARE, (5, 5), True),
        (SQUARE, (-0.1, 5), False),
        (U_SHAPE, (4.5, 5), False),
        (U_SHAPE, (7, 5), True),
        (U_SHAPE, (4.5, 3), True),
        (Mask(2, 2, (2, 2)), (1.5, 0.5), True),
        (Mask(2, 2, (2, 2)), (0.9, 0.5), False),
        (Mask(2, 2, (2, 2)), (2, 2), True),
        (Mask(2, 2, (2, 2)), (2.1, 2), False),
    ],
)
def test_points_in_places(place: Box, point: tuple[float, float], expected: bool) -> None:
    assert holds_point(place, Point(*point)) is expected


def test_a_point_on_an_edge_is_inside_for_all_that_fractions_cost() -> None:
    extent = (100.0, 100.0)
    edge, pixel = (parse_space("fractions").read_point((x, 0.05), extent) for x in (0.07, 0.29))
    assert edge.x > 7
    assert pixel.x < 29
    assert holds_point(Box(0, 0, 7, 7), edge)
    assert holds_point(Mask(100, 100, (2900, 100, 7000)), pixel)


def test_points_in_a_mask_are_those_of_its_pixels() -> None:
    pixels = np.array([[1, 0, 1, 1], [0, 0, 1, 0], [1, 1, 0, 0]], dtype=bool)
    for shown in (pixels, ~pixels, pixels | True, pixels & False):
        mask = mask_of_pixels(shown)
        held = [[holds_point(mask, Point(x + 0.5, y)) for x in range(4)] for y in range(3)]
        assert held == shown.tolist()


def test_polygons_as_pixels_are_those_whose_centres_they_hold() -> None:
    draw = Random(3)
    for _ in range(20):
        polygon = tuple(Point(draw.uniform(-3, 25), draw.uniform(-3, 25)) for _ in range(draw.randint(3, 8)))
        pixels = pixels_of_polygons([polygon], 22, 20)
        by_point = [[holds_point(polygon, Point(x + 0.5, y + 0.5)) for x in range(22)] for y in range(20)]
        assert (pixels == np.array(by_point)).all()


def test_pairs_are_as_many_as_the_best_assignment_finds() -> None:
    draw = Random(11)
    for _ in range(200):
        sides = [[draw.uniform(0, 30) for _ in range(4)] for _ in range(draw.randint(0, 7) + draw.randint(0, 7))]
        every = [(min(a, c), min(b, d), max(a, c), max(b, d)) for a, b, c, d in sides]
        cut = draw.randint(0, len(every))
        names = [draw.choice("ab") for _ in every]
        predicted = boxes(*every[:cut], labels=tuple(names[:cut]))
        gold = boxes(*every[cut:], labels=tuple(names[cut:]))
        for threshold in (0.1, 0.3):
            reach = [
                [box_iou(one, other) >= threshold and a == b for other, b in zip(every[cut:], names[cut:], strict=True)]
                for one, a in zip(every[:cut], names[:cut], strict=True)
            ]
            allowed = np.array(reach, dtype=float).reshape(cut, len(every) - cut)
            rows, columns = linear_sum_assignment(-allowed)
            found = count_pairs(predicted, gold, threshold)
            assert found.pairs == allowed[rows, columns].sum()
            assert (found.predicted, found.gold) == (cut, len(every) - cut)


def test_precision_recall_and_f1() -> None:
    found = count_pairs(boxes((0, 0, 10, 10), (50, 50, 60, 60)), boxes((0, 0, 10, 9)), 0.5)
    assert (found.precision, found.recall, found.f1) == (0.5, 1.0, pytest.approx(2 / 3))
    nothing = count_pairs(Places(), Places(), 0.5)
    assert (nothing.precision, nothing.recall, nothing.f1) == (1, 1, 1)
    missed = count_pairs(Places(), boxes((0, 0, 1, 1)), 0.5)
    assert (missed.precision, missed.recall, missed.f1) == (0, 0, 0)


def test_labels_are_equal_but_for_case_and_a_missing_one_has_no_partner() -> None:
    gold = boxes((0, 0, 10, 10), labels=("Dog",))
    assert count_pairs(boxes((0, 0, 10, 10), labels=(" dog",)), gold, 0.5).pairs == 1
    assert count_pairs(boxes((0, 0, 10, 10), labels=("cat",)), gold, 0.5).pairs == 0
    assert count_pairs(boxes((0, 0, 10, 10)), gold, 0.5).pairs == 0
    assert count_pairs(boxes((0, 0, 10, 10), labels=("cat",)), boxes((0, 0, 10, 10)), 0.5).pairs == 1


POINTS = Places(points=(Point(1, 1), Point(50, 50)), extent=(30, 40))


@pytest.mark.parametrize(
    ("name", "predicted", "gold", "expected"),
    [
        ("iou", boxes((0, 0, 10, 10)), boxes((5, 0, 15, 10)), round(1 / 3, 9)),
        ("iou@0.33", boxes((0, 0, 10, 10)), boxes((5, 0, 15, 10)), 1),
        ("iou@0.34", boxes((0, 0, 10, 10)), boxes((5, 0, 15, 10)), 0),
        ("iou@0.5", boxes((0, 0, 10, 5)), boxes((0, 0, 10, 10)), 1),
        ("r1@0.5", spans((0, 1), (5, 9)), spans((5, 9)), 0),
        ("r5@0.5", spans((0, 1), (5, 9)), spans((5, 9)), 1),
        ("inside", POINTS, boxes((0, 0, 2, 2)), 0.5),
        ("inside", boxes((0, 0, 2, 2)), boxes((1, 1, 9, 9)), 1),
        ("inside", Places(), boxes((1, 1, 9, 9)), 0),
        ("inside", POINTS, Places(masks=(Mask(60, 60, (0, 60 * 60)),)), 1),
        ("closeness", POINTS, Places(points=(Point(1, 26),), extent=(30, 40)), 0.5),
        ("closeness", Places(), POINTS, 0),
        ("f1@0.9", POINTS, Places(points=(Point(2, 1),), extent=(30, 40)), round(2 / 3, 9)),
        ("precision@0.5", POINTS, boxes((0, 0, 2, 2)), 0.5),
        ("recall@0.5", POINTS, boxes((0, 0, 2, 2)), 1),
        ("count", POINTS, boxes((0, 0, 2, 2), (0, 0, 1, 1)), 1),
        ("count", Places(), POINTS, 0),
        ("count_closeness", POINTS, Places(points=(Point(0, 0),) * 3), round(2 / 3, 9)),
        ("count_closeness", Places(points=(Point(0, 0),) * 9), POINTS, 0),
    ],
)
def test_named_metrics(name: str, predicted: Places, gold: Places, expected: float) -> None:
    assert grade_places(place_metric(name), predicted.text(), [gold.text()]) == expected


def test_the_best_of_several_gold_answers_counts() -> None:
    golds = [boxes((50, 50, 60, 60)).text(), boxes((0, 0, 10, 10)).text()]
    assert grade_places(place_metric("iou"), boxes((0, 0, 10, 10)).text(), golds) == 1


@pytest.mark.parametrize("name", ["iou", "iou@0.5", "r1@0.5", "closeness", "f1@0.5", "inside", "count"])
def test_where_nothing_is_there_a_reply_without_places_is_right(name: str) -> None:
    nothing = Places(extent=(10, 10)).text()
    assert grade_places(place_metric(name), nothing, [nothing]) == 1
    for said in (boxes((0, 0, 1, 1)), Places(points=(Point(1, 1),))):
        assert grade_places(place_metric(name), said.text(), [nothing]) == 0


@pytest.mark.parametrize("name", ["iou@2", "iou@", "f1", "accuracy", "r0@0.5", "map@0.5"])
def test_an_unknown_metric_is_refused_with_those_that_exist(name: str) -> None:
    with pytest.raises(UnknownName, match=r"metric of places"):
        metric_of_one(name)


def test_metrics_of_a_run_have_a_score_of_one_picture() -> None:
    assert [metric_of_one(name) for name in ("map", "map_micro", "ap@0.5", "f1_micro@0.3", "iou")] == [
        "f1@0.5",
        "f1@0.5",
        "f1@0.5",
        "f1@0.3",
        "iou",
    ]
    assert not is_run_metric("f1@0.5")
    assert is_run_metric("recall_micro@0.5")


def test_distance_of_points_needs_the_size_of_the_picture() -> None:
    with pytest.raises(DataError, match="width and height, which are unknown"):
        place_metric("closeness")(Places(points=(Point(1, 1),)), Places(points=(Point(1, 1),)))
    assert math.isclose(place_metric("closeness")(POINTS, POINTS), 1)


def test_polygons_are_those_of_coco_but_for_pixels_of_the_edge() -> None:
    """COCO paints polygons on a grid five times as fine, by its own rounding: here a pixel belongs to a polygon
    that holds its centre. The areas differ by at most half of the outline, the IoU by few hundredths."""
    differences = []
    for verdict in POLYGONS:
        height, width = verdict["size"]
        corners = [tuple(map(Point, one[0::2], one[1::2])) for one in verdict["polygons"]]
        one, other = (Places(polygons=(polygon,), extent=(width, height)) for polygon in corners)
        for polygon, area in zip(corners, verdict["areas"], strict=True):
            outline = sum(math.dist(*pair) for pair in zip(polygon, (*polygon[1:], polygon[0]), strict=True))
            assert abs(pixels_of_polygons([polygon], width, height).sum() - area) <= outline / 2
        differences.append(region_iou(one, other) - verdict["iou"])
        mask = Places(masks=(mask_of_pixels(pixels_of_polygons([corners[1]], width, height)),), extent=(width, height))
        assert region_iou(one, mask) == region_iou(one, other)
    assert max(map(abs, differences)) < 0.03
    assert abs(float(np.mean(differences))) < 0.01


def test_shared_area_is_that_of_unions() -> None:
    assert shared_area(boxes((0, 0, 10, 10)), boxes((5, 0, 15, 10), (5, 0, 15, 10))) == (50, 150)
    assert shared_area(spans((0, 4)), spans((2, 6), (8, 9))) == (2, 7)
    assert shared_area(Places(), boxes((0, 0, 2, 2))) == (0, 4)
    square = Places(polygons=(SQUARE,), extent=(20, 20))
    assert shared_area(square, boxes((5, 0, 15, 10))) == (50, 150)
