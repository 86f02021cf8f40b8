"""What is special about the benchmarks about videos that model reports quote."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.videos.video_mme_v2 import LOGIC, group_score
from snellen.core.benchmark import Variant
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.scoring.relative_accuracy import mean_relative_accuracy, relative_accuracy_lmms_eval

LAYOUTS = Path(__file__).parent / "layouts"


def samples_of(name: str, path: Path) -> list[Sample]:
    benchmark = open_benchmark(name, Variant(data=str(path)))
    return list(benchmark.samples(benchmark.open()))


@pytest.mark.parametrize(
    ("right", "structure", "points"),
    [
        ("1111", "[1, [2, 3], 4]", 100),
        ("1010", "[1, [2, 3], 4]", 400 / 12),
        ("0110", "[1, [2, 3], 4]", 0),
        ("0100", "[[1, 2], 3, 4]", 10),
        ("1101", "[1, 2, 3, 4]", 25),
        ("0000", "[1, 2, 3, 4]", 0),
    ],
)
def test_answers_of_a_logic_group_count_up_to_the_first_wrong_one(right: str, structure: str, points: float) -> None:
    answers = [one == "1" for one in right]
    assert 100 * group_score(answers, LOGIC, structure) == pytest.approx(points)


def test_a_relevance_group_counts_its_right_answers_in_any_place() -> None:
    assert group_score([False, True, False, True], "relevance", "[1, 2, 3, 4]") == 4 / 16
    assert group_score([False, True, False, True], LOGIC, "[1, 2, 3, 4]") == 0


@pytest.mark.parametrize(("estimate", "share"), [(10, 1.0), (10.5, 1.0), (10.6, 0.9), (14.9, 0.1), (15.1, 0.0)])
def test_a_number_earns_the_thresholds_that_its_error_does_not_exceed(estimate: float, share: float) -> None:
    assert mean_relative_accuracy(estimate, 10) == pytest.approx(share)


def test_no_number_earns_nothing() -> None:
    assert mean_relative_accuracy(None, 10) == 0.0


@pytest.mark.parametrize(("reply", "share"), [("twenty-one, not 4", 1.0), ("4, not twenty-one", 0.0)])
def test_lmms_eval_takes_the_first_number_also_in_words(reply: str, share: float) -> None:
    assert relative_accuracy_lmms_eval(reply, ("21",)) == share


@pytest.mark.parametrize("name", ["vsi-bench", "revsi"])
def test_questions_for_numbers_also_say_that_frames_of_a_video_are_shown(name: str) -> None:
    benchmark = open_benchmark(name, Variant(data=str(LAYOUTS / f"{name}.jsonl")))
    steps = [next(iter(benchmark.flow(sample))) for sample in benchmark.samples(benchmark.open())]
    asked = [step.text() for step in steps if isinstance(step, Request)]
    assert {text.count("These are frames of a video.\n") for text in asked} == {1}
    assert any("Options:" not in text for text in asked)


def test_each_question_about_a_video_is_a_sample_unless_its_answer_is_withheld() -> None:
    samples = samples_of("motionbench", LAYOUTS / "motionbench.jsonl")
    assert [sample.id for sample in samples] == ["q1", "q3"]
    assert samples[0].options == {"A": "Sits", "B": "Stands", "C": "Waves"}
    assert samples[0].question == "What does the man do first?"
    assert samples[0].groups["question_type"] == "Action Order"


def test_options_that_are_not_there_are_left_out() -> None:
    first = samples_of("longvideobench", LAYOUTS / "longvideobench.jsonl")[0]
    assert list(first.options) == ["A", "B", "C"]
    assert first.gold == ("B",)


def test_questions_numbered_within_a_video_have_ids_of_their_own() -> None:
    ids = [sample.id for sample in samples_of("perceptiontest", LAYOUTS / "perceptiontest.jsonl")]
    assert ids == ["video_1/0", "video_1/1", "video_2/0"]


def test_a_place_of_an_option_is_not_taken_for_its_text() -> None:
    count = samples_of("tomato", LAYOUTS / "tomato.jsonl")[0]
    assert count.options["C"] == "3"
    assert count.gold == ("C",)
