"""In which space numbers for known places are, and when that cannot be told."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from snellen.api.measured_space import measure
from snellen.core.output import Failure, Generated, Output
from snellen.core.place import Box, Point, Space, parse_space
from snellen.core.request import MAIN, Generation
from snellen.engine.offline.space_fit import SIZES, MarkedPlace, SpaceMeasurement, draw_questions
from snellen.extract.places.read import read_numbers
from snellen.report.documents.parity import space_verdict

QUESTIONS = draw_questions(64, 0, Generation(max_new_tokens=16), MAIN)
Write = Callable[[MarkedPlace, random.Random], Output]


def measured(write: Write, questions: list[MarkedPlace] = QUESTIONS) -> SpaceMeasurement:
    draw = random.Random(5)
    return measure("m", questions, [write(question, draw) for question in questions])


def writer(space: Space, error: float = 0.01, offset: float = 0.0, patch: int = 0) -> Write:
    """Writes places in a space, off by an error and an offset, in shares of the picture; with
    `patch` a model that sees pictures in whole patches, and says so."""

    def write(question: MarkedPlace, draw: random.Random) -> Output:
        width, height = question.size
        sent = (round(width / patch) * patch, round(height / patch) * patch) if patch else ()
        extents = (width, height, width, height)
        box = Box(*(side + draw.gauss(offset, error) * all_ for side, all_ in zip(question.box, extents, strict=True)))
        if question.asked == "box":
            numbers = space.write_box(box, question.size, sent)
        else:
            centre = Point((box.left + box.right) / 2, (box.top + box.bottom) / 2)
            numbers = space.write_point(centre, question.size, sent)
        text = ", ".join(
            f"{number:.3f}" if space.limit and space.limit <= 100 else f"{number:.0f}" for number in numbers
        )
        return Generated(f"({text})", image_sizes=(sent,) if sent else ())

    return write


SPACES = (
    "thousandths",
    "thousandths-yx",
    "bins-yx",
    "bins",
    "percent",
    "fractions",
    "pixels",
    "pixels-yx",
    "thousandths-centre-size",
    "pixels-corner-size",
)


@pytest.mark.parametrize(
    ("name", "error", "offset"),
    [
        *((name, 0.005, 0.0) for name in SPACES),
        *((name, 0.01, 0.015) for name in SPACES),
        *((name, 0.03, 0.0) for name in SPACES if not name.startswith("bins")),
    ],
)
def test_a_space_is_found_through_noise(name: str, error: float, offset: float) -> None:
    found = measured(writer(parse_space(name), error, offset))
    assert (found.verdict, found.space) == ("certain", name)
    assert found.fits[0].certainty > 0.99
    assert space_verdict(found) == f"it writes in {name}; declare it: -m m:coordinates={name}"


def test_two_units_that_are_nearly_one_need_exact_replies() -> None:
    """Bins and thousandths differ by 2.4 per cent."""
    found = measured(writer(Space("bins"), 0.06))
    assert found.verdict == "cannot tell"
    assert {fit.space for fit in found.fits[:2]} == {"bins", "thousandths"}


def test_pixels_as_sent_are_told_from_pixels() -> None:
    assert measured(writer(parse_space("sent-pixels"), patch=28)).space == "sent-pixels"
    assert measured(writer(parse_space("pixels"), patch=28)).space == "pixels"


def test_numbers_without_a_relation_to_the_square_tell_nothing() -> None:
    def guess(question: MarkedPlace, draw: random.Random) -> Output:
        count = 4 if question.asked == "box" else 2
        return Generated(str([draw.randint(0, 1000) for _ in range(count)]))

    assert measured(guess).verdict == "cannot tell"
    assert measured(lambda question, draw: Generated("[400, 400, 600, 600]")).verdict == "cannot tell"
    silent = measured(lambda question, draw: Generated("There is one."))
    assert (silent.verdict, silent.with_numbers, silent.fits) == ("cannot tell", 0, ())


def test_few_replies_tell_nothing_however_exact() -> None:
    few = measured(writer(Space("thousandths"), 0.0), QUESTIONS[:6])
    assert (few.verdict, few.fits[0].space) == ("cannot tell", "thousandths")


def test_a_square_that_is_found_at_times_is_enough() -> None:
    exact = writer(Space("percent"))

    def write(question: MarkedPlace, draw: random.Random) -> Output:
        count = 4 if question.asked == "box" else 2
        return exact(question, draw) if draw.random() < 0.5 else Generated(str([draw.randint(0, 99)] * count))

    assert measured(write).space == "percent"


def test_a_model_that_changes_its_space_is_not_certain() -> None:
    one, other = writer(Space("thousandths")), writer(Space("pixels"))
    found = measured(lambda question, draw: (one if draw.random() < 0.6 else other)(question, draw))
    assert found.verdict == "several spaces"


def test_a_model_that_resizes_without_a_word_fits_no_space() -> None:
    def write(question: MarkedPlace, draw: random.Random) -> Output:
        scale = 448 / max(question.size)
        box = question.box if question.asked == "box" else question.centre
        return Generated(str([round(number * scale) for number in box]))

    found = measured(write)
    assert found.verdict == "no space fits"
    seen = {picture.size: picture.seen for picture in found.resized}
    assert seen.keys() == set(SIZES)
    assert seen[1280, 960] == pytest.approx((448, 336), rel=0.02)


def test_failures_are_counted() -> None:
    found = measured(lambda question, draw: Failure("timeout", "no reply"))
    assert (found.verdict, found.failed, found.failure) == ("cannot tell", 64, "no reply")


def test_the_same_questions_are_asked_again() -> None:
    again = draw_questions(64, 0, Generation(max_new_tokens=16), MAIN)
    assert [one.request.ref for one in again] == [one.request.ref for one in QUESTIONS]
    few = draw_questions(10, 3, Generation(max_new_tokens=16), MAIN)
    assert len({one.request.ref for one in few} & {one.request.ref for one in QUESTIONS}) == 10


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ("[12, 34, 56, 78]", (12, 34, 56, 78)),
        ('```json\n[{"bbox_2d": [12, 34, 56, 78], "label": "red square"}]\n```', (12, 34, 56, 78)),
        ("<box>(12,34),(56,78)</box>", (12, 34, 56, 78)),
        ("<loc0012><loc0034><loc0056><loc0078> red square", (12, 34, 56, 78)),
        ("x1=0.12, y1=0.34, x2=0.56, y2=0.78", (0.12, 0.34, 0.56, 0.78)),
        ("The picture is 640x480.\n1. The box: (12, 34, 56, 78).", (12, 34, 56, 78)),
        ("The box: 12, 34, 56, 78.", (12, 34, 56, 78)),
        # As in a run, numbers that nothing tells from others are no place.
        ("The picture is 640x480.\n1. The box: 12, 34, 56, 78.", ()),
        ("[1, 2, 3, 4] is wrong. In the end it must rather be [12, 34, 56, 78]", (12, 34, 56, 78)),
        ("12px, 34px, 56px, 78px", (12, 34, 56, 78)),
        ("[[12, 34, 56, 78], [1, 2, 3, 4]]", ()),
        ("[12, 34, 56]", ()),
        ("in the upper left", ()),
    ],
)
def test_numbers_of_replies(reply: str, numbers: tuple[float, ...]) -> None:
    assert read_numbers(reply, "box") == numbers


@pytest.mark.parametrize(
    ("reply", "numbers"),
    [
        ('<point x="12.5" y="34.0" alt="square">square</point>', (12.5, 34.0)),
        ('{"point_2d": [12, 34]}', (12, 34)),
        ("pyautogui.click(x=12, y=34)", (12, 34)),
        ("[12, 34, 56, 78]", ()),
    ],
)
def test_numbers_of_points(reply: str, numbers: tuple[float, ...]) -> None:
    assert read_numbers(reply, "point") == numbers
