"""How replies are no answer: another space, malformed, outside of the picture, another count."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import DataError
from snellen.core.output import Answer, Empty, Misplaced, ParsedAnswer, Refused, Truncated, Unparsed
from snellen.core.place import Box, BoxForm, Order, PlaceShape, Point, Space, Unit, load_places, parse_space
from snellen.core.sample import Sample
from snellen.extract.places.read import parse_places

EXTENT = (1600, 800)


def read(
    text: str,
    space: str = "thousandths",
    *,
    shape: PlaceShape = "box",
    count: int | None = 1,
    stop: str = "stop",
    extent: tuple[float, ...] = EXTENT,
    sent: tuple[tuple[float, ...], ...] = (),
) -> Answer:
    sample = Sample("1", "place", "Where?", extent=extent)
    return parse_places(text, stop, sample, sent, shape=shape, count=count, space=parse_space(space))


OTHER_SPACE = (
    ("[0.1, 0.2, 0.3, 0.5]", "thousandths"),
    ("[0.1, 0.2, 0.3, 0.5]", "pixels"),
    ("[0.1, 0.2, 0.3, 0.5]", "percent"),
    ("[0.1, 0.2, 0.3, 0.5]", "bins"),
    ("[0, 0, 1, 0.5]", "sent-pixels"),
    ("[-0.1, 0.2, 0.3, 1.2]", "thousandths"),
    ("[100, 200, 300, 500]", "fractions"),
    ("[10, 20, 30, 50]", "fractions"),
    ("[100, 200, 1300, 700]", "thousandths"),
    ("[100, 200, 300, 500]", "percent"),
    ("[10%, 20%, 30%, 50%]", "thousandths"),
    ("[10%, 20%, 30%, 50%]", "pixels"),
    ("[10 %, 20 %, 30 %, 50 %]", "thousandths"),
    ("[10px, 20px, 30px, 50px]", "thousandths"),
    ("[10 PX, 20 PX, 30 PX, 50 PX]", "thousandths"),
    ("[10pixels, 20pixels, 30pixels, 50pixels]", "thousandths"),
    ('{"box_2d": [100, 200, 300, 500]}', "thousandths"),
    ("<box>(100,200),(300,500)</box>", "pixels"),
    ("<box>(100,200),(300,500)</box>", "sent-pixels"),
    ("<loc0256><loc0128><loc0512><loc0640> cat", "thousandths"),
    ("<loc0256><loc0128><loc0512><loc0640> cat", "bins"),
    ("cat<loc_100><loc_200><loc_300><loc_500>", "percent"),
    ("cat<loc_100><loc_200><loc_300><loc_500>", "thousandths-yx"),
    ("{<10><20><30><50>}", "thousandths"),
)


@pytest.mark.parametrize(("text", "space"), OTHER_SPACE)
def test_other_space_is_never_read(text: str, space: str) -> None:
    answer = read(text, space)
    assert isinstance(answer, Misplaced)
    assert answer.problem == "other_space"
    assert answer.span is not None
    assert answer.value == text[slice(*answer.span)]


def test_pixels_of_the_other_size_are_another_space() -> None:
    sent = ((800, 400),)
    far = read("[900, 100, 1500, 300]", "sent-pixels", sent=sent)
    assert isinstance(far, Misplaced)
    assert far.problem == "other_space"
    near = read("[90, 100, 150, 300]", "sent-pixels", sent=sent)
    assert isinstance(near, ParsedAnswer)
    assert load_places(near.value).boxes == (Box(180, 200, 300, 600),)
    enlarged = read("[100, 100, 2000, 300]", "pixels", sent=((3200, 1600),))
    assert isinstance(enlarged, Misplaced)
    assert enlarged.problem == "other_space"


MALFORMED = (
    ("[NaN, 200, 300, 500]", "box"),
    ('{"bbox_2d": [100, 200, Infinity, 500]}', "box"),
    (f"[1, 2, 3, {'9' * 400}]", "box"),
    ("[300, 200, 100, 500]", "box"),
    ("[100, 500, 300, 200]", "box"),
    ('{"bbox_2d": [100, 200, 300]}', "box"),
    ('{"bbox_2d": [100, 200, 300, 400, 500]}', "box"),
    ("[1, 2, 3]", "point"),
    ('{"bbox_2d": [7]}', "box"),
    ("(100, 200)", "box"),
    ('{"point_2d": [100, 200]}', "box"),
    ("<bbox>100 200 300</bbox>", "box"),
    ("<loc_100><loc_200><loc_300>", "box"),
)


@pytest.mark.parametrize(("text", "shape"), MALFORMED)
def test_no_place_is_malformed(text: str, shape: PlaceShape) -> None:
    answer = read(text, shape=shape)
    assert isinstance(answer, Misplaced)
    assert answer.problem == "malformed_place"


@pytest.mark.parametrize(
    ("text", "space"),
    [
        ("[-50, 200, 300, 500]", "thousandths"),
        ("[100, 200, 300, 1700]", "thousandths"),
        ("[100, 200, 1700, 500]", "pixels"),
        ("[0.1, 0.2, 0.3, 1.2]", "fractions"),
        ("[-0.2, 0.2, 0.3, 0.5]", "fractions"),
        ("[800, 800, 400, 400]", "thousandths-corner-size"),
    ],
)
def test_beyond_the_picture_is_outside(text: str, space: str) -> None:
    answer = read(text, space)
    assert isinstance(answer, Misplaced)
    assert answer.problem == "outside"


@pytest.mark.parametrize("text", ["[0, 0, 1005, 1000]", "[-5, -5, 1000, 1009]"])
def test_a_hundredth_beyond_is_allowed(text: str) -> None:
    assert isinstance(read(text), ParsedAnswer)


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ('[{"bbox_2d": [1, 2, 3, 4]}, {"bbox_2d": [5, 6, 7, 8]}]', 1),
        ("[[1, 2, 3, 4], [5, 6, 7, 8]]", 1),
        ("<ref>cat</ref><box>[[1,2,3,4]]</box><ref>dog</ref><box>[[5,6,7,8]]</box>", 1),
        ("[[1, 2, 3, 4], [5, 6, 7, 8]]", 3),
        ("[1, 2, 3, 4] and [5, 6, 7, 8]", 1),
        ("[1, 2, 3, 4]", 2),
        ("[]", 1),
        ('{"bbox_2d": null}', 1),
        ("There is no such object in the picture.", 1),
    ],
)
def test_other_count(text: str, count: int) -> None:
    answer = read(text, count=count)
    assert isinstance(answer, Misplaced)
    assert answer.problem == "other_count"


@pytest.mark.parametrize("text", ["(1, 2), (3, 4), (5, 6)", "[[1, 2]], [[3, 4]]"])
def test_several_points_for_one_are_another_count(text: str) -> None:
    answer = read(text, shape="point")
    assert isinstance(answer, Misplaced)
    assert answer.problem == "other_count"


def test_last_answer_of_the_asked_count_counts() -> None:
    text = "Draft: [[9, 9, 9, 9]]. Better: [[1, 2, 3, 4], [5, 6, 7, 8]]."
    for asked in (2, None):
        answer = read(text, "pixels", count=asked)
        assert isinstance(answer, ParsedAnswer)
        assert len(load_places(answer.value)) == (2 if asked else 3)


@pytest.mark.parametrize(
    "text",
    ["[]", "```json\n[]\n```", '{"bbox_2d": null}', '{"objects": []}', "None", "There are no cats in the image.",
     "There is no such object.", "The target is not visible.", "没有找到目标。", "<answer>[]</answer>"],
)  # fmt: skip
def test_none_is_an_answer_where_any_number_is_asked(text: str) -> None:
    answer = read(text, count=None)
    assert isinstance(answer, ParsedAnswer)
    assert len(load_places(answer.value)) == 0
    assert load_places(answer.value).extent == EXTENT


def test_bad_places_among_others_are_left_out() -> None:
    text = '[{"bbox_2d": [1, 2, 3, 4]}, {"bbox_2d": [7, 7, 5, 5]}, {"bbox_2d": [1, 2, 3, 9000]}]'
    answer = read(text, "pixels", count=None)
    assert isinstance(answer, ParsedAnswer)
    assert answer.rule == "key bbox_2d, some left out"
    assert load_places(answer.value).boxes == (Box(1, 2, 3, 4),)


@pytest.mark.parametrize(
    ("text", "stop", "kind"),
    [
        ("", "stop", Empty),
        (" \n", "length", Truncated),
        ("upper left", "stop", Unparsed),
        ("There are 3 cats.", "stop", Unparsed),
        ("The cat is in the upper", "length", Truncated),
        ("I considered [1, 2, 3, 4] but then", "length", Truncated),
        ("<think>[1, 2, 3, 4] seems", "stop", Truncated),
        ('{"bbox_2d": [100, 200, 30', "length", Truncated),
        ("x1=1, y1=2, x2=3, y2=4", "length", Truncated),
        ("I'm sorry, but I can't help with that.", "stop", Refused),
        ("x=?, y=?", "stop", Unparsed),
        ("x=1.2.3, y=4", "stop", Unparsed),
    ],
)
def test_reply_without_places(text: str, stop: str, kind: type) -> None:
    assert isinstance(read(text, stop=stop), kind)


@pytest.mark.parametrize(
    ("text", "point"), [("[100, 200, 300, 500]", Point(320, 280)), ("<box>(0,0),(500,500)</box>", Point(400, 200))]
)
def test_a_box_stands_for_its_centre(text: str, point: Point) -> None:
    answer = read(text, shape="point")
    assert isinstance(answer, ParsedAnswer)
    assert answer.rule.endswith("centre of a box")
    assert load_places(answer.value).points == (point,)


def test_unknown_size_and_shape_are_told() -> None:
    with pytest.raises(DataError, match="width and height"):
        read("[1, 2, 3, 4]", extent=())
    with pytest.raises(DataError, match="a mask needs the picture's width and height"):
        read('{"size": [1, 2], "counts": [1, 1]}', shape="mask", extent=())
    answer = read("[1, 2, 3, 4]", "pixels", extent=())
    assert isinstance(answer, ParsedAnswer)


SPACES = [Space(*parts) for parts in product(get_args(Unit), get_args(Order), get_args(BoxForm))]
sides = st.floats(0.05, 0.95)
WRITERS = {
    "list": "[{}, {}, {}, {}]",
    "key": '```json\n[{{"bbox_2d": [{}, {}, {}, {}], "label": "cat"}}]\n```',
    "tag": "<bbox>{} {} {} {}</bbox>",
    "corners": "<|box_start|>({},{}),({},{})<|box_end|>",
    "words": "It is here: ({}, {}, {}, {}).",
}


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
@given(st.lists(sides, min_size=2, max_size=2, unique=True), st.lists(sides, min_size=2, max_size=2, unique=True),
       st.sampled_from(sorted(WRITERS)), st.tuples(st.integers(40, 4000), st.integers(40, 4000)))  # fmt: skip
def test_box_written_in_a_space_is_read_back(
    space: Space, across: list[float], down: list[float], writer: str, sent: tuple[int, int]
) -> None:
    (left, right), (top, bottom) = sorted(across), sorted(down)
    box = Box(left * EXTENT[0], top * EXTENT[1], right * EXTENT[0], bottom * EXTENT[1])
    numbers = space.write_box(box, EXTENT, sent)
    text = WRITERS[writer].format(*(f"{number:.6f}" for number in numbers))
    answer = read(text, space.name, sent=(sent,))
    if space.unit != "fractions" and max(numbers) <= 1:
        assert isinstance(answer, Misplaced)
        return
    assert isinstance(answer, ParsedAnswer), (text, answer)
    assert load_places(answer.value).boxes[0] == pytest.approx(box, abs=0.01)
