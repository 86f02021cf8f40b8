"""CG-Bench's replies by two rules, and the overlap of intervals."""

from __future__ import annotations

import pytest

from snellen.benchmarks.videos.cg_bench.rows import intersection_over_union, merge_intervals
from snellen.core.output import ParsedAnswer
from snellen.extract.published.cg_bench import parse_clues, parse_clues_vlmevalkit, parse_result_choice, result_parser

OPTIONS = {"A": "red", "B": "blue", "C": "green"}
FENCED = '```json\n{"result": %s}\n```'


@pytest.mark.parametrize(
    ("reply", "own", "vlmevalkit"),
    [
        (FENCED % '"B"', "B", "B"),
        (FENCED % "B", "B", "B"),
        (FENCED % '"blue"', "B", "blue"),
        ('{"result": "B"}', "B", "B"),
        ("The answer is A or B.", None, "B"),
        ("blue", "B", None),
    ],
)
def test_a_choice_is_the_result(reply: str, own: str | None, vlmevalkit: str | None) -> None:
    answers = parse_result_choice(reply, OPTIONS), result_parser(("B",))(reply, OPTIONS, "stop")
    read = [answer.value if isinstance(answer, ParsedAnswer) else None for answer in answers]
    assert read == [own, vlmevalkit]


@pytest.mark.parametrize(
    ("reply", "own", "vlmevalkit"),
    [
        (FENCED % "[[8, 11]]", "[[8.0, 11.0]]", "[[8.0, 11.0]]"),
        (FENCED % "[8, 11]", "[[8.0, 11.0]]", "[[8.0, 11.0]]"),
        (FENCED % "[[0.1, 0.2]]", "[[0.1, 0.2]] of its length", "[[0.1, 0.2]] of its length"),
        ("From 8 to 11 s", None, "[[8.0, 11.0]]"),
        ("It is at [[8, 11], [20, 30]].", "[[8.0, 11.0], [20.0, 30.0]]", "[[8.0, 11.0], [20.0, 30.0]]"),
        (
            FENCED % "[[1, 2], [3, 4], [5, 6], [7, 8], [9, 10], [11, 12]]",
            "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0]]",
            "[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0], [7.0, 8.0], [9.0, 10.0], [11.0, 12.0]]",
        ),
        (FENCED % '"early"', None, None),
        ("I cannot tell.", None, None),
    ],
)
def test_clues_are_intervals(reply: str, own: str | None, vlmevalkit: str | None) -> None:
    answers = parse_clues(reply), parse_clues_vlmevalkit(reply)
    read = [answer.value if isinstance(answer, ParsedAnswer) else None for answer in answers]
    assert read == [own, vlmevalkit]


def test_overlapping_intervals_count_once() -> None:
    assert merge_intervals([(5, 9), (0, 4), (4, 6), (20, 21)]) == [(0, 9), (20, 21)]
    assert intersection_over_union([(0, 10)], [(5, 10), (8, 15)]) == pytest.approx(5 / 15)
    assert intersection_over_union([(0, 10)], [(10, 20)]) == 0.0
    assert intersection_over_union([(3, 3)], [(3, 3)]) == 0.0
