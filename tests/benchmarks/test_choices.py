"""What single multiple-choice and yes/no benchmarks count in their own way."""

from __future__ import annotations

import base64
import io
from pathlib import Path

import pytest
from PIL import Image

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record
from snellen.core.summary import Summary
from snellen.engine.offline.gold_check import answer_samples

LAYOUTS = Path(__file__).parent / "layouts"


def opened(name: str, **variant) -> Benchmark:
    return open_benchmark(name, Variant(data=str(LAYOUTS / f"{name}.tsv"), **variant))


def answered(benchmark: Benchmark, replies: dict[str, str | None]) -> tuple[Summary, list[Record]]:
    """Replies by id, None for a request that failed; the rest is answered right."""
    samples = list(benchmark.samples(benchmark.open()))
    assert set(replies) <= {sample.id for sample in samples}

    def reply(sample, request) -> Output:
        said = replies.get(sample.id, sample.gold[0])
        return Failure("request", "down") if said is None else Generated(said)

    records = answer_samples(benchmark, samples, reply)
    return benchmark.summarise(records), records


def test_mmvp_counts_pairs() -> None:
    summary, records = answered(opened("mmvp"), {"2": "A"})
    assert [record.unit for record in records] == ["pair 1", "pair 1", "pair 2", "pair 2"]
    assert summary.headline.value == 50.0
    assert summary.headline.n == 2
    assert summary.metrics["accuracy"].value == 75.0


def test_mmvp_pairs_of_the_authors_file(tmp_path: Path) -> None:
    file = tmp_path / "Questions.csv"
    file.write_text(
        "Index,Question,Options,Correct Answer\n"
        "1,Are the wings open?,(a) Open (b) Closed,(a)\n"
        "2,Are the wings open?,(a) Open (b) Closed,(b)\n"
    )
    benchmark = open_benchmark("mmvp", Variant(data=str(file)))
    first, second = benchmark.samples(benchmark.open())
    assert (dict(first.options), first.gold) == ({"A": "Open", "B": "Closed"}, ("A",))
    assert (first.unit, second.unit, second.gold) == ("pair 1", "pair 1", ("B",))


def test_failed_question_excludes_its_pair_and_widens_the_bounds() -> None:
    summary, _ = answered(opened("mmvp"), {"1": None, "3": "B"})
    assert (summary.headline.value, summary.headline.n) == (0.0, 1)
    assert summary.bounds is not None
    assert (summary.bounds.worst, summary.bounds.best) == (0.0, 50.0)
    summary, _ = answered(opened("mmvp", failures="count-wrong"), {"1": None})
    assert (summary.headline.value, summary.headline.n) == (50.0, 2)


def test_cvbench_averages_sources_then_dimensions() -> None:
    # ADE20K: 1 of 2, COCO: 1 of 1, Omni3D: 0 of 1.
    summary, _ = answered(opened("cvbench"), {"0": "B", "2": "A"})
    assert summary.headline.value == pytest.approx(100 * ((0.5 + 1) / 2 + 0) / 2)
    assert summary.metrics["accuracy"].value == 50.0
    assert summary.groups["source"]["ADE20K"].value == 50.0
    interval = summary.headline.interval
    assert interval is not None
    assert interval.low < 37.5 < interval.high


def test_cvbench_one_dimension_alone() -> None:
    summary, records = answered(opened("cvbench", options={"dimension": "2D"}), {"0": "B"})
    assert len(records) == 3
    assert summary.headline.value == pytest.approx(75.0)


def test_hallusionbench_counts_answers_figures_and_questions() -> None:
    # Set 0: figure 0 {q0}, figure 1 {q0, q1}; set 1: figure 0 {q0, q1}. Wrong: set 0, figure 1, q0.
    summary, _ = answered(opened("hallusionbench"), {"1_VD_illusion_0_1_0": "Yes"})
    assert summary.metrics["aAcc"].value == pytest.approx(80.0)
    assert summary.metrics["fAcc"].value == pytest.approx(100 * 2 / 3)
    assert summary.metrics["qAcc"].value == pytest.approx(75.0)
    assert summary.headline.value == pytest.approx((80 + 200 / 3 + 75) / 3)


def test_hallusionbench_file_of_its_authors(tmp_path: Path) -> None:
    file = tmp_path / "HallusionBench.json"
    file.write_text(
        '[{"category": "VS", "subcategory": "map", "set_id": "2", "figure_id": "1", '
        '"question_id": "0", "question": "Is it?", "gt_answer": "1"}]'
    )
    benchmark = open_benchmark("hallusionbench", Variant(data=str(file)))
    (sample,) = benchmark.samples(benchmark.open())
    assert (sample.gold, sample.kind, sample.unit) == (("Yes",), "yes_no", "VS-map/2/1/0")


@pytest.mark.parametrize(
    ("reply", "ours", "official"),
    [
        ("B", "B", "B"),
        ("(E)", "E", "E"),
        ("d", "D", "A"),  # it stands in "red"
        ("Because it is big, the answer is (D)", "D", "B"),
        ("The best answer is: C", "C", "C"),
        ("", None, "A"),
        ("sorry", None, None),
    ],
)
def test_mme_realworld_readings(reply: str, ours: str | None, official: str | None) -> None:
    for rule, expected in (("snellen", ours), ("official", official)):
        _, records = answered(opened("mme-realworld", rule=rule), {"0": reply})
        assert records[0].answer == expected


def test_mme_realworld_options_lose_their_letters_and_levels_are_groups() -> None:
    benchmark = opened("mme-realworld")
    sample = next(benchmark.samples(benchmark.open()))
    assert sample.options["A"] == "Red"
    assert sample.groups["task"] == "Perception"
    assert sample.groups["subtask"] == "Autonomous_Driving"


def test_mmmu_keeps_its_split_and_shows_images_where_they_are_named() -> None:
    benchmark = opened("mmmu")
    samples = list(benchmark.samples(benchmark.open()))
    assert [sample.kind for sample in samples] == ["choice", "open", "open"]
    assert samples[2].gold == ("van Gogh", "Vincent van Gogh")
    dev = opened("mmmu", options={"split": "dev"})
    assert [sample.id for sample in dev.samples(dev.open())] == ["4"]
    (message,) = next(benchmark.flow(samples[1])).messages
    assert [type(part).__name__ for part in message.parts] == ["Text", "Media", "Text", "Media", "Text"]


@pytest.mark.parametrize(
    ("reply", "right"),
    [
        ("The answer is 3.5", True),
        ("So the area is 3.504 square metres", True),
        ("about 3.6", False),
        ("It is 1 + 2.5 = 3.5", True),
    ],
)
def test_mmmu_open_numbers(reply: str, right: bool) -> None:
    _, records = answered(opened("mmmu"), {"2": reply})
    assert records[1].score == float(right)


def test_mmmu_pro_vision_writes_no_options_into_the_prompt() -> None:
    file = LAYOUTS / "mmmu-pro@setting=vision.tsv"
    benchmark = open_benchmark("mmmu-pro:setting=vision", Variant(data=str(file)))
    sample = next(benchmark.samples(benchmark.open()))
    (message,) = next(benchmark.flow(sample)).messages
    assert message.text().strip() == (
        "Answer the following multiple-choice question in the image. "
        "Answer with the option letter from the given choices directly."
    )
    assert (sample.options, sample.gold, benchmark.chance) == ({}, ("A",), 10.0)


def test_muirbench_puts_each_image_at_its_mark() -> None:
    benchmark = opened("muirbench")
    sample = next(benchmark.samples(benchmark.open()))
    (message,) = next(benchmark.flow(sample)).messages
    assert [type(part).__name__ for part in message.parts] == ["Text", "Media", "Media", "Text"]


@pytest.mark.parametrize(
    "spec",
    [
        "mmmu:split=test",
        "mmbench:split=test",
        "mmt-bench:split=all",
        "q-bench:split=test",
        "a-bench:split=test",
        "aesbench:split=test",
        "gmai-mmbench:split=test",
    ],
)
def test_reports_withheld_answers(spec: str) -> None:
    made = open_benchmark(spec)
    assert "withheld" in made.unscorable
    assert made.oracle is None
    name = made.name
    assert open_benchmark(spec, Variant(data=str(LAYOUTS / f"{name}.tsv"))).unscorable == ""


def test_listed_benchmarks_without_a_rule_are_asked_and_not_scored() -> None:
    made = opened("core-mm")
    samples = list(made.samples(made.open()))
    summary = made.summarise(answer_samples(made, samples, lambda *_: Generated("2")))
    assert summary.headline.value is None
    assert summary.no_gold == len(samples) == 3
    assert (made.coverage, made.oracle) == ("inference only", None)


def test_listed_names_of_other_tools_choose_the_file() -> None:
    assert open_benchmark("HRBench8K").parameters["size"] == "8k"
    assert open_benchmark("phyx_mini_oe").parameters["edition"] == "mini-oe"
    assert open_benchmark("LEGO").name == "lego-puzzles"
    layout = opened("lego-puzzles")
    kinds = [sample.kind for sample in layout.samples(layout.open())]
    assert kinds == ["choice", "choice", "open"]


def test_pictures_of_a_layout_can_be_opened() -> None:
    cell = (LAYOUTS / "mmstar.tsv").read_text().splitlines()[1].split("\t")[-1]
    with Image.open(io.BytesIO(base64.b64decode(cell))) as image:
        assert image.size == (8, 8)
