"""MEGA-Bench: what is asked, what is not scored, and the means over tasks, by hand and by the
authors' published figures."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from test_open_answers import Asked, of_rows, opened, record_of, shown

from snellen import score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.open_answers.mega_bench.grading.metrics import CONTEXT_METRICS, METRICS, NOT_SCORED, aggregate
from snellen.benchmarks.open_answers.mega_bench.grading.objects import balanced_parts, last_object
from snellen.benchmarks.open_answers.mega_bench.grading.replies import parse_reply
from snellen.benchmarks.open_answers.mega_bench.rows import DIMENSIONS, task_groups
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import DataError
from snellen.core.output import Generated
from snellen.core.record import Pass, Record
from snellen.core.sample import Row
from snellen.data.in_memory import Data, keep_rows

INFO = {
    "field_score_function": {"it": "exact_str_match"},
    "aggregation": {"function": "mean", "field_weights": {"it": 1}},
    "response_parse_function": "answer_string",
}
DIMENSION_OF = {"app": "application", "skills": "skill", "input_num": "input_number"}
"""The authors' names of dimensions that are called otherwise here."""


def row(task: str = "code_match_problem", **cells: Any) -> dict[str, str]:
    made = {"index": "0", "task_name": task, "question": "?", "answer": {"it": "B"}}
    made |= {"metric_info": INFO, "eval_context": {}} | cells
    return {name: str(cell) for name, cell in made.items()}


def info(metric: str, **more: Any) -> dict[str, Any]:
    return {**INFO, "field_score_function": {"it": metric}, **more}


def graded(number: int, task: str, mark: float | None, **groups: str) -> Record:
    return Record(
        id=str(number),
        kind="open",
        question="?",
        outcome="answered",
        score=mark,
        unscored="ungraded" if mark is None else None,
        gold=("a",),
        groups={"task": task, **task_groups().get(task, {}), **groups},
        passes=(Pass((), Generated("a")),),
    )


def test_images_replace_their_marks() -> None:
    made, samples = opened("mega-bench")
    asked = Asked(model="Answer: 7")
    assert record_of(made, samples[1], asked).score == 1.0
    assert shown(asked.requests[0]) == [
        "picture",
        "\nHow many parts has it?\nExample Response: Answer: 4\n",
        "picture",
        " And this?",
    ]


def test_a_judge_sees_the_question_with_its_pictures_and_the_criteria() -> None:
    made, samples = opened("mega-bench")
    asked = Asked(model="Answer: A square.", judge="**Score explanation**: Fine.\n**Score**: 7")
    assert record_of(made, samples[4], asked).score == pytest.approx(0.7)
    assert shown(asked.requests[1]) == [
        "picture",
        'Score the answer 0 to 10 as {"s": n}.\nQuestion: \nReference: A yellow square.\nAnswer: A square.',
    ]


def test_without_a_judge_the_open_set_is_left_out() -> None:
    made, samples = opened("mega-bench", judges=0)
    records = [record_of(made, sample, Asked(model=sample.gold[0] if sample.gold else "print()")) for sample in samples]
    summary = made.summarise(records)
    assert [record.score for record in records] == [1.0, 1.0, 1.0, 1.0, None, None]
    assert (summary.headline.name, summary.headline.value) == ("task_mean", 100.0)
    assert summary.notices[-2:] == (
        "1 task (code_programming_test_easy) is not scored and left out: the metric program_judge "
        "runs the reply as a program, which Snellen does not",
        "1 task (art_explanation) is left out for lack of a judge: give one with --judge MODEL",
    )


@pytest.mark.parametrize("metric", [*NOT_SCORED, "a_metric_of_tomorrow"])
def test_a_metric_that_is_not_restated_leaves_its_task_out(metric: str) -> None:
    made, [sample] = of_rows("mega-bench", [row(metric_info=info(metric))], judges=0)
    record = record_of(made, sample, Asked(model="Answer: B"))
    assert (record.score, record.unscored) == (None, "ungraded")
    assert record.groups["not_scored"] == metric
    summary = made.summarise([record])
    assert (summary.headline.value, summary.total) == (None, 1)
    assert any(metric in notice for notice in summary.notices)


def test_a_metric_over_all_fields_counts_too() -> None:
    """`worldle` has a weight for one that asks a map service, and no field of its name."""
    joined = {"function": "mean", "field_weights": {"it": 1, "near": 5}}
    told = info("exact_str_match", global_aux_metrics={"near": "bleu"}, aggregation=joined)
    cells = row(metric_info=told)
    made, [sample] = of_rows("mega-bench", [cells], judges=0)
    assert record_of(made, sample, Asked(model="B")).groups["not_scored"] == "bleu"


def test_every_task_weighs_the_same() -> None:
    made = open_benchmark("mega-bench")
    records = [graded(n, "waldo", 1.0) for n in range(3)] + [graded(3, "rebus", 0.0)]
    records += [graded(4, "art_explanation", 0.4), graded(5, "a task of one's own", 0.2)]
    summary = made.summarise(records)
    assert summary.headline.value == pytest.approx(100 * (1 + 0 + 0.4 + 0.2) / 4)
    assert summary.metrics["core"].value == pytest.approx(50.0)
    assert summary.metrics["open"].value == pytest.approx(40.0)
    assert summary.n == 6
    assert set(summary.groups) == {"task", "subset", *DIMENSIONS}
    sums = made.headline_sums(records) if made.headline_sums else None
    assert sums is not None
    assert float(sums.value(sums.rows.sum(axis=0)[None])[0]) == pytest.approx(summary.headline.value)


def test_the_means_are_those_that_the_authors_publish(golden: Callable[[str], Path]) -> None:
    """Scores of 505 tasks to the figures of their tools: 40 means."""
    folder = golden("mega_bench_gemini2")
    tasks = json.loads((folder / "task_results.json").read_text())
    official = json.loads((folder / "official_scores.json").read_text())
    made = open_benchmark("mega-bench", Variant(judges=1))
    summary = made.summarise([graded(number, task["name"], task["score"]) for number, task in enumerate(tasks)])
    model = official["model_summary"]
    assert summary.headline.value == pytest.approx(100 * model["overall_score"])
    for subset in ("core", "open"):
        assert summary.metrics[subset].value == pytest.approx(100 * model[subset]["macro_mean_score"])
        assert summary.metrics[subset].n == model[subset]["num_eval_tasks"]
    compared = 0
    for dimension, labels in official["keyword_stats"].items():
        means = summary.groups[DIMENSION_OF.get(dimension, dimension)]
        assert len(means) == len(labels)
        for label, stats in labels.items():
            name = label if dimension in ("skills", "input_num") else label.replace("_", " ")
            assert means[name].value == pytest.approx(100 * stats["average_score"]), label
            assert means[name].n == stats["count"]
            compared += 1
    assert compared == 37


def test_the_table_of_tasks_is_that_of_the_paper() -> None:
    groups = task_groups().values()
    assert len(groups) == 505
    assert sum(group["subset"] == "core" for group in groups) == 440
    assert all(group[name] for group in groups for name in DIMENSIONS)


@pytest.mark.parametrize(
    ("cells", "sentence"),
    [
        ({"answer": "B"}, "row 1: `answer` cannot be read"),
        ({"answer": "['B']"}, "row 1: `answer` is no object"),
        ({"metric_info": "{}"}, "row 1: `answer` or `metric_info` lacks something"),
        ({"metric_info": {**INFO, "response_parse_function": "xml"}}, "the parser 'xml'"),
        ({"metric_info": {**INFO, "response_parse_function": "dummy"}}, "its parser dummy"),
        ({"metric_info": {**INFO, "aggregation": {"function": "max"}}}, "joins fields by 'max'"),
        ({"metric_info": {**INFO, "aggregation": {"function": "mean"}}}, "no weight of the field"),
        ({"metric_info": info("gpt_4o_as_judge")}, "no criteria for the judge"),
        (
            {
                "metric_info": info(
                    "gpt_4o_as_judge",
                    gpt4o_eval_configs={"eval_criteria_prompt": "{a}", "template_mapping": {"a": "answers.that"}},
                )
            },
            "speak of 'answers.that'",
        ),
    ],
)
def test_a_row_says_what_it_lacks(cells: Mapping[str, Any], sentence: str) -> None:
    with pytest.raises(DataError, match=sentence):
        of_rows("mega-bench", [row(**cells)])


@pytest.mark.parametrize(("part", "kept"), [("all", ["0", "1"]), ("core", ["0"]), ("open", ["1"])])
def test_part_follows_from_the_metrics(part: str, kept: list[str], tmp_path: Path) -> None:
    criteria = {"eval_criteria_prompt": "?", "template_mapping": {}}
    rows = [row(), row(index="1", metric_info=info("gpt_4o_as_judge", gpt4o_eval_configs=criteria))]
    data = tmp_path / "data.jsonl"
    data.write_text("".join(json.dumps(one) + "\n" for one in rows))
    made: Benchmark = open_benchmark("mega-bench", Variant(data=str(data), options={"part": part}))
    assert [sample.id for sample in made.samples(made.open())] == kept


@pytest.mark.parametrize("holder", ["jsonl", "tsv", "memory"])
def test_video_replaces_its_mark(holder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.mp4").write_bytes(b"no video, but its name counts")
    Image.new("RGB", (4, 4), "red").save("b.png")
    cells = row(
        global_media=["./b.png"],
        task_description="Look at <image>",
        query_media=["./a.mp4"],
        question="<video> What comes next?",
    )
    data: Path = tmp_path / f"data.{holder}"
    if holder == "memory":
        data = keep_rows(Data([cells]), tmp_path)
    elif holder == "tsv":
        data.write_text("\t".join(cells) + "\n" + "\t".join(cells.values()) + "\n")
    else:
        data.write_text(json.dumps(cells))
    made = open_benchmark("mega-bench", Variant(data=str(data)))
    [sample] = made.samples(made.open())
    assert sample.question == "Look at <image>\n<video> What comes next?"
    assert [ref.kind for ref in sample.media] == ["image", "video"]


def test_a_wrong_form_is_wrong_and_no_traceback(tmp_path: Path) -> None:
    """Every metric, of a value of every form."""
    replies = ("", "x", "[1", "{'it': None}", "5", "[[1, {}], 'a']", "<box>x</box>", "é é")
    rows, predictions = [], []
    for number, metric in enumerate([*METRICS, *CONTEXT_METRICS]):
        context = {"bounding_boxes": ["(0, 0, 1, 1)"], "domain_pddl": "(a)", "task_pddl": "(b)"}
        for place, reply in enumerate(replies):
            index = f"{number}-{place}"
            rows.append(row(index=index, metric_info=info(metric), eval_context=context))
            predictions.append({"index": index, "prediction": reply})
    files = []
    for name, lines in (("data", rows), ("predictions", predictions)):
        files.append(tmp_path / f"{name}.jsonl")
        files[-1].write_text("".join(json.dumps(line) + "\n" for line in lines))
    scored = score("mega-bench", files[1], data=files[0])
    assert all(0 <= (record.score or 0.0) <= 1 for record in scored.records)
    assert all(record.score is not None for record in scored.records)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('x [1, {"a": [2]}] y {"b": 1}', {"b": 1}),
        ("Answer: {'a': 1}\nand {'b': 2}", {"a": 1}),
        ('{"a": "[1, 2]"}', {"a": [1, 2]}),
        ("[1, 2", []),
        ("nothing", {}),
        ("{'a': {1, 2}} {'b'", {"a": {1, 2}}),
        ('{"a": %s}' % ("1" * 5000), {}),
    ],
)
def test_the_last_object_counts(text: str, found: object) -> None:
    assert last_object(text) == found


def test_parts_are_found_in_one_pass() -> None:
    """The pattern of the authors' code takes exponential time here."""
    assert list(balanced_parts("[" * 50_000)) == []
    assert list(balanced_parts("{" * 50_000 + "}")) == ["{}"]


@pytest.mark.parametrize(
    ("reply", "parser", "value"),
    [
        ("Answer: B", "answer_string", "B"),
        ("**Answer:** B", "answer_string", ""),
        ("Answer: a\nAnswer: b", "answer_string", "b"),
        ("Answer: yes\n\nFor it is.", "answer_string", "yes"),
        ("Answer:\n```\n x\n```", "verbatim_answer_string", " x"),
        ("Answer:   x\n", "ascii_answer_string", "   x"),
        (" all of it ", "dummy", None),
    ],
)
def test_replies_are_read_by_the_parser_of_the_task(reply: str, parser: str, value: str | None) -> None:
    read = parse_reply(reply, parser, {"it": "x"})
    assert read == ("all of it" if value is None else {"it": value})


def test_fields_are_joined_as_the_task_says() -> None:
    scores = {"a": 1.0, "b": 0.5, "c": None}
    weights = {"a": 1.0, "b": 3.0, "c": 9.0}
    assert aggregate(scores, weights, "mean") == pytest.approx((1 + 1.5) / 4)
    assert aggregate(scores, weights, "min") == 0.5
    assert aggregate({"c": None}, weights, "mean") == 0.0


def test_samples_take_the_columns_of_the_hub() -> None:
    cells = {"id": "7", "query_text": "Which?", "task_description": "Look."}
    made = open_benchmark("mega-bench")
    given = {name: cell for name, cell in row().items() if name not in ("index", "question")}
    [sample] = made.samples([Row(0, {**given, **cells})])
    assert (sample.id, sample.question) == ("7", "Look.\nWhich?")
