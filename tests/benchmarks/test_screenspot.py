"""ScreenSpot's boxes in every form in which files hold them, where a point must lie, and the space in
which it is asked for and read."""

from __future__ import annotations

import io

import pytest
from PIL import Image

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.places.screenspot import add_extent, grade_inset, to_common_layout
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.core.media import InlineSource, digest_bytes
from snellen.core.output import Generated
from snellen.core.place import Box, Places, Point, load_places
from snellen.core.record import Record
from snellen.core.request import Generate
from snellen.core.sample import MediaRef, Row, Sample
from snellen.scoring.places.metrics import inside

GOLD = Places(boxes=(Box(20, 10, 60, 30),), extent=(200, 100))


def row(**cells: str) -> Row:
    return Row(0, {"instruction": "open it", "img_size": "[200, 100]", **cells})


@pytest.mark.parametrize(
    ("bbox", "pro"), [("[20, 10, 40, 20]", False), ("[20, 10, 60, 30]", True), ("[0.1, 0.1, 0.3, 0.3]", False)]
)
def test_every_form_of_a_box_is_the_same_gold(bbox: str, pro: bool) -> None:
    cells = to_common_layout(row(bbox=bbox), pro=pro).cells
    assert cells["question"] == "open it"
    gold = load_places(cells["answer"])
    assert gold.boxes[0] == pytest.approx(GOLD.boxes[0])
    assert add_extent(Sample("1", "place", "?", gold=(cells["answer"],)), row()).extent == (200, 100)


def test_a_picture_that_is_turned_has_its_upright_size() -> None:
    exif, buffer = Image.Exif(), io.BytesIO()
    exif[0x0112] = 6
    Image.new("RGB", (40, 30)).save(buffer, "JPEG", exif=exif)
    data = buffer.getvalue()
    turned = Row(0, {"bbox": "[1, 1, 20, 38]"}, (MediaRef(digest_bytes(data), InlineSource(data)),))
    assert load_places(to_common_layout(turned, pro=True).cells["answer"]).extent == (30, 40)


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
    ("point", "is_inside", "inside_by_a_pixel_less"),
    [
        (Point(40, 20), True, True),
        (Point(20, 10), True, True),
        (Point(60, 30), True, False),
        (Point(60.2, 20), False, False),
        (Point(40, 9), False, False),
    ],
)
def test_a_point_on_the_edge_counts(point: Point, is_inside: bool, inside_by_a_pixel_less: bool) -> None:
    places = Places(points=(point,))
    assert inside(places, GOLD) == is_inside
    assert grade_inset(places.text(), Sample("1", "place", "?", gold=(GOLD.text(),))) == inside_by_a_pixel_less


def ask(coordinates: str, reply: str) -> tuple[str, Record]:
    """The prompt of one question, and its record with this reply."""
    benchmark = open_benchmark(f"screenspot:coordinates={coordinates}", Variant(data=None))
    sample = Sample("1", "place", "open it", gold=(GOLD.text(),), extent=(200, 100), space=coordinates)
    flow = benchmark.flow(sample)
    request = next(flow)
    assert isinstance(request, Generate)
    with pytest.raises(StopIteration) as done:
        flow.send(Generated(reply))
    return request.messages[0].text(), done.value.value


@pytest.mark.parametrize(
    ("coordinates", "reply", "outcome", "score"),
    [
        ("fractions", "pyautogui.click(x=0.2, y=0.2)", "answered", 1.0),
        ("fractions", "pyautogui.click(x=0.8, y=0.2)", "answered", 0.0),
        # Version 2 took these for pixels.
        ("fractions", "pyautogui.click(x=40, y=20)", "other_space", 0.0),
        ("pixels", "pyautogui.click(x=40, y=20)", "answered", 1.0),
        ("thousandths", "<box>(150,150),(250,250)</box>", "answered", 1.0),
        ("thousandths-yx", "[200, 150]", "answered", 1.0),
        ("thousandths", "(200, 150), (1, 1), (2, 2)", "other_count", 0.0),
        ("percent", "The upper left corner", "unparsed", 0.0),
    ],
)
def test_a_reply_is_read_in_the_space_that_is_asked_for(
    coordinates: str, reply: str, outcome: str, score: float
) -> None:
    prompt, record = ask(coordinates, reply)
    assert (record.outcome, record.score) == (outcome, score)
    assert ("[y, x]" in prompt) == coordinates.endswith("yx")
