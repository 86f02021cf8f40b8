"""What is special about the benchmarks of pictures that are listed or have a rule of their own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from snellen import Scored, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.sample import Row
from snellen.extract.boxes import boxed_texts
from snellen.extract.published.vlmevalkit_images import parse_vmcbench


def scored(folder: Path, benchmark: str, rows: list[dict[str, Any]], rule: str = "") -> Scored:
    predictions = folder / "predictions.jsonl"
    predictions.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return score(benchmark, predictions, variant=Variant(rule=rule or None))


def test_scam_offers_the_object_and_the_word_in_either_order() -> None:
    rows = [Row(n, {"id": str(n), "object_label": "cup", "attack_word": "taxi", "type": "SCAM"}) for n in range(20)]
    samples = list(open_benchmark("scam").samples(rows))
    assert {tuple(sample.options.values()) for sample in samples} == {("cup", "taxi"), ("taxi", "cup")}
    assert all(sample.options[sample.gold[0]] == "cup" for sample in samples)
    assert {sample.groups["category"] for sample in samples} == {"SCAM"}
    assert list(open_benchmark("scam").samples(rows[3:5])) == samples[3:5]


def test_scam_keeps_options_that_a_row_has() -> None:
    cells = {"index": "1", "question": "?", "A": "taxi", "B": "cup", "answer": "B"}
    [sample] = open_benchmark("scam").samples([Row(0, cells)])
    assert (sample.options, sample.gold) == ({"A": "taxi", "B": "cup"}, ("B",))


def test_a_section_is_the_mean_of_its_benchmarks(tmp_path: Path) -> None:
    def row(number: int, category: str, reply: str) -> dict[str, Any]:
        cells = {"question": "?", "A": "cat", "B": "dog", "answer": "A", "category": category}
        return {"index": number, **cells, "prediction": reply}

    rows = [row(n, "TextVQA", "A") for n in range(9)]
    rows += [row(9, "OCRVQA", "B"), row(10, "GQA", "A")]
    summary = scored(tmp_path, "vmcbench", rows).summary
    assert summary.headline.value == pytest.approx(1000 / 11)
    assert summary.metrics["ocr"].value == 50.0
    assert summary.metrics["reasoning"].value is None
    assert "MMMU" in summary.metrics["reasoning"].note


def test_vmcbench_random_draws_are_reproducible() -> None:
    options = {"A": "cat", "B": "dog", "C": "cow", "D": "owl"}
    drawn = {parse_vmcbench(f"hm {n}", options).value for n in range(40)}  # type: ignore[union-attr]
    assert drawn == set(options)
    assert parse_vmcbench("hm 1", options) == parse_vmcbench("hm 1", options)


CHOICE = {"type": "选择", "question": "哪些？", "option1": "红", "option2": "绿", "option3": "蓝"}
STATEMENT = {"type": "判断", "question": "有船。"}
BLANK = {"type": "填空", "question": "有____只船。"}


@pytest.mark.parametrize(
    ("cells", "gold", "reply", "credit", "by_vlmevalkit"),
    [
        (CHOICE, "AC", "AC", 1.0, 1.0),
        (CHOICE, "AC", "答案是A、C。", 1.0, 1.0),
        (CHOICE, "AC", "A", 0.0, 0.0),
        (CHOICE, "B", "B. 绿", 1.0, 1.0),
        (CHOICE, "B", "(B) not (C). (B)", 1.0, 1.0),
        (STATEMENT, "对", "对", 1.0, 1.0),
        (STATEMENT, "错", "错", 1.0, 1.0),
        (STATEMENT, "错", "这一说法错误。", 1.0, 1.0),
        # VLMEvalKit finds the word for right within the words for not right.
        (STATEMENT, "错", "不对", 1.0, 0.0),
        (BLANK, "3", "3", 1.0, 1.0),
        (BLANK, "3", "一共有3只船", 1.0, 1.0),
        (BLANK, "3", "先是4，结果是3", 0.0, 1.0),
        (BLANK, "3", "4", 0.0, 0.0),
        (BLANK, "雷峰塔", "答案：雷峰塔", 1.0, 1.0),
    ],
)
def test_cmmmu_asks_in_three_ways(
    cells: dict[str, str], gold: str, reply: str, credit: float, by_vlmevalkit: float, tmp_path: Path
) -> None:
    rows = [{"index": 1, **cells, "answer": gold, "category": "科学", "prediction": reply}]
    [record] = scored(tmp_path, "cmmmu", rows).records
    assert record.score == credit
    [record] = scored(tmp_path, "cmmmu", rows, rule="vlmevalkit").records
    assert record.score == by_vlmevalkit


def test_cmmmu_never_says_how_many_options_are_right() -> None:
    rows = [Row(n, {"index": str(n), **CHOICE, "answer": gold}) for n, gold in enumerate(("B", "AC"))]
    one, two = open_benchmark("cmmmu").samples(rows)
    assert (one.question, one.kind, one.options) == (two.question, two.kind, two.options)
    assert "\nA. 红\nB. 绿\nC. 蓝\n" in one.question
    assert (one.gold, two.gold) == (("B",), ("A, C",))


def test_a_question_about_matches_counts_under_each_type() -> None:
    cells = {"index": "1", "question": "?", "answer": "B", "match_type": "[1, 5, 9]"}
    unknown = {**cells, "index": "2", "match_type": "colour"}
    one, two = open_benchmark("mmvmbench").samples([Row(0, cells), Row(1, unknown)])
    assert one.groups == {"match_type": "CL, RP"}
    assert two.groups == {}


LENGTHS = ("q-spatial", {"question": "How wide?", "question_type": "width", "answer": "(2, 'm')"})
COUNT = ("omni3d-bench", {"question": "How many?", "answer_type": "int", "answer": "3"})
SIZE = ("omni3d-bench", {"question": "How high?", "answer_type": "float", "answer": "2"})
TRUTH = ("omni3d-bench", {"question": "Is it?", "answer_type": "str", "answer": "yes"})
BRICKS = {"A": "one", "B": "two", "C": "three", "D": "four"}
ORDER = ("lego-puzzles", {"question": "In which order?", **BRICKS, "question_type": "sort", "answer": "BDAC"})
SEVERAL = ("a4bench", {"question": "What for?", **BRICKS, "answer": "['A', 'C']"})


@pytest.mark.parametrize(
    ("asked", "reply", "credit", "by_vlmevalkit"),
    [
        (LENGTHS, r"\scalar{190} \distance_unit{cm}", 1.0, 1.0),
        (LENGTHS, r"\scalar{4.1} \distance_unit{m}", 0.0, 0.0),
        (LENGTHS, "It is about 6 feet 2 inches wide.", 1.0, 0.0),
        (LENGTHS, "1.5-2.5 m", 1.0, 0.0),
        (LENGTHS, "I cannot tell.", 0.0, 0.0),
        (LENGTHS, "2", 0.0, 0.0),
        (COUNT, "<ans>3</ans>", 1.0, 1.0),
        (COUNT, "There are three: <ans> 3.0 </ans>", 1.0, 0.0),
        (SIZE, "<ans>2.2</ans>", 0.8, 0.8),
        (SIZE, "<ans>2.2 m</ans>", 0.8, 0.0),
        (SIZE, "no", 0.0, 0.0),
        (TRUTH, "<ans>true</ans>", 1.0, 1.0),
        (TRUTH, "<ans>not yes</ans>", 0.0, 1.0),
        (ORDER, "BDAC", 1.0, 1.0),
        (ORDER, "B, D, A, C", 1.0, 0.0),
        (ORDER, "ABCD is wrong. The answer is B -> D -> A -> C.", 1.0, 0.0),
        (ORDER, "BDA", 0.0, 0.0),
        (SEVERAL, "['C', 'A']", 1.0, 1.0),
        (SEVERAL, "A and C", 1.0, 0.0),
        (SEVERAL, "['A']", 0.0, 0.0),
    ],
)
def test_answers_about_space_are_graded_by_their_form(
    asked: tuple[str, dict[str, str]], reply: str, credit: float, by_vlmevalkit: float, tmp_path: Path
) -> None:
    name, cells = asked
    rows = [{"index": 1, **cells, "prediction": reply}]
    [record] = scored(tmp_path, name, rows).records
    assert record.score == pytest.approx(credit)
    [record] = scored(tmp_path, name, rows, rule="vlmevalkit").records
    assert record.score == pytest.approx(by_vlmevalkit)


@pytest.mark.parametrize(
    ("text", "contents"),
    [
        (r"so \boxed{2}", ["2"]),
        (r"\boxed{\frac{1}{2}} and \boxed{ x_{1} }", [r"\frac{1}{2}", "x_{1}"]),
        (r"\boxed{\boxed{7}}", ["7"]),
        (r"\boxed{} \boxed{3}", ["3"]),
        (r"\boxed{4", []),
        ("4", []),
        (r"\boxed{" * 5000, []),
        (r"\boxed{" * 5000 + "}" * 4990, []),
    ],
)
def test_boxes_are_read_to_their_brackets(text: str, contents: list[str]) -> None:
    assert boxed_texts(text) == contents


@pytest.mark.parametrize(
    ("reply", "credit", "judged_true"),
    [
        (r"\boxed{3} and \boxed{\frac{8}{2}}", 1.0, 1.0),
        (r"\boxed{3}, \boxed{3}", 1.0, 1.0),
        (r"\boxed{3} and \boxed{5}", 0.5, 1.0),
        (r"\boxed{t = 4}", 1.0, 1.0),
        ("The answer is 4.", 1.0, 1.0),
        ("The answer is 5.", 0.0, 0.0),
        ("I cannot solve it.", 0.0, 0.0),
    ],
)
def test_the_score_of_a_physics_problem_is_a_share_of_its_boxes(
    reply: str, credit: float, judged_true: float, tmp_path: Path
) -> None:
    cells = {"question": "When?", "answer": "['3', '4']", "category": "optics"}
    row = {"index": 1, **cells, "prediction": reply, "verdict": "True"}
    summary = scored(tmp_path, "physics", [row]).summary
    assert (summary.headline.name, summary.headline.value) == ("accuracy_by_rules", 100 * credit)
    predictions = tmp_path / "predictions.jsonl"
    judged = score("physics", predictions, judges=["column:verdict"])
    assert judged.summary.headline.value == 100 * judged_true


def test_linked_pictures_count_by_task(tmp_path: Path) -> None:
    """Statements in pairs, counts by their error, and the plain mean of the tasks."""

    def row(name: str, category: str, gold: str, reply: str) -> dict[str, Any]:
        cells = {"question": "?", "answer": gold, "category": category, "image_seq_len": 4}
        return {"index": name, **cells, "prediction": reply}

    rows = [
        row("oc-cpr_1_p", "oc-cpr", "T", "True"),
        row("oc-cpr_1_n", "oc-cpr", "F", "It is false."),
        row("oc-cpr_2_p", "oc-cpr", "T", "T"),
        row("oc-cpr_2_n", "oc-cpr", "F", "T or F"),
        row("oc-cnt_1", "oc-cnt", "3", "three"),
        row("oc-cnt_2", "oc-cnt", "3", "I see 2."),
        row("pc-grp_1", "pc-grp", "B) 2 and 3", "B) 2 and 3"),
    ]
    for rule in ("snellen", "vlmevalkit"):
        summary = scored(tmp_path, "vlm2bench", rows, rule=rule).summary
        # Half of the largest error of 2, with as many pictures as the penalty takes.
        count = 100 * (1 + 1 - 0.5**0.1) / 2
        assert summary.metrics["oc-cpr"].value == 50.0
        assert summary.metrics["oc-cnt"].value == pytest.approx(count)
        assert summary.metrics["pc-grp"].value == 100.0
        assert summary.headline.name == "mean_of_tasks"
        assert summary.headline.value == pytest.approx((50 + count + 100) / 3)
        assert summary.metrics["accuracy"].value is not None
