"""Replies and verdicts that ended scoring with a traceback, or that were read for minutes."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from snellen.benchmarks.declaration.rows import at_row
from snellen.benchmarks.documents.cc_ocr.grading import compare_fields, grade_transcript
from snellen.benchmarks.open_answers.mm_ifeval.benchmark import parse_constraints
from snellen.benchmarks.open_answers.mm_ifeval.text_constraints import split_sentences
from snellen.benchmarks.open_answers.mme_reasoning.benchmark import Puzzle, _is_right
from snellen.benchmarks.open_answers.mme_reasoning.puzzles import solves
from snellen.benchmarks.perception.q_spatial import parse_marked_length
from snellen.benchmarks.videos.cg_bench.benchmark import grade_overlap
from snellen.benchmarks.videos.cg_bench.rows import choice_sample, open_sample
from snellen.core.errors import DataError
from snellen.core.output import ParsedAnswer
from snellen.core.sample import Row, Sample
from snellen.extract.orders import find_order, find_order_vlmevalkit
from snellen.extract.published.cg_bench import parse_clues, parse_clues_vlmevalkit, result_parser
from snellen.extract.verdicts import parse_graded_object, parse_grades
from snellen.scoring.pages.teds import table_similarity

HUGE = "9" * 400
"""Digits of a number that no float holds."""
ENDS = ("[[0, 1e999]]", "[[NaN, 1]]", f"[[0, {HUGE}]]", "[[0, -Infinity]]", "[" * 3000, HUGE)
CLUES = Sample(id="1", kind="open", question="Where?", gold=("[[1, 2]]",), options={"seconds": "10"})


@pytest.mark.parametrize("result", ENDS, ids=lambda text: text[:14])
@pytest.mark.parametrize("parse", [parse_clues, parse_clues_vlmevalkit])
def test_intervals_without_an_end_are_none(parse: Callable[[str], object], result: str) -> None:
    for reply in (f'{{"result": {result}}}', f'```json\n{{"result": {result}}}\n```'):
        answer = parse(reply)
        if isinstance(answer, ParsedAnswer):
            assert 0 <= grade_overlap(answer.value, CLUES) <= 1


def test_parses_choice_after_deeply_nested_result() -> None:
    reply = f"```json\n{'[' * 3000}\n``` B"
    assert result_parser(("B",))(reply, {"A": "x", "B": "y"}, "stop") == ParsedAnswer("B", "vlmevalkit")


@pytest.mark.parametrize("duration", ["short", "nan"])
def test_length_that_is_not_a_number_gives_one_sentence(duration: str) -> None:
    row = Row(4, {"question": "Where?", "duration": duration})
    for make in (choice_sample, open_sample):
        with pytest.raises(DataError, match=r"row 5: `duration` is .*expected the length"):
            at_row("clues.tsv", row, make, row, {})


def test_grades_that_no_float_holds_are_none() -> None:
    assert parse_graded_object(f'{{"score": {HUGE}}}', "score", 0.0, 1.0) is None
    assert parse_grades(f'{{"a": {HUGE}}}', ("a",), 0.0, 1.0) is None
    for points in (f"{HUGE}/1", f"1/{'9' * 5000}", f"{'9' * 5000}/1"):
        assert parse_constraints(f"Score of constraint_1: {points}", ["constraint_1"]) is None


@pytest.mark.parametrize("text", ["NaN", "[Infinity]", '"\\ud800"', '{"A": NaN}'])
def test_json_that_is_not_a_solution_scores_zero(text: str) -> None:
    puzzle = Puzzle("match_answer_function", "id_answer_pair_prompt")
    sample = Sample(id="1", kind="open", question="?", gold=("{'A': 1}",))
    assert not _is_right(text, sample, puzzle)


def test_bridge_beyond_the_grid_is_rejected() -> None:
    puzzle = {"init_islands": [{"cord": "A1", "requirement": 1}, {"cord": "A3", "requirement": 1}]}
    bridge = {"start": "A1", "end": "A99999999999", "number": 1}
    check = "calculate_answer_function_hashi"
    assert not solves(check, [bridge], None, puzzle)
    assert solves(check, [{**bridge, "end": "A3"}], None, puzzle)


def test_a_form_that_is_nested_too_deep_has_no_fields() -> None:
    deep = '{"a": ' * 400 + '"1"' + "}" * 400
    assert compare_fields(deep, '{"a": "1"}') == (0, 1)
    assert compare_fields('{"a": ["1"]}', '{"a": "1"}') == (1, 0)


def test_tables_with_nothing_alike_are_at_least_0_alike() -> None:
    pytest.importorskip("apted")
    gold = "<table><tr><td>1</td></tr></table>"
    assert table_similarity("<table>" * 60, gold) == 0.0
    assert table_similarity(gold, gold) == 1.0


TABLE = Sample(
    id="1",
    kind="open",
    question="?",
    gold=("<table><tr><td>1</td></tr></table>",),
    groups={"category": "doc_parsing", "l2-category": "table", "subset": "doc_parsing/x"},
)
LOOPS: tuple[tuple[str, Callable[[str], object], str], ...] = (
    ("arrows", lambda reply: find_order(reply, "ABCD"), "A" + "->" * 5000),
    ("ordinals", find_order_vlmevalkit, "first " * 15_000),
    ("steps", find_order_vlmevalkit, "step 1" * 15_000),
    ("lengths", parse_marked_length, "\\scalar{" * 12_000),
    ("dots", split_sentences, "." * 100_000),
    ("abbreviations", split_sentences, "e.g. " * 20_000),
    ("tables", lambda reply: grade_transcript(reply, TABLE), "</table>" + "<table><tr>" * 9_000),
)


@pytest.mark.parametrize(("read", "reply"), [loop[1:] for loop in LOOPS], ids=[loop[0] for loop in LOOPS])
def test_a_loop_is_read_in_time(read: Callable[[str], object], reply: str) -> None:
    read(reply[:100])
    began = time.process_time()
    read(reply)
    assert time.process_time() - began < 1.0
