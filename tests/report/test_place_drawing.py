"""Places as drawings: in the coordinates of the original picture, and safe."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET

import pytest
from place_runs import ATTACK, WIDE, ellipse_mask, place_records

from snellen.core.arrays import np
from snellen.core.place import Box, Mask, Places, Point, Span
from snellen.report.elements import element_text
from snellen.report.place_drawing import PlaceDrawing, draw_places, outline_mask
from snellen.scoring.places.masks import mask_of_pixels, pixels_of_mask


def drawing_of(gold: Places, answer: Places | None = None) -> PlaceDrawing:
    found = draw_places([gold.text()], answer.text() if answer else None)
    assert found is not None
    return found


def parse(drawing: PlaceDrawing) -> ET.Element:
    return ET.fromstring(element_text(drawing.svg))


def test_a_box_stands_at_its_pixels() -> None:
    gold, answer = Places(boxes=(Box(10, 20, 30, 50),), extent=(100, 80)), Places(boxes=(Box(20, 20, 40, 50),))
    drawing = drawing_of(gold, answer)
    picture = parse(drawing)
    assert picture.get("viewBox") == "0 0 100 80"
    assert picture.get("aria-label") == "gold: box 10, 20 – 30, 50; answer: box 20, 20 – 40, 50"
    lines = [rect for rect in picture.iter("rect") if rect.get("class") == "line"]
    assert [[rect.get(name) for name in ("x", "y", "width", "height")] for rect in lines] == [
        ["10", "20", "20", "30"],
        ["20", "20", "20", "30"],
    ]
    assert [rect.get("stroke-dasharray") for rect in lines] == [None, "7 4"]
    assert [text.text for text in picture.iter("text")] == ["gold", "answer"]
    assert drawing.focus == (10, 20, 40, 50)
    assert drawing.overlap == pytest.approx(1 / 3)


def test_labels_are_text_and_named_in_full_by_titles() -> None:
    gold = Places(boxes=(Box(1, 2, 3, 4), Box(5, 6, 7, 8)), labels=(ATTACK, "a" * 99), extent=(10, 10))
    picture = parse(drawing_of(gold))
    assert {element.tag for element in picture.iter()} == {"svg", "g", "title", "rect", "text"}
    titles = [title.text for title in picture.iter("title")]
    assert titles == [f"gold: box 1, 2 – 3, 4 ({ATTACK})", f"gold: box 5, 6 – 7, 8 ({'a' * 99})"]
    assert max(len(text.text or "") for text in picture.iter("text")) == 24


def test_spans_stand_at_their_share_of_the_duration() -> None:
    gold, answer = Places(spans=(Span(1, 3),), extent=(10.0,)), Places(spans=(Span(2, 12),), extent=(10.0,))
    drawing = drawing_of(gold, answer)
    bars = [(rect.get("x"), rect.get("width")) for rect in parse(drawing).iter("rect")]
    assert bars == [("10.00%", "20.00%"), ("20.00%", "80.00%")]
    assert [text.text for text in parse(drawing).iter("text")] == ["gold 1 – 3 s", "answer 2 – 12 s", "0 s", "10 s"]
    assert drawing.overlap == pytest.approx(1 / 11)


def test_points_are_rings_and_crosses() -> None:
    drawing = drawing_of(Places(points=(Point(40, 40),), extent=(96, 96)), Places(points=(Point(50, 60),)))
    paths = [path.get("d", "") for path in parse(drawing).iter("path") if path.get("class") == "line"]
    assert "a2 2" in paths[0]
    assert paths[1] == "M48 58l4 4M48 62l4 -4"
    assert drawing.focus == (40, 40, 50, 60)
    assert drawing.overlap is None


def test_the_outline_encloses_exactly_the_pixels_of_a_mask() -> None:
    mask = ellipse_mask((50, 40), (5, 8, 30, 33))
    pixels = pixels_of_mask(mask)
    assert pixels.sum() == sum(mask.runs[1::2])
    assert area(outline_mask(mask)) == pixels.sum()
    rows, columns = np.nonzero(pixels)
    assert mask.bounds() == Box(columns.min(), rows.min(), columns.max() + 1, rows.max() + 1)


def area(path: str) -> int:
    """The area that a path of h and v steps encloses; holes count negative."""
    total = x = y = 0
    for kind, first, second in re.findall(r"([Mhv])(-?\d+)(?: (\d+))?", path):
        if kind == "M":
            x, y = int(first), int(second)
        elif kind == "h":
            total -= int(first) * y
            x += int(first)
        else:
            y += int(first)
    return total


def test_a_mask_with_a_hole_and_touching_corners() -> None:
    pixels = np.zeros((6, 7), dtype=bool)
    pixels[1:4, 1:4], pixels[2, 2], pixels[4, 4] = True, False, True
    mask = mask_of_pixels(pixels)
    assert area(outline_mask(mask)) == pixels.sum()
    assert Mask(3, 2, (6,)).bounds() == Box(0, 0, 0, 0)
    assert outline_mask(Mask(3, 2, (6,))) == ""


def test_an_answer_of_points_and_boxes_is_drawn_whole() -> None:
    answer = Places(points=(Point(1, 2),), boxes=(Box(0, 0, 3, 3),), extent=(10, 10))
    drawing = drawing_of(Places(boxes=(Box(0, 0, 1, 1),), extent=(10, 10)), answer)
    assert drawing.text == "gold: box 0, 0 – 1, 1; answer: 2 places: 0, 0 – 3, 3; 1, 2"
    assert len(parse(drawing).findall(".//title")) == len(answer) + 1


def test_outlines_of_large_masks_stay_small() -> None:
    mask = ellipse_mask((4000, 3000), (500, 500, 2500, 2500))
    path = outline_mask(mask)
    assert len(path) < 15_000
    assert area(path) == pytest.approx(sum(mask.runs[1::2]), rel=0.02)


@pytest.mark.parametrize(
    "gold",
    [
        "somewhere",
        Places(boxes=(Box(1, 2, 3, 4),)).text(),
        Places(masks=(Mask(4, 4, (3, 2)),), extent=(4, 4)).text(),
        Places(boxes=(Box(1, 2, 3, 4),), extent=(0, 0)).text(),
    ],
)
def test_what_cannot_be_placed_is_not_drawn(gold: str) -> None:
    assert draw_places([gold], None) is None


def test_every_made_record_is_drawn() -> None:
    for record, _ in place_records():
        drawing = draw_places(record.gold, record.answer)
        assert drawing is not None, record.id
        assert parse(drawing).get("role") == "img"
        assert drawing.extent in (WIDE, (160, 384), (96, 64), (1280, 960), (12.5,))
