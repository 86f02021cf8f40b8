"""The closing line of a question for a place says what a reply in that form is read as."""

from __future__ import annotations

from itertools import product
from typing import get_args

import pytest

from snellen.core.errors import UsageError
from snellen.core.output import ParsedAnswer
from snellen.core.place import Box, BoxForm, Order, Places, Space, Unit, load_places
from snellen.core.sample import Sample
from snellen.extract.places.read import parse_places
from snellen.prompts.choice import PromptTemplate, prompt
from snellen.prompts.places import place_instruction

SPACES = [Space(*parts) for parts in product(get_args(Unit), get_args(Order), get_args(BoxForm))]


def test_lines() -> None:
    assert place_instruction("box", 1, "thousandths-yx") == (
        "Answer with the bounding box alone, as [y1, x1, y2, x2]; x and y run from 0 to 1000 over the picture's "
        "width and height."
    )
    assert place_instruction("point", None, "fractions") == (
        "Answer with all points alone, as a JSON list [[x, y], ...], or [] if there are none; x and y are "
        "fractions of the picture's width and height, between 0 and 1."
    )
    assert place_instruction("span", 2) == (
        "Answer with the 2 spans of time alone, as a JSON list [[start, end], ...]; times are in seconds."
    )
    assert '{"bbox_2d": [x1, y1, x2, y2], "label": "..."}' in place_instruction("box", None, "pixels", labels=True)


def test_unknown_space_is_refused() -> None:
    with pytest.raises(UsageError, match="no coordinate space"):
        place_instruction("box", 1, "inches")


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_form_of_the_line_is_read_as_the_box_it_stands_for(space: Space) -> None:
    """The names in the line, replaced by the numbers they name, are the box."""
    box, extent = Box(160, 80, 480, 400), (640, 480)
    across = {"x1": box.left, "x2": box.right, "x": box.left, "width": box.right - box.left}
    down = {"y1": box.top, "y2": box.bottom, "y": box.top, "height": box.bottom - box.top}
    if space.form == "centre-size":
        across["x"], down["y"] = (box.left + box.right) / 2, (box.top + box.bottom) / 2
    scale = (extent[0] / space.limit, extent[1] / space.limit) if space.limit else (1.0, 1.0)
    line = place_instruction("box", 1, space.name)
    names = line[line.index("[") + 1 : line.index("]")].split(", ")
    numbers = [across[name] / scale[0] if name in across else down[name] / scale[1] for name in names]
    sample = Sample("1", "place", "Where?", extent=extent)
    answer = parse_places(str([round(number, 6) for number in numbers]), "stop", sample, shape="box", space=space)
    assert isinstance(answer, ParsedAnswer)
    assert load_places(answer.value).boxes[0] == pytest.approx(box, abs=0.01)


def test_line_closes_the_prompt() -> None:
    sample = Sample("1", "place", "Where is the cat?", gold=(Places(boxes=(Box(1, 2, 3, 4),)).text(),))
    (message,) = prompt(sample, None, PromptTemplate(place=place_instruction("box")))
    (text,) = message.parts
    assert text.text.startswith("Where is the cat?\nAnswer with the bounding box alone")  # type: ignore[union-attr]
