"""ScreenSpot's boxes in every form in which files hold them, and where a point must lie."""

from __future__ import annotations

import pytest

from snellen.benchmarks.perception.screenspot import Target, parse_target, to_common_layout
from snellen.core.errors import DataError
from snellen.core.sample import Row
from snellen.extract.points import Point

BOX = Target(20, 10, 60, 30, 200, 100)


def row(**cells: str) -> Row:
    return Row(0, {"instruction": "open it", "img_size": "[200, 100]", **cells})


@pytest.mark.parametrize(
    ("bbox", "pro"), [("[20, 10, 40, 20]", False), ("[20, 10, 60, 30]", True), ("[0.1, 0.1, 0.3, 0.3]", False)]
)
def test_every_form_of_a_box_is_the_same_gold(bbox: str, pro: bool) -> None:
    cells = to_common_layout(row(bbox=bbox), pro=pro).cells
    assert cells["question"] == "open it"
    assert parse_target(cells["answer"]) == pytest.approx(BOX)


def test_thousandths_are_those_of_the_picture() -> None:
    cells = to_common_layout(row(bbox="[20, 10, 40, 20]"), thousandths=True).cells
    assert parse_target(cells["answer"]) == pytest.approx(Target(100, 100, 300, 300, 1000, 1000))


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"bbox": "[20, 10, 190, 20]"}, "is not in the picture of 200x100 pixels"),
        ({"bbox": "[20, 10, 40]"}, "expected a list of 4 numbers"),
        ({"bbox": "left"}, "expected a list of 4 numbers"),
        ({"bbox": "[1, 1, 2, 2]", "img_size": "big"}, "img_size is 'big'"),
    ],
)
def test_refuses_invalid_box(cells: dict[str, str], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        to_common_layout(row(**cells))


def test_a_row_without_picture_and_size_is_refused() -> None:
    with pytest.raises(DataError, match="neither a picture nor its size"):
        to_common_layout(Row(0, {"instruction": "open it", "bbox": "[1, 1, 2, 2]"}))


def test_platform_and_element_make_a_cell() -> None:
    cells = to_common_layout(row(bbox="[20, 10, 40, 20]", data_source="android", data_type="icon")).cells
    assert cells["platform_element"] == "mobile/icon"


@pytest.mark.parametrize(
    ("point", "inside", "inside_by_a_pixel_less"),
    [
        (Point(0.2, 0.2), True, True),
        (Point(0.1, 0.1), True, True),
        (Point(0.3, 0.3), True, False),
        (Point(0.301, 0.2), False, False),
        (Point(0.2, 0.09), False, False),
    ],
)
def test_a_point_on_the_edge_counts(point: Point, inside: bool, inside_by_a_pixel_less: bool) -> None:
    assert BOX.contains(point) == inside
    assert BOX.contains(point, inset=1) == inside_by_a_pixel_less
