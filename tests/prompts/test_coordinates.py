"""Coordinate formats: question and options change together, and nothing else does."""

from __future__ import annotations

import pytest

from snellen.prompts.coordinates import ImageSize, has_other_format, rewrite_coordinates, size_in_question

NOTE = "Note that the width of the input RGB image is 640 and the height is 480."
QUESTION = f"Detect the dog in the format [x, y, w, h]. {NOTE}"
BOXES = {"A": "[64, 48, 320, 240]", "B": "dog: [0, 0, 640, 480], cat: [32, 24, 64, 48]"}
SIZE = ImageSize(640, 480)


@pytest.mark.parametrize(
    ("question", "size"),
    [
        (QUESTION, SIZE),
        ("Note that the width of the input image is given as 90 and the height as 45.", (90, 45)),
        ("Note that the width of the input image is 1920 and\nthe height is 945.", (1920, 945)),
        ("How wide is the river of 640 and 480 metres?", None),
    ],
)
def test_the_size_a_question_states(question: str, size: tuple[int, int] | None) -> None:
    assert size_in_question(question) == size


def test_pixels_to_shares() -> None:
    changed = rewrite_coordinates(QUESTION, BOXES, "normalised", SIZE)
    assert changed.options == {
        "A": "[0.100, 0.100, 0.500, 0.500]",
        "B": "dog: [0.000, 0.000, 1.000, 1.000], cat: [0.050, 0.050, 0.100, 0.100]",
    }
    assert changed.question.startswith("Detect the dog in the format [x, y, w, h]. Note that all")
    assert "640" not in changed.question
    assert not has_other_format(*changed, "normalised")


def test_coordinates_round_trip() -> None:
    there = rewrite_coordinates(QUESTION, BOXES, "normalised", SIZE)
    back = rewrite_coordinates(there.question, there.options, "pixel", SIZE)
    assert back.options == BOXES
    assert size_in_question(back.question) == SIZE


def test_points_in_the_question_change_with_the_options() -> None:
    question = f"Where is the point with coordinates ([0.711, 0.154]) in the second image? {NOTE}"
    changed = rewrite_coordinates(question, {"A": "[0.336, 0.241]", "B": "[0.754, 0.592]"}, "pixel", SIZE)
    assert changed.question == question.replace("[0.711, 0.154]", "[455, 74]")
    assert changed.options == {"A": "[215, 116]", "B": "[483, 284]"}


def test_the_format_there_is_changes_nothing() -> None:
    assert rewrite_coordinates(QUESTION, BOXES, "pixel", SIZE) == (QUESTION, BOXES)


def test_digits_are_added_where_options_would_become_one() -> None:
    near = {"A": "[1000, 1000]", "B": "[1000, 1001]"}
    changed = rewrite_coordinates("Where?", near, "normalised", ImageSize(5000, 5000))
    assert changed.options == {"A": "[0.2000, 0.2000]", "B": "[0.2000, 0.2002]"}


def test_camera_parameters_and_odd_lists_are_not_coordinates() -> None:
    question = (
        "What is the depth at the coordinates (0.5, 0.25)? The camera has Focal Length: 1.4, "
        "Principal Point: (320, 240), Distortion Parameters: [0.1, 0.2]; see (1, 2, 3)."
    )
    changed = rewrite_coordinates(question, {"A": "1.2", "B": "3.4"}, "pixel", SIZE)
    assert changed.question.startswith("What is the depth at the coordinates (320, 120)?")
    assert "Principal Point: (320, 240), Distortion Parameters: [0.1, 0.2]; see (1, 2, 3)." in (changed.question)
    assert changed.options == {"A": "1.2", "B": "3.4"}


def test_texts_without_coordinates_have_no_format() -> None:
    for to in ("pixel", "normalised"):
        assert not has_other_format("What is it?", {"A": "a dog (3)"}, to)


SHARES = {"A": "[0.1, 0.2, 0.55, 0.7]", "B": "[0.2, 0.2, 0.6, 0.7]"}


def test_question_and_options_are_converted_each_by_its_own_format() -> None:
    changed = rewrite_coordinates("Compare [64, 48].", SHARES, "normalised", ImageSize(640, 480))
    assert changed.question.startswith("Compare [0.100, 0.100].")
    assert changed.options == SHARES
    pixels = rewrite_coordinates("Compare [64, 48].", SHARES, "pixel", ImageSize(640, 480))
    assert pixels.question.startswith("Compare [64, 48].")
    assert pixels.options == {"A": "[64, 96, 352, 336]", "B": "[128, 96, 384, 336]"}


def test_zeros_and_ones_are_shares_only_beside_shares() -> None:
    cells = {"A": "[1, 1]", "B": "[0, 1]"}
    for to in ("pixel", "normalised"):
        assert rewrite_coordinates("Where in the grid?", cells, to, SIZE).options == cells
    mixed = {"A": "[0, 0, 1, 1]", "B": "[0, 0, 0.5, 1]"}
    changed = rewrite_coordinates("Where?", mixed, "pixel", ImageSize(200, 100))
    assert changed.options == {"A": "[0, 0, 200, 100]", "B": "[0, 0, 100, 100]"}
    beside = rewrite_coordinates("Not at [1, 1].", SHARES, "pixel", ImageSize(200, 100))
    assert beside.question.startswith("Not at [200, 100].")


def test_options_in_two_formats_are_converted_one_by_one() -> None:
    options = {"A": "[0.1, 0.2, 0.55, 0.7]", "B": "(0, 0, 20, 20)"}
    shares = rewrite_coordinates("Where?", options, "normalised", ImageSize(200, 100)).options
    assert shares == {"A": options["A"], "B": "(0.000, 0.000, 0.100, 0.200)"}
    pixels = rewrite_coordinates("Where?", options, "pixel", ImageSize(200, 100)).options
    assert pixels == {"A": "[20, 20, 110, 70]", "B": options["B"]}
