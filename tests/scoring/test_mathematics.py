"""Equality of answers to questions of mathematics."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from snellen.benchmarks.mathematics.mathvista import nearest_choice, normalise_extraction, same_value
from snellen.benchmarks.mathematics.wemath import CompositeProblem, dimension, mastery
from snellen.core.output import ParsedAnswer
from snellen.extract.numbers import parse_list_answer, parse_numeric_answer
from snellen.extract.open_text import parse_open
from snellen.scoring.mathematics import equal, equal_official, parse_number, strip_markup


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("3.0", "3"),
        ("1,000", "1000"),
        ("0.5", r"\frac{1}{2}"),
        (r"2\frac{1}{2}", "2.5"),
        ("5:19", "5/19"),
        (r"\frac{5}{19}", "5:19"),
        (r"$4 \pi$", r"4\pi"),
        (r"\boxed{\sqrt{2}}", r"\sqrt{2}"),
        ("74°", r"74^\circ"),
        (r"10\text{ cm}", "10 cm"),
        (r"\dfrac{\sqrt{8}}{2}", r"\sqrt{2}"),
        (r"15 \mathrm{~cm}^{2}", r"$15 \mathrm{~cm}^{2}$"),
        ("20%", "0.2"),
        ("2**(1/4)", r"\sqrt{\sqrt{2}}"),
        (r"\{3, 2, 1\}", r"\{1,2,3\}"),
        (r"80-2\pi", r"$80-2 \pi$"),
        (r"\frac{7^3}{2^{12} 13^2}", r"\frac{343}{4096 \cdot 169}"),
    ],
)
def test_equal_expressions(answer: str, gold: str) -> None:
    assert equal(answer, gold)
    assert equal(gold, answer)


@pytest.mark.parametrize(
    ("answer", "gold"),
    [
        ("", ""),
        ("3", "4"),
        (r"\frac{1}{300}", r"\frac{1}{600}"),
        ("5", "5 cm or so"),
        ("1/0", "1/0.0"),
        (r"\sqrt{2}", r"\sqrt{3}"),
        ("__import__('os').getcwd()", "1"),
        ("9^9^9^9^9", "1"),
        (r"99999999!", "2"),
        ("a cat on the mat", "a dog on the mat"),
    ],
)
def test_unequal_expressions(answer: str, gold: str) -> None:
    assert not equal(answer, gold)


@pytest.mark.parametrize("digits", [301, 400, 5000])
def test_fraction_of_too_many_digits_is_not_a_number(digits: int) -> None:
    for fraction in (f"\\frac{{{'1' * digits}}}{{3}}", f"{'1' * digits}\\frac{{1}}{{2}}"):
        assert not equal(fraction, "3")
        assert not equal_official(fraction, "3")


def test_terms_are_compared_outside_the_main_thread() -> None:
    found: list[bool] = []
    thread = threading.Thread(target=lambda: found.append(equal(r"\sqrt{18}", r"3\sqrt{2}")))
    thread.start()
    thread.join()
    assert found == [True]


@pytest.mark.parametrize(
    ("answer", "gold", "same"),
    [
        (r"\frac{1}{300}", r"$\frac{1}{600}$", True),
        ("0", r"$\frac{7^3}{2^{12} 13^2}$", True),
        (r"15 \mathrm{~cm}", "15", False),
        ("36", r"$36^{\circ}$", False),
        ("60", r"$60 \%$", False),
        ("{4}", "4", True),
        (r"\frac{7}{32}}.theansweris", r"$\frac{7}{32}$", True),
        ("a", "A", True),
        ("ab", "a b", False),
        ("5.so,even", "5", True),
        (r"\frac12", r"\frac{1}{2}", False),
        (r"\sqrt2", r"\sqrt{2}", False),
        (r"-\!2", "-2", False),
        ("2**3", "8", False),
        ("|5|", "5", False),
        (r"2\frac{1}{2}", "2.5", False),
        (r"2\frac{1}{2}", "1", True),
        ("(1.0,2.0)", "(1,2)", True),
        (r"(\frac{1}{2},2)", "(0.5,2)", True),
        ("(2,1)", "(1,2)", False),
        ("[1,2]", "(1,2)", False),
        ("(1.001,2)", "(1,2)", False),
        ("", "", False),
    ],
)
def test_math_vision_s_own_rule(answer: str, gold: str, same: bool) -> None:
    assert equal_official(answer, gold) is same


def test_peers_vectors(golden: Callable[[str], Path]) -> None:
    """Inspect's cases of mathematics, read and compared by us: what differs, and why."""
    file = golden("extraction_test_vectors") / "inspect_ai_math_cases.jsonl"
    wrong = []
    for case in map(json.loads, file.read_text().splitlines()):
        answer = parse_open(case["output"])
        found = isinstance(answer, ParsedAnswer) and equal(answer.value, case["target"])
        if found != (case["expected"] == "C"):
            wrong.append(case["output"])
    assert wrong == KNOWN_DIFFERENCES


KNOWN_DIFFERENCES = [
    r"\boxed{1/2004!}",  # an exclamation mark at the end is no factorial in a reply
    r"\beginboxed{8\sqrt{6}}",  # no command of LaTeX, and so no marked answer
]


@pytest.mark.parametrize(
    ("text", "number"), [("12", 12), ("-3.5", -3.5), (".5", 0.5), ("3/4", 0.75), ("1e3", 1000), ("", None), ("x", None)]
)
def test_plain_numbers(text: str, number: float | None) -> None:
    assert parse_number(strip_markup(text)) == number


@pytest.mark.parametrize(
    ("reply", "value"),
    [
        ("The answer is 42.", "42"),
        (r"So \boxed{1,250} it is", "1,250"),
        ("3 + 4 = 7, and 7 - 2 = 5\nHence 5", "5"),
        ("There are 7 of them, I think, in all of this rather long sentence", "7"),
        ("Between 3 and 5 of them, in all of this rather long sentence of words", None),
        ("None at all are here in all of this rather long sentence of words.", None),
        ("−4", "-4"),
    ],
)
def test_a_number_in_a_reply(reply: str, value: str | None) -> None:
    found = parse_numeric_answer(reply)
    assert (found.value if isinstance(found, ParsedAnswer) else None) == value


def test_a_list_in_a_reply() -> None:
    found = parse_list_answer("First [1], then finally [2014, 2016].")
    assert isinstance(found, ParsedAnswer)
    assert found.value == "[2014, 2016]"


@pytest.mark.parametrize(
    ("answer", "gold", "kind", "same"),
    [
        ("3.0", "3", "integer", True),
        ("3.4", "3", "integer", False),
        ("1.24", "1.2", "float", True),
        ("1.26", "1.2", "float", False),
        ("[0, 2.0]", "[0, 2]", "list", True),
        ("[0, 2]", "[0, 2, 1]", "list", False),
        ("abc", "3", "integer", False),
    ],
)
def test_mathvista_values(answer: str, gold: str, kind, same: bool) -> None:
    assert same_value(answer, gold, kind) is same


def test_mathvista_s_own_normaliser() -> None:
    choices = ("larger than", "equal to", "smaller than")
    assert normalise_extraction("(B) equal", "text", "equal to", choices) == "equal to"
    assert normalise_extraction("b", "text", "equal to", choices) == "equal to"
    assert normalise_extraction("smaller tha", "text", "equal to", choices) == "smaller than"
    assert normalise_extraction("2.0", "integer", "2", ()) is None
    assert normalise_extraction("1.26", "float", "1.3", ()) == "1.3"
    assert nearest_choice("equal", choices) == 1


def test_we_math_s_dimensions() -> None:
    half = CompositeProblem((True, False), True)
    none = CompositeProblem((False, False), True)
    assert [dimension(one, "strict") for one in (half, none)] == ["RM", "RM"]
    assert [dimension(one, "loose") for one in (half, none)] == ["CM", "RM"]
    problems = [
        CompositeProblem((True, True), True),  # mastered
        CompositeProblem((True, True), False),  # inadequate generalisation
        CompositeProblem((True, False), False),  # insufficient knowledge
        half,
    ]
    strict, loose = mastery(problems, "strict"), mastery(problems, "loose")
    assert strict is not None
    assert loose is not None
    # (4 - 0.5 IG - RM - IK) / 4
    assert strict.score == pytest.approx((4 - 0.5 - 1 - 1) / 4)
    assert loose.score == pytest.approx((4 - 0.5 - 0 - 1) / 4)
    assert (strict.rote, loose.rote) == (0.5, 0.0)
    assert mastery([], "strict") is None


@pytest.mark.parametrize(
    ("text", "core"),
    [
        ("{5}", "5"),
        # A set or several groups are no text in braces.
        ("{1,2}", "{1,2}"),
        ("{a}{b}", "{a}{b}"),
        ("{}", ""),
    ],
)
def test_braces_around_the_whole_answer_are_left_out(text: str, core: str) -> None:
    assert strip_markup(text) == core


@pytest.mark.parametrize(
    ("extraction", "choice"),
    [
        ("the graph of f(x) goes up", "f"),
        ("(b) it is", "f"),
        ("so it is (C), not (A)", "gamma"),
        ("B", "f"),
        ("b", "f"),
        ("gama", "gamma"),
    ],
)
def test_mathvista_s_choices_by_the_first_letter_in_parentheses(extraction: str, choice: str) -> None:
    """As the authors' `normalize_extracted_answer` chooses."""
    assert normalise_extraction(extraction, "text", "f", ("alpha", "f", "gamma")) == choice
