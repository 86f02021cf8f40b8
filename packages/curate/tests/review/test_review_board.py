"""Several annotators: who gets which item, what their decisions come to, undo, and the log."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations

import pytest
from reviewing import ROWS, decide, opened, read_lines

from snellen.core.errors import UsageError
from snellen_curate.review.board import CLAIM_SECONDS, ReviewBoard
from snellen_curate.review.entries import REVIEWS_FILE, ReviewEntry, ReviewLog, check_name
from snellen_curate.review.opening import Review

ORDER = [row["index"] for row in ROWS]


@pytest.fixture
def review(tmp_path):
    return opened(tmp_path, annotators=2)


def board_at(review: Review, time: list[float]) -> ReviewBoard:
    return ReviewBoard(review.folder, review.board.queue, review.settings, lambda: time[0])


def test_one_decision_per_item_hands_each_item_to_one_person(tmp_path):
    board = opened(tmp_path, annotators=1).board
    handed = [board.next_item(by).item for by in ("ann", "ben", "cas")]
    assert handed == ORDER[:3]
    assert board.next_item("ann", after="c1").item == ORDER[3]


def test_two_decisions_an_item_send_two_people_to_it(review):
    handed = [review.board.next_item(by).item for by in ("ann", "ben", "cas")]
    assert handed == ["c1", "c1", "c2"]


def test_an_item_that_somebody_left_is_handed_out_again(review):
    time = [0.0]
    board = board_at(review, time)
    for by in ("ann", "ben"):
        board.next_item(by)
    assert board.next_item("cas").item == "c2"
    time[0] = CLAIM_SECONDS + 1
    assert board.next_item("dan").item == "c1"


def test_board_reports_how_many_items_others_hold(tmp_path):
    board = opened(tmp_path, annotators=1).board
    for _ in ORDER:
        board.next_item("ann", after=board.next_item("ann").item or "")
    for name in ORDER:
        board._claims.setdefault(name, {})["ann"] = float("inf")
    assert board.next_item("ben") == (None, len(ORDER))


@pytest.mark.parametrize(
    ("first", "second", "status", "action"),
    [
        ({"action": "keep"}, {"action": "keep", "comment": "fine"}, "agreed", "keep"),
        ({"action": "keep"}, {"action": "drop", "reason": "ambiguous"}, "conflict", ""),
        ({"action": "drop", "reason": "no_correct"}, {"action": "drop", "reason": "other"}, "agreed", "drop"),
        (
            {"action": "fix", "changes": {"answer": "B"}},
            {"action": "fix", "changes": {"answer": " b", "A": "red"}},
            "agreed",
            "fix",
        ),
        ({"action": "fix", "changes": {"answer": "B"}}, {"action": "fix", "changes": {"A": "rot"}}, "conflict", ""),
        ({"action": "keep"}, None, "begun", ""),
        ({"action": "comment", "comment": "hm"}, {"action": "keep"}, "begun", ""),
    ],
)
def test_outcome_of_two_decisions(review, first, second, status, action):
    for by, values in (("ann", first), ("ben", second)):
        if values:
            decide(review, "c1", by, **values)
    outcome = review.board.outcome("c1")
    assert (outcome.status, outcome.action) == (status, action)


@pytest.mark.parametrize(
    ("first", "second", "mismatch", "status", "action", "changes"),
    [
        (("A", "colour"), ("a", "colour"), "resolve", "agreed", "keep", {}),
        (("A", "colour"), ("A", ""), "resolve", "agreed", "keep", {}),
        (("A", "colour"), ("B", "colour"), "resolve", "conflict", "", {}),
        (("A", "colour"), ("A", "counting"), "resolve", "conflict", "", {}),
        (("B", "colour"), ("B", "colour"), "resolve", "conflict", "", {}),
        (("B", "colour"), ("B", "colour"), "fix", "agreed", "fix", {"answer": "B"}),
        (
            ("A", "counting"),
            ("A", "counting"),
            "fix",
            "agreed",
            "fix",
            {"category": "counting", "l2-category": "reasoning"},
        ),
        (("", ""), ("", ""), "resolve", "agreed", "drop", {}),
        (("A", "colour"), ("", ""), "fix", "conflict", "", {}),
    ],
)
def test_blind_answers_are_compared_with_each_other_and_with_the_key(
    tmp_path, first, second, mismatch, status, action, changes
):
    review = opened(tmp_path, annotators=2, blind=True, mismatch=mismatch)
    for by, (answer, ability) in (("ann", first), ("ben", second)):
        if answer:
            decide(review, "c1", by, "answer", answer=answer, ability=ability)
        else:
            decide(review, "c1", by, "drop", reason="no_correct")
    outcome = review.board.outcome("c1")
    assert (outcome.status, outcome.action, dict(outcome.changes)) == (status, action, changes)


def test_the_adjudicator_has_the_last_word(review):
    decide(review, "c1", "ann", "keep")
    decide(review, "c1", "ben", "drop", reason="ambiguous")
    assert review.board.next_item("judy", role="adjudicator").item == "c1"
    decide(review, "c1", "judy", "fix", role="adjudicator", changes={"answer": "B"})
    outcome = review.board.outcome("c1")
    assert (outcome.status, outcome.action, outcome.by) == ("resolved", "fix", ("judy",))
    assert review.board.next_item("judy", role="adjudicator").item is None
    assert review.board.undo("judy", "adjudicator") == "c1"
    assert review.board.outcome("c1").status == "conflict"


def test_undo_takes_back_one_entry_after_the_other_of_one_person(review):
    decide(review, "c1", "ann", "keep")
    decide(review, "c1", "ann", "drop", reason="ambiguous")
    decide(review, "c2", "ben", "keep")
    decide(review, "c2", "ann", "keep")
    board = review.board
    assert board.undo("ann", "annotator") == "c2"
    assert board.outcome("c2").status == "begun"
    assert board.undo("ann", "annotator") == "c1"
    assert board.reviews("c1").decisions()["ann"].action == "keep"
    assert board.undo("ann", "annotator") == "c1"
    assert board.undo("ann", "annotator") is None
    assert board.progress("ben").own == 1


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ReviewEntry("c99", "ann", "keep"), "the queue has no item 'c99'; it has 6 items"),
        (ReviewEntry("c1", "  ", "keep"), "an annotator is named by 1 to 80"),
        (ReviewEntry("c1", "a\x07", "keep"), "printable"),
        (ReviewEntry("c1", "ann", "drop", reason="dull"), "'dull' is no reason; expected one of"),
        (ReviewEntry("c1", "ann", "keep", reason="other"), "a reason is for the action drop"),
        (ReviewEntry("c1", "ann", "keep", changes={"A": "x"}), "changes are for the action fix"),
        (ReviewEntry("c1", "ann", "answer", answer="A"), "answers are for blind reviews"),
        (ReviewEntry("c1", "ann", "keep", answer="A"), "is for the action answer"),
        (ReviewEntry("c1", "ann", "comment", comment=" "), "the comment is empty"),
        (ReviewEntry("c1", "ann", "undo"), "taken back by undo"),
    ],
)
def test_an_entry_that_makes_no_sense_is_refused(review, entry, reason):
    with pytest.raises(UsageError, match=reason):
        review.board.decide(entry)
    assert not (review.folder / REVIEWS_FILE).exists()


@pytest.mark.parametrize(
    ("entry", "reason"),
    [
        (ReviewEntry("c1", "ann", "keep"), "this review is blind"),
        (ReviewEntry("c1", "ann", "answer", answer="D"), "has no option 'D'; expected A or B"),
        (ReviewEntry("c1", "ann", "answer", answer="A", ability="smell"), "no ability 'smell'"),
    ],
)
def test_a_blind_review_refuses_what_it_does_not_ask(tmp_path, entry, reason):
    with pytest.raises(UsageError, match=reason):
        opened(tmp_path, blind=True).board.decide(entry)


def test_names_have_single_blanks():
    assert check_name("  Ann \t Lee ") == "Ann Lee"


def test_a_second_process_sees_every_entry(tmp_path, review):
    other = opened(tmp_path)
    decide(review, "c1", "ann", "keep")
    assert other.board.progress("ann").own == 1
    decide(other, "c1", "ben", "keep")
    assert review.board.outcome("c1").status == "agreed"


def test_many_threads_write_whole_lines(review):
    people = [f"p{number}" for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda by: [decide(review, item, by, "keep") for item in ORDER], people))
    lines = read_lines(review.folder / REVIEWS_FILE)
    assert len(lines) == 48
    assert {(line["item"], line["by"]) for line in lines} == {(i, p) for i in ORDER for p in people}


WRITER = """
import sys
from pathlib import Path
from snellen_curate.review.entries import ReviewEntry, ReviewLog
log = ReviewLog(Path(sys.argv[1]))
number = 0
while True:
    log.append([ReviewEntry("c1", "ann", "comment", comment=f"{number} " + "x" * 5000)])
    print(number, flush=True)
    number += 1
"""


def test_confirmed_decisions_survive_kill_9(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    for _ in range(20):
        process.stdout.readline()
    os.kill(process.pid, signal.SIGKILL)
    confirmed = 19 + len(process.stdout.read().splitlines())
    process.wait()
    process.stdout.close()
    log = ReviewLog(tmp_path)
    assert len(log.read_new()) >= confirmed
    log.append([ReviewEntry("c1", "ben", "comment", comment="later")])
    assert log.read_new()[-1].by == "ben"


@pytest.mark.parametrize("torn", [b'{"item":"c1","by":"a', b"\xff\xfe\n", b"[1]\n", b'{"item":1}\n'])
def test_a_broken_line_is_left_out_and_named(tmp_path, torn):
    log = ReviewLog(tmp_path)
    log.append([ReviewEntry("c1", "ann", "keep")])
    with (tmp_path / REVIEWS_FILE).open("ab") as file:
        file.write(torn)
    log.append([ReviewEntry("c2", "ann", "keep")])
    again = ReviewLog(tmp_path)
    assert [entry.item for entry in again.read_new()] == ["c1", "c2"]
    assert again.unreadable == [2]


def test_the_order_of_people_changes_nothing(tmp_path):
    found = []
    for number, people in enumerate(permutations(("ann", "ben", "cas"))):
        review = opened(tmp_path / str(number), annotators=3)
        for by in people:
            decide(review, "c1", by, "drop", reason="no_correct")
            decide(review, "c2", by, "keep" if by == "ann" else "drop")
        found.append([review.board.outcome(item).status for item in ("c1", "c2", "y1")])
        found.append(review.board.agreement()[0].alpha.value)
    assert found[::2] == [["agreed", "conflict", "open"]] * 6
    assert len(set(found[1::2])) == 1
