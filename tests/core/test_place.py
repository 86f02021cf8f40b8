"""Places and their coordinate spaces: numbers to pixels and back."""

import itertools
from random import Random
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import DataError, UsageError
from snellen.core.place import (
    Box,
    BoxForm,
    Mask,
    Order,
    Places,
    Point,
    Space,
    Span,
    Unit,
    load_places,
    parse_space,
    points_in,
    write_places,
)
from snellen.scoring.places.overlap import holds_point

SPACES = [Space(*parts) for parts in itertools.product(get_args(Unit), get_args(Order), get_args(BoxForm))]
sizes = st.tuples(st.integers(1, 8000), st.integers(1, 8000))
coordinates = st.floats(0, 8000)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
@given(st.tuples(coordinates, coordinates), st.tuples(coordinates, coordinates), sizes, sizes)
def test_box_written_in_a_space_is_read_back(
    space: Space, corner: tuple[float, float], size: tuple[float, float], extent: tuple[int, int], sent: tuple[int, int]
) -> None:
    box = Box(corner[0], corner[1], corner[0] + size[0], corner[1] + size[1])
    assert space.read_box(space.write_box(box, extent, sent), extent, sent) == pytest.approx(box, abs=1e-6)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_name_of_a_space_names_it(space: Space) -> None:
    assert parse_space(space.name) == space


def test_boxes_of_known_models() -> None:
    """A box from (64, 48) to (320, 240) in a picture of 640 x 480, as several families write it."""
    box, extent = Box(64, 48, 320, 240), (640, 480)
    written = {
        "thousandths": (100, 100, 500, 500),  # Qwen3-VL, InternVL
        "thousandths-yx": (100, 100, 500, 500),  # Gemini
        "fractions-corner-size": (0.1, 0.1, 0.4, 0.4),
        "percent-centre-size": (30, 30, 40, 40),
        "bins-yx": (102.4, 102.4, 512, 512),  # PaliGemma
        "sent-pixels": (32, 24, 160, 120),  # Qwen2.5-VL, for a picture of half the size
    }
    for name, numbers in written.items():
        assert parse_space(name).read_box(numbers, extent, (320, 240)) == pytest.approx(box), name


def test_vertical_coordinate_first() -> None:
    assert parse_space("percent-yx").read_point((25, 50), (640, 480)) == Point(320, 120)


@pytest.mark.parametrize("name", ["", "inches", "thousandths-", "pixels-yx-yx", "thousandths-xy"])
def test_unknown_space_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="expected one of pixels, sent-pixels"):
        parse_space(name)


def test_unknown_size_is_refused() -> None:
    with pytest.raises(DataError, match="width and height"):
        Space("fractions").read_point((0.5, 0.5), ())
    with pytest.raises(DataError, match="the model saw"):
        Space("sent-pixels").read_point((5, 5), (10, 10))


def test_places_survive_their_text() -> None:
    places = Places(boxes=(Box(0, 1.5, 2, 3),), labels=("cat",), scores=(0.5,), extent=(640, 480))
    assert load_places(places.text()) == places
    assert len(places) == 1
    assert len(Places(spans=(Span(0, 1), Span(2, 3)))) == 2


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"boxes": [[1, 2, 3]]}', "[42, 1102, 239, 1172] of 1170x2532"])
def test_other_text_is_refused(text: str) -> None:
    with pytest.raises(DataError, match="names no places"):
        load_places(text)


@pytest.mark.parametrize("seed", range(40))
def test_a_point_in_a_polygon_lies_in_it(seed: int) -> None:
    draw = Random(seed)
    corners = [Point(draw.randint(0, 9), draw.randint(0, 9)) for _ in range(draw.randint(3, 7))]
    if len({corner.y for corner in corners}) == 1:
        corners[0] = Point(corners[0].x, corners[0].y + 1)
    polygon = tuple(corners)
    (point,) = points_in(Places(polygons=(polygon,))).points
    assert holds_point(polygon, point)


def test_a_box_stands_for_its_centre_where_points_are_asked_for() -> None:
    labelled = Places(boxes=(Box(0, 10, 20, 40),), labels=("cat",), extent=(100, 100))
    assert points_in(labelled) == Places(points=(Point(10, 25),), labels=("cat",), extent=(100, 100))


def test_the_bounds_of_a_mask_without_pixels_have_no_area() -> None:
    assert Mask(3, 2, (6,)).bounds() == Box(0, 0, 0, 0)


def test_places_are_written_as_models_write_them() -> None:
    places = Places(boxes=(Box(10.4, 20, 30, 40),), extent=(100, 200))
    assert write_places(places, parse_space("fractions"), exact=False) == "[0.104,0.1,0.3,0.2]"
    assert write_places(places, parse_space("thousandths-yx"), exact=False) == "[100,104,200,300]"
    assert write_places(Places(spans=(Span(1.26, 2),)), Space(), exact=False) == "[1.3,2]"
    points = Places(points=(Point(1, 2), Point(3, 4)), labels=("a", "b"), extent=(10, 10))
    assert write_places(points, Space()) == ('[{"point_2d":[1.0,2.0],"label":"a"},{"point_2d":[3.0,4.0],"label":"b"}]')
