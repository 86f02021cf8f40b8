"""Which changes of an item are taken, which are refused, and what becomes of them."""

from __future__ import annotations

import pytest
from reviewing import ROWS, opened

from snellen.core.errors import UsageError
from snellen.core.sample import Sample
from snellen.data_sets.items import Item, item_record
from snellen_curate.review.edits import (
    answer_value,
    apply_changes,
    changes_before_and_after,
    check_changes,
    item_fields,
    key_value,
    same_answer,
)


@pytest.fixture(scope="module")
def items(tmp_path_factory):
    review = opened(tmp_path_factory.mktemp("edits"))
    return {name: queued.item for name, queued in review.board.queue.items.items()}


def test_fields_are_text(items):
    assert item_fields(items["c2"]) == {
        "question": "How many?",
        "hint": "count",
        "A": "one",
        "B": "two",
        "C": "three",
        "answer": "C",
        "l2-category": "reasoning",
        "category": "counting",
    }
    assert item_fields(items["o1"])["answer"] == "Stop\nSTOP sign"


@pytest.mark.parametrize(
    ("item", "changes", "field", "after"),
    [
        ("c1", {"question": "  Which colour is it? "}, "question", "Which colour is it?"),
        ("c1", {"answer": "b"}, "answer", "B"),
        ("c1", {"C": "green"}, "C", "green"),
        ("c2", {"C": "", "answer": "A"}, "C", None),
        ("c2", {"hint": ""}, "hint", None),
        ("c1", {"category": "shape"}, "category", "shape"),
        ("y1", {"answer": "NO"}, "answer", "No"),
        ("o1", {"answer": "Stop\n\nHalt"}, "answers", ["Stop", "Halt"]),
        ("m1", {"answer": "c,b"}, "answer", "B, C"),
        ("bad", {"answer": "B"}, "answer", "B"),
    ],
)
def test_a_fix_is_in_the_next_version(items, item, changes, field, after):
    checked = check_changes(items[item], changes)
    record = item_record(apply_changes(items[item], checked))
    assert record.get(field) == after
    before = dict(item_record(items[item]))
    kept = {"index", *before} - {*changes, "answers", "type", field}
    assert {name: record.get(name) for name in kept} == {name: before.get(name) for name in kept}


@pytest.mark.parametrize(
    ("item", "changes", "reason"),
    [
        ("c1", {"answer": "C"}, "has no option 'C'; expected A or B"),
        ("c1", {"B": " RED"}, "options A and B of item c1 would be the same"),
        ("c2", {"A": ""}, "option A of item c2 is missing, though C is there"),
        ("c2", {"C": ""}, "has no option 'C'"),
        ("c1", {"B": "", "answer": "A"}, "would have one option"),
        ("c1", {"D": "green"}, "option C of item c1 is missing"),
        ("c1", {"question": "   "}, "would have no question"),
        ("c1", {"licence": "MIT"}, "has no field 'licence'; people change question, hint, A, B"),
        ("c1", {"question": "Which colour?"}, "changes nothing"),
        ("c1", {}, "changes nothing"),
        ("y1", {"answer": "maybe"}, "has no option 'maybe'; expected Yes or No"),
        ("y1", {"A": "yes"}, "has no field 'A'"),
        ("m1", {"answer": "A, D"}, "has no option 'A, D'; expected A, B or C, or several"),
        ("c1", {"split": "test"}, "has no field 'split'"),
    ],
)
def test_a_broken_fix_is_refused_in_one_sentence(items, item, changes, reason):
    with pytest.raises(UsageError) as refused:
        check_changes(items[item], changes)
    assert reason in str(refused.value)
    assert item in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_fix_that_repeats_what_is_there_names_what_differs(items):
    checked = check_changes(items["c2"], {**item_fields(items["c2"]), "B": "2"})
    assert changes_before_and_after(items["c2"], checked) == {"B": ("two", "2")}


def test_a_fixed_item_has_no_problem_left(items):
    assert items["bad"].problem
    fixed = apply_changes(items["bad"], {"answer": "B"})
    assert (fixed.problem, fixed.sample.kind) == ("", "choice")


@pytest.mark.parametrize(
    ("item", "answer", "same_as_key"),
    [
        ("c1", "a", True),
        ("c1", "B", False),
        ("y1", "YES", True),
        ("y1", "no", False),
        ("o1", "stop  SIGN", True),
        ("o1", "stop", True),
        ("o1", "go", False),
        ("m1", "C,A", True),
        ("m1", "A", False),
        ("bad", "A", False),
    ],
)
def test_answers_are_compared_in_one_form(items, item, answer, same_as_key):
    value = answer_value(items[item], answer)
    assert same_answer(items[item], value, key_value(items[item])) is same_as_key


def test_every_kind_of_question_is_here(items):
    assert {row["index"] for row in ROWS} == set(items)
    assert {item.sample.kind for item in items.values()} == {"choice", "yes_no", "open"}


def document(kind: str, gold: str) -> Item:
    return Item(Sample("d1", kind, "Read it.", (gold,)))  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("kind", "gold", "good", "bad"),
    [
        ("fields", '{"a": 1}', '{"a":\n 2}', "a = 2"),
        ("page", '[{"text":"a"}]', '[{"text":"b\\n\\nc"}]', "# Title"),
        ("place", '{"points":[[1.0,2.0]]}', '{"points":[[1.0,3.0]]}', "the middle"),
    ],
)
def test_answers_that_are_stored_as_json_stay_so(kind, gold, good, bad):
    item = document(kind, gold)
    assert key_value(item) == gold
    assert apply_changes(item, check_changes(item, {"answer": good})).sample.gold == (good,)
    with pytest.raises(UsageError, match=f"item d1 is no {kind} as it is stored"):
        check_changes(item, {"answer": bad})
