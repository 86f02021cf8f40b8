"""Places and their coordinate spaces: numbers to pixels and back."""

import itertools
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from snellen.core.errors import DataError, UsageError
from snellen.core.place import Box, BoxForm, Order, Places, Point, Space, Span, Unit, load_places, parse_space

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
