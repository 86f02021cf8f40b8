"""Places as people read them."""

import pytest

from snellen.core.answer_text import answer_text, answer_texts, places_text
from snellen.core.place import Box, Mask, Places, Point, Span

SQUARE = (Point(0, 0), Point(4, 0), Point(4, 4), Point(0, 4))


@pytest.mark.parametrize(
    ("places", "text"),
    [
        (Places(boxes=(Box(12, 30, 80, 96),)), "box 12, 30 – 80, 96"),
        (Places(boxes=(Box(12.04, 30.26, 80, 96.5),), labels=("cup",)), "box 12, 30.3 – 80, 96.5 (cup)"),
        (Places(points=(Point(1, 2), Point(3.5, 4))), "2 points: 1, 2; 3.5, 4"),
        (
            Places(points=tuple(Point(n, n) for n in range(9))),
            "9 points: 0, 0; 1, 1; 2, 2; 3, 3; 4, 4; 5, 5; and 3 more",
        ),
        (Places(spans=(Span(1.5, 4),)), "span 1.5 – 4 s"),
        (Places(polygons=(SQUARE,)), "polygon of 4 corners in 0, 0 – 4, 4"),
        (Places(polygons=((),)), "polygon without corners"),
        (Places(masks=(Mask(4, 2, (3, 2, 3)),)), "mask of 2 pixels"),
        (Places(extent=(10, 10)), "no place"),
        (Places(boxes=(Box(1, 2, 3, 4), Box(5, 6, 7, 8)), labels=("a",)), "2 boxes: 1, 2 – 3, 4; 5, 6 – 7, 8"),
    ],
)
def test_places_in_words(places: Places, text: str) -> None:
    assert places_text(places) == text
    assert answer_text(places.text(), "place") == text


def test_answers_of_other_kinds_and_texts_that_name_no_places_stay() -> None:
    gold = Places(boxes=(Box(1, 2, 3, 4),)).text()
    assert answer_text(gold, "open") == gold
    assert answer_text("A", "choice") == "A"
    assert answer_texts(("somewhere", gold), "place") == ("somewhere", "box 1, 2 – 3, 4")


def test_records_are_named_field_by_field_and_pages_as_markdown() -> None:
    assert answer_text('{"a":1,"b":[{"c":"x"},{"c":null}],"d":{}}', "fields") == "a: 1; b[].c: x"
    assert answer_text('["x", "y"]', "fields") == "[]: x; []: y"
    assert answer_text("{}", "fields") == "no field"
    assert answer_text("no JSON", "fields") == "no JSON"
    assert answer_text('[{"text":"Title","category":"title"},{"text":"Text."}]', "page") == "# Title\n\nText."
    assert answer_text("[see below]", "page") == "[see below]"
