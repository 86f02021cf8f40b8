"""Published readers of single benchmarks; what they read was seen by running them."""

from __future__ import annotations

import pytest

from snellen.core.output import Answer, ParsedAnswer
from snellen.extract.published.official import parse_medxpertqa, parse_mmsi
from snellen.extract.published.vlmevalkit_images import (
    equal_phyx,
    equal_spatial457,
    parse_phyx,
    parse_spatial457,
    parse_visulogic,
    parse_visulogic_official,
    phyx_choice_parser,
)

OPTIONS = {"A": "red", "B": "green", "C": "blue", "D": "grey"}


def value(answer: Answer) -> str | None:
    return answer.value if isinstance(answer, ParsedAnswer) else None


@pytest.mark.parametrize(
    ("reply", "mmsi", "medxpertqa", "phyx"),
    [
        ("B", "B", "B", None),
        ("``C``", "C", "C", None),
        ("A is wrong, `B`", "B", "A", None),
        ("A dog is there: B.", "B", "A", None),
        ("b", None, None, None),
        ("Answer: B", "B", "B", "B"),
        ("I take C. The answer is B", "C", "B", "B"),
        ("A through D were seen. C", "C", "C", None),
        ("D: grey", "D", "D", "D"),
        ("**B**", "B", "B", "B"),
        ("", None, None, None),
    ],
)
def test_listed_choices(reply: str, mmsi: str | None, medxpertqa: str | None, phyx: str | None) -> None:
    assert value(parse_mmsi(reply, OPTIONS)) == mmsi
    assert value(parse_medxpertqa(reply, OPTIONS)) == medxpertqa
    assert value(phyx_choice_parser(("B",))(reply, OPTIONS, "stop")) == phyx


@pytest.mark.parametrize(
    ("reply", "official", "vlmevalkit"),
    [
        ("B", "B", "B"),
        ("C ", "C", "C"),
        ("  C  ", None, "C"),
        ("So \\boxed{\\text{D}}.", "D", "D"),
        ("\\boxed{A or B}", None, None),
        ("The answer is (B).", "B", "B"),
        ("So the answer is: a", "A", "A"),
        ("(B) the second", None, None),
        ("", None, None),
    ],
)
def test_visulogic_takes_a_longer_reply_whole_only_for_vlmevalkit(
    reply: str, official: str | None, vlmevalkit: str | None
) -> None:
    assert value(parse_visulogic_official(reply, {})) == official
    assert value(parse_visulogic(reply, {})) == vlmevalkit


@pytest.mark.parametrize(
    ("reply", "gold", "right"),
    [
        (r"It is \boxed{\dfrac{1}{2}}, twice \boxed{1}", r"\frac{1}{2}", True),
        (r"It is \boxed{1", "1", True),
        ("The final answer is: UP", "up", True),
        ("The final answer is UP", "up", False),
        (r"\boxed{\pi}", "3.14", True),
        ("15", "5", True),
        ("", "5", False),
    ],
)
def test_open_answers_of_phyx(reply: str, gold: str, right: bool) -> None:
    answer = value(parse_phyx(reply))
    assert (answer is not None and equal_phyx(answer, (gold,))) == right


@pytest.mark.parametrize(
    ("reply", "gold", "right"),
    [
        ("{'Reasoning': 'it flies', 'Answer': 'jet'}", "Airliner", True),
        ('{"Reasoning": "", "Answer": "Three"}', "3", True),
        ("{'Answer': 4}", "Yes", True),
        ("none", "No", True),
        ("0", "No", True),
        ("0", "no", False),
        ("It is blue", "Blue", False),
        ("school bus", "double bus", True),
        ("suv", "jet", False),
    ],
)
def test_spatial457(reply: str, gold: str, right: bool) -> None:
    answer = value(parse_spatial457(reply))
    assert answer is not None
    assert equal_spatial457(answer, (gold,)) == right
