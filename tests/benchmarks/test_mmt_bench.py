"""MMT-Bench: the hierarchy, the numbers of a run, guessing, hidden answers, steps of reading."""

from __future__ import annotations

from pathlib import Path

import pytest
from mmt_rows import row, write

from snellen.benchmarks.abilities.mmt_bench.benchmark import BENCHMARK
from snellen.benchmarks.abilities.mmt_bench.tasks import (
    by_capability,
    by_cluster,
    by_image_type,
    by_meta_task,
    by_study,
    find_meta_task,
    find_subtask,
    meta_tasks,
    subtasks,
)
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import Request
from snellen.core.summary import Summary

ROWS = [
    row(0, "weather_recognition", "visual_recognition", "A"),
    row(1, "weather_recognition", "visual_recognition", "A"),
    row(2, "weather_recognition", "visual_recognition", "B"),
    row(3, "rock_recognition", "visual_recognition", "C"),
    row(4, "doc_vqa", "doc_understanding", "A"),
    row(5, "clock_reading", "doc_understanding", "B", C="", D=""),
    row(6, "threed_cad_recognition", "threed", "D"),
]


def opened(path: Path, **options: str) -> Benchmark:
    return open_benchmark("mmt-bench", Variant(data=str(path), options=options))


def answered(benchmark: Benchmark, replies: dict[str, str | Output]) -> list[Record]:
    def reply(request: Request) -> Output:
        said = replies.get(request.ref.sample, "A")
        return Generated(said) if isinstance(said, str) else said

    table = benchmark.open()
    return [run_flow(benchmark.flow(one), reply) for one in benchmark.samples(table)]


def summed(path: Path, replies: dict[str, str | Output]) -> Summary:
    benchmark = opened(path)
    return benchmark.summarise(answered(benchmark, replies))


def test_the_hierarchy_is_that_of_the_paper() -> None:
    assert (len(meta_tasks()), len(subtasks())) == (32, 162)
    assert sum(task.samples for task in subtasks()) == 31_325
    assert (len(by_image_type()), len(by_capability()), len(by_cluster())) == (13, 14, 12)
    assert {name: len(held) for name, held in by_study().items()} == {
        "multi-image": 28,
        "referring": 14,
        "detection": 19,
    }
    assert len(by_meta_task()["VR"]) == 35


@pytest.mark.parametrize(
    ("spelling", "name"),
    [
        ("threed_cad_recognition", "threed_cad_recognition"),
        ("3D Cad Recognition", "threed_cad_recognition"),
        ("Facail Expression Change Recognition", "facail_expression_change_recognition"),
    ],
)
def test_subtasks_are_known_in_the_spellings_of_files_and_paper(spelling: str, name: str) -> None:
    task = find_subtask(spelling)
    assert task is not None
    assert task.name == name


@pytest.mark.parametrize(
    ("spelling", "abbreviation"), [("threed", "3D"), ("image-to-image_translation", "I2IT"), ("Visual Code", "VCo")]
)
def test_meta_tasks_are_known_by_name(spelling: str, abbreviation: str) -> None:
    meta = find_meta_task(spelling)
    assert meta is not None
    assert meta.abbreviation == abbreviation


def test_means_are_plain_means_of_subtasks(tmp_path: Path) -> None:
    summary = summed(write(tmp_path / "mmt.tsv", ROWS), {"3": "C"})
    # Weather 2/3, rock 1/1, documents 1/1 and 0/1, 3D 0/1.
    assert summary.headline.name == "overall"
    assert summary.headline.value == pytest.approx(100 * (2 / 3 + 1 + 1 + 0 + 0) / 5)
    assert summary.metrics["overall_micro"].value == pytest.approx(100 * 4 / 7)
    assert summary.metrics["overall_without_recognition"].value == pytest.approx(100 / 3)
    metas = summary.groups["l2-category"]
    assert {name: one.value for name, one in metas.items()} == pytest.approx(
        {"VR": 100 * (2 / 3 + 1) / 2, "3D": 0.0, "DU": 50.0}
    )
    assert "35 subtasks" in metas["VR"].note
    assert summary.groups["category"]["weather_recognition"].value == pytest.approx(200 / 3)
    assert summary.groups["capability"]["3D Perception"].value == 0.0
    assert summary.groups["prompt study"]["multi-image"].value == 0.0
    assert any("157 of 162 subtasks" in one for one in summary.notices)


def test_intervals_hold_the_value_and_are_the_same_each_time(tmp_path: Path) -> None:
    path = write(tmp_path / "mmt.tsv", ROWS)
    first, second = summed(path, {"3": "C"}), summed(path, {"3": "C"})
    assert first.headline.interval == second.headline.interval
    interval = first.headline.interval
    assert interval is not None
    assert interval.low <= (first.headline.value or -1) <= interval.high
    assert interval.low < interval.high


def test_guessing_is_computed_on_the_same_questions(tmp_path: Path) -> None:
    summary = summed(write(tmp_path / "mmt.tsv", ROWS), {})
    assert summary.metrics["chance"].value == pytest.approx(100 * (4 * 0.25 + 0.5) / 5)
    assert summary.metrics["frequent"].value == pytest.approx(100 * (2 / 3 + 4) / 5)
    # One name has one number: the expectation, here and in the groups.
    assert "random_guess" not in summary.metrics
    assert summary.groups["random guess"]["DU"].value == pytest.approx(37.5)


def test_a_hidden_split_has_no_score_and_no_guess(tmp_path: Path) -> None:
    hidden = [one | {"answer": "", "split": "ALL"} for one in ROWS]
    summary = summed(write(tmp_path / "all.tsv", hidden), {})
    assert summary.headline.value is None
    assert summary.no_gold == len(ROWS)
    assert not {"chance", "frequent"} & summary.metrics.keys()
    assert summary.metrics["step_1_label"].value == 100.0


def test_steps_of_reading_are_cumulative_and_refusals_counted(tmp_path: Path) -> None:
    replies: dict[str, str | Output] = {
        "0": "The answer is (A).",
        "1": "A. red",
        "2": "green",
        "3": "I see a stone of some kind.",
        "4": "I'm sorry, but I cannot assist with that request.",
        "5": Failure("request", "no answer"),
        "6": "<answer>orange</answer>",
    }
    summary = summed(write(tmp_path / "mmt.tsv", ROWS), replies)
    rates = {name: summary.metrics[name] for name in ("step_1_label", "step_2_content", "refused")}
    assert {name: one.n for name, one in rates.items()} == dict.fromkeys(rates, 6)
    assert [one.value for one in rates.values()] == pytest.approx([200 / 6, 400 / 6, 100 / 6])
    assert "step_3_llm" not in summary.metrics
    assert summary.outcomes["unparsed"] == 1
    assert summary.bounds is not None
    assert summary.bounds.best - summary.bounds.worst == pytest.approx(100 / 5)


def test_the_third_step_is_the_extractor_and_never_a_guess(tmp_path: Path) -> None:
    path = write(tmp_path / "mmt.tsv", ROWS)
    benchmark = open_benchmark("mmt-bench", Variant(data=str(path), extractor=True))
    verdicts = {"0": "B", "1": "Z", "2": "it is unclear", "3": "C"}

    def reply(request: Request) -> Output:
        unread = request.to == "extractor"
        return Generated(verdicts[request.ref.sample] if unread else "hm, well, hm")

    samples = list(benchmark.samples(benchmark.open()))[:4]
    records = [run_flow(benchmark.flow(one), reply) for one in samples]
    assert [one.answer for one in records] == ["B", None, None, "C"]
    assert [one.outcome for one in records] == ["answered", "no_match", "unparsed", "answered"]
    summary = benchmark.summarise(records)
    assert summary.metrics["step_2_content"].value == 0.0
    assert summary.metrics["step_3_llm"].value == 50.0


def test_unknown_subtask_is_named_and_counted(tmp_path: Path) -> None:
    rows = [*ROWS, row(9, "counting_sheep", "sleep", "A")]
    summary = summed(write(tmp_path / "mmt.tsv", rows), {})
    assert summary.groups["l2-category"]["sleep"].value == 100.0
    assert any("counting_sheep" in one for one in summary.notices)


def test_withheld_when_asked_for(tmp_path: Path) -> None:
    path = write(tmp_path / "mmt.tsv", ROWS)
    benchmark = open_benchmark("mmt-bench", Variant(data=str(path), failures="withhold"))
    records = answered(benchmark, {"0": Failure("request", "no answer")})
    summary = benchmark.summarise(records)
    assert (summary.headline.value, summary.groups) == (None, {})


def test_each_variant_names_its_published_file() -> None:
    assert {key: file.name for key, file in BENCHMARK.data.files.items()} == {
        ("val", "native"): "MMT-Bench_VAL_MI.tsv",
        ("val", "single"): "MMT-Bench_VAL.tsv",
        ("val", "stitch"): "MMT-Bench_VAL_MI.tsv",
        ("val", "first"): "MMT-Bench_VAL_MI.tsv",
        ("all", "native"): "MMT-Bench_ALL_MI.tsv",
        ("all", "single"): "MMT-Bench_ALL.tsv",
        ("all", "stitch"): "MMT-Bench_ALL_MI.tsv",
        ("all", "first"): "MMT-Bench_ALL_MI.tsv",
    }
    assert open_benchmark("MMT-Bench_VAL").parameters["images"] == "single"
    with pytest.raises(UsageError, match="expected one of native, single, stitch, first"):
        open_benchmark("mmt-bench:images=many")
