from __future__ import annotations

import pytest

from snellen.core.media import InlineSource
from snellen.core.request import Media, Text
from snellen.core.sample import MediaRef, Sample
from snellen.prompts.choice import prompt
from snellen.prompts.rotation import is_rotatable, rotate_options

ONE = MediaRef("1" * 64, InlineSource(b"one"))
TWO = MediaRef("2" * 64, InlineSource(b"two"))


def parts(sample: Sample) -> tuple:
    (message,) = prompt(sample)
    return message.parts


def test_choice_has_picture_hint_question_options_and_the_closing_line() -> None:
    sample = Sample("1", "choice", "Which?", ("A",), {"A": "red", "B": "blue"}, (ONE,), hint="Look left.")
    picture, text = parts(sample)
    assert picture == Media("image", ONE.digest)
    assert text == Text(
        "Hint: Look left.\nQuestion: Which?\nOptions:\nA. red\nB. blue\n"
        "Please select the correct answer from the options above."
    )


@pytest.mark.parametrize(
    ("question", "asked"),
    [
        ("Is it red?", "Is it red? Please answer yes or no."),
        ("Is it red? Please answer yes or no.", "Is it red? Please answer yes or no."),
        ("Is it red? Answer with yes or no.", "Is it red? Answer with yes or no."),
    ],
)
def test_yes_no_is_asked_for_once(question: str, asked: str) -> None:
    assert parts(Sample("1", "yes_no", question)) == (Text(asked),)


def test_open_asks_for_a_word() -> None:
    (text,) = parts(Sample("1", "open", "What is it?"))
    assert text.text.endswith("\nAnswer the question using a single word or phrase.")


@pytest.mark.parametrize(
    ("question", "order"),
    [
        ("Which?", [ONE, TWO, "text"]),
        ("Is <image 1> like <image 2>?", ["text", ONE, "text", TWO, "text"]),
        ("Is <image> like <image>?", ["text", ONE, "text", TWO, "text"]),
        ("<image2> is what?", [ONE, TWO, "text"]),
        ("<image 7> is what?", [ONE, TWO, "text"]),
    ],
)
def test_images_replace_their_names_in_the_question(question: str, order: list) -> None:
    sample = Sample("1", "open", question, media=(ONE, TWO))
    seen = [part if isinstance(part, Media) else "text" for part in parts(sample)]
    assert seen == [x if x == "text" else Media("image", x.digest) for x in order]


def test_shift_moves_options_and_gold_down() -> None:
    options = {"A": "a", "B": "b", "C": "c", "D": "d"}
    assert rotate_options(options, "A", 1) == ({"A": "d", "B": "a", "C": "b", "D": "c"}, "B")
    assert rotate_options(options, None, 4).options == options


@pytest.mark.parametrize("by", range(5))
def test_gold_keeps_its_text(by: int) -> None:
    options = {label: label.lower() for label in "ABCDE"}
    for gold in options:
        moved = rotate_options(options, gold, by)
        assert moved.gold is not None
        assert moved.options[moved.gold] == options[gold]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("red", "blue", "green"), True),
        (("above the square", "below the square"), True),
        (("A", "B", "C", "D"), False),
        (("(A)", "(B)"), False),
        (("red", "blue", "both A and B"), False),
        (("red", "blue", "none of the above"), False),
        (("red", "blue", "All of the above"), False),
        (("red", "blue", "Neither of these"), False),
        (("red", "以上都不是"), False),
        (("only the first option", "something else"), False),
        (("a cat", "Vitamin A"), True),
        (("one",), False),
    ],
)
def test_rotatable(options: tuple[str, ...], expected: bool) -> None:
    assert is_rotatable(dict(zip("ABCDE", options, strict=False))) is expected
