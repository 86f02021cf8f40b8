"""What is special about the benchmarks of images that model reports quote, and the fields of TOML
files that came with them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.request import Generate, Text
from snellen.core.sample import Sample
from snellen.core.summary import Summary
from snellen.engine.offline.gold_check import answer_samples, gold_reply
from snellen.extract.published import quoted_images as rules
from snellen.extract.published.vlmevalkit_spatial import parse_spatial

LAYOUTS = Path(__file__).parent / "layouts"
ABCD = dict(zip("ABCD", ("red cup", "blue cup", "jar", "bowl"), strict=True))


def opened(name: str, path: Path | None = None, rule: str | None = None) -> tuple[Benchmark, list[Sample]]:
    benchmark = open_benchmark(name, Variant(data=str(path or LAYOUTS / f"{name}.tsv"), rule=rule))
    return benchmark, list(benchmark.samples(benchmark.open()))


def answered(name: str, wrong: set[str]) -> Summary:
    """All questions answered right but those of these ids."""
    benchmark, samples = opened(name)

    def say(sample: Sample, *given: object) -> Generated:
        return Generated("qzx") if sample.id in wrong else gold_reply(sample, *given)  # type: ignore[arg-type]

    return benchmark.summarise(list(answer_samples(benchmark, samples, say)))


def asked(benchmark: Benchmark, sample: Sample) -> str:
    request = next(benchmark.flow(sample))
    assert isinstance(request, Generate)
    return "".join(part.text for message in request.messages for part in message.parts if isinstance(part, Text))


def test_one_wrong_row_makes_its_question_of_3dsrbench_wrong() -> None:
    summary = answered("3dsrbench", {"1"})
    assert summary.headline.name == "flip_circular_accuracy"
    assert summary.headline.value == 50.0
    assert summary.metrics["accuracy"].value == pytest.approx(700 / 8)


def test_a_wrong_row_of_naturalbench_costs_its_group_its_question_and_its_image() -> None:
    metrics = answered("naturalbench", {"1"}).metrics
    assert [metrics[name].value for name in ("group_accuracy", "question_accuracy", "image_accuracy")] == [50, 75, 75]
    halves = answered("naturalbench", {"0", "3"}).metrics
    assert [halves[name].value for name in ("question_accuracy", "image_accuracy")] == [50, 50]
    same_question = answered("naturalbench", {"0", "1"}).metrics
    assert [same_question[name].value for name in ("question_accuracy", "image_accuracy")] == [75, 50]


def test_xlrs_bench_leads_with_the_mean_of_its_tasks_and_wants_all_letters() -> None:
    benchmark, samples = opened("xlrs-bench")
    assert benchmark.headline == "mean_of_tasks"
    assert "(A) Housing" in asked(benchmark, samples[0])
    for reply, right in (("A, B", 1.0), ("(B) and (A)", 1.0), ("AB", 1.0), ("A", 0.0), ("A, B, C", 0.0)):
        [record] = answer_samples(benchmark, samples[:1], lambda *_, reply=reply: Generated(reply))
        assert record.score == right, reply


def test_mindcube_asks_the_authors_prompt_and_a_file_of_ones_own_by_its_names(tmp_path: Path) -> None:
    benchmark, samples = opened("mindcube")
    assert "[Question]" in asked(benchmark, samples[0])
    own = tmp_path / "own.tsv"
    own.write_text("index\tquestion\tanswer\n0\tWhat is left? A. Sofa B. Door\tB\n")
    benchmark, samples = opened("mindcube", own)
    assert asked(benchmark, samples[0]) == "What is left? A. Sofa B. Door"


def test_options_in_the_picture_have_a_closing_line_of_their_own() -> None:
    benchmark, samples = opened("visualpuzzles")
    listed, drawn = asked(benchmark, samples[0]), asked(benchmark, samples[2])
    assert "(C) star" in listed
    assert "in the image" not in listed
    assert "Options: Choose from (A) (B) (C) (D) in the image." in drawn


@pytest.mark.parametrize(("ids", "told"), [("01", ["0", "1"]), ("00", ["0", "1"]), ("57", ["5", "7"])])
def test_parts_are_one_table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ids: str, told: list[str]) -> None:
    """Rows keep their ids where these differ between the parts."""
    monkeypatch.setenv("LMUData", str(tmp_path))
    for number in range(15):
        row = {"index": f"{number}{number}", "question": "Q?", "multi-choice options": "(A) x (B) y", "answer": "A"}
        if number < len(ids):
            row["index"] = ids[number]
        row |= {"category": "Counting", "l2-category": "Overall counting"}
        (tmp_path / f"XLRS-Bench-lite_part{number}.jsonl").write_text(json.dumps(row))
    benchmark = open_benchmark("xlrs-bench", Variant())
    table = benchmark.open()
    samples = list(benchmark.samples(table))
    assert len(table) == len(samples) == 15
    assert [sample.id for sample in samples][:2] == told
    assert benchmark.fetch is not None


@pytest.mark.parametrize(
    ("parse", "reply", "label"),
    [
        (parse_spatial, "<answer>c. jar</answer>", "C"),
        (parse_spatial, "A or B?\n**D**", "D"),
        (parse_spatial, "the answer is a dog", "A"),
        (parse_spatial, "A and B", None),
        (rules.parse_last_answer, "Answer: B. No, answer: d", "D"),
        (rules.parse_last_answer, "(B)", None),
        (rules.parse_mindcube, "B. Then D. At last A", "D"),
        (rules.parse_mindcube, "I see a wall\nC it is", "C"),
        (rules.parse_omnispatial, "B", "A"),
        (rules.parse_omnispatial, "Answer: C\nAnswer: D", "D"),
        (rules.parse_omnispatial, "answer: d", None),
        (rules.parse_visualpuzzles, "(A) is wrong. Answer: (b)", "B"),
        (rules.parse_visualpuzzles, "it shows the blue cup then", "B"),
        (rules.parse_naturalbench, "It is b, not a", "B"),
        (rules.parse_erqa, " c ", "C"),
        (rules.parse_erqa, "C.", None),
        (rules.parse_corecognition, "The answer is E, I think", "E"),
    ],
)
def test_published_rules(parse: object, reply: str, label: str | None) -> None:
    answer = parse(reply, ABCD)  # type: ignore[operator]
    assert (answer.value if isinstance(answer, ParsedAnswer) else None) == label


def test_yes_and_no_have_a_rule_of_their_own_beside_choices() -> None:
    benchmark, samples = opened("corecognition", rule="vlmevalkit")
    own, _ = opened("corecognition")
    reply = "It is hidden: yes"
    scores = [
        next(iter(answer_samples(one, samples[:1], lambda *_: Generated(reply)))).score for one in (benchmark, own)
    ]
    assert scores == [0.0, 1.0]


def test_circled_letters_and_grids_are_read_by_task() -> None:
    benchmark, samples = opened("vlmsareblind", rule="vlmevalkit")
    replies = ("{4}", "yes.", "{K}", "rows={4} columns={7}", "{3}{5}", "16 circles")
    records = list(answer_samples(benchmark, samples, lambda sample, *_: Generated(replies[int(sample.id)])))
    assert [record.score for record in records] == [1, 1, 0, 1, 0, 1]
