"""From a queue to the next version of a data set: flags and replies, import, agreement, finish."""

from __future__ import annotations

import json
from pathlib import Path

import msgspec
import pytest
from planted import build
from reviewing import ROWS, decide, image_file, opened, read_lines, write_data

import snellen
from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.data_sets.decisions import Decision, Evidence, read_decisions
from snellen.data_sets.step import open_step, read_step
from snellen.report.writers import write_text
from snellen_curate.open_data import open_items
from snellen_curate.review.entries import REVIEWS_FILE
from snellen_curate.review.exchange import import_reviews
from snellen_curate.review.opening import AGREEMENT_FILE, agreement_document, default_folder, open_review
from snellen_curate.review.queue import QUEUE_FILE
from snellen_curate.review.server import describe_item

EVIDENCE = Evidence("text-1", "ab" * 32, "The answer is A", "right", 1.0)


@pytest.fixture
def flagged(tmp_path):
    """A data set folder of an earlier step that flagged some items."""
    table = open_items(write_data(tmp_path / "data"))
    with open_step(tmp_path / "filtered", "filter", {}, table) as step:
        for item in table:
            action = "flag" if item.id in ("c2", "o1", "y1") else "keep"
            step.decide(Decision(item.id, action, "filter", "text_only", "3 of 3", (EVIDENCE,)))
        step.decide(Decision("y1", "keep", "review", "person", by="ann"))
        step.write_items(table)
        step.finish({})
    return tmp_path / "filtered"


def test_the_queue_is_what_earlier_steps_flagged(tmp_path, flagged):
    review = open_review(flagged, tmp_path / "out")
    assert list(review.board.queue.items) == ["c2", "o1"]
    rows = {row["item"]: row for row in read_lines(tmp_path / "out" / QUEUE_FILE)}
    assert rows["c2"]["flags"][0]["reason"] == "3 of 3"
    assert rows["c2"]["flags"][0]["evidence"] == [msgspec.to_builtins(EVIDENCE)]
    assert rows["c2"]["answer"] == ["C"]
    assert Path(rows["c2"]["media"][0]["file"]).read_bytes().startswith(b"\x89PNG")
    assert image_file(review, "c2") == rows["c2"]["media"][0]["file"]


def test_flag_shows_what_a_step_changed(tmp_path):
    table = open_items(write_data(tmp_path / "data"))
    with open_step(tmp_path / "zh", "translate", {}, table) as step:
        texts = {"question": ("Which colour?", "\u54ea\u79cd\u989c\u8272?")}
        step.decide(Decision("c1", "flag", "translate", "number", changes=texts))
        step.write_items(table)
        step.finish({})
    review = open_review(tmp_path / "zh", tmp_path / "out")
    (flag,) = describe_item(review.board, "c1", "ann", "annotator")["flags"]
    assert flag["changed"] == [["question", "Which colour?", "\u54ea\u79cd\u989c\u8272?"]]


def test_the_queue_of_a_blind_review_holds_no_key(tmp_path, flagged):
    open_review(flagged, tmp_path / "out", {"blind": True})
    for row in read_lines(tmp_path / "out" / QUEUE_FILE):
        assert set(row) == {"item", "kind", "question", "hint", "options", "media"}


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"queue": "all"}, [row["index"] for row in ROWS]),
        ({"queue": "ids", "ids": ["o1", "c1"]}, ["o1", "c1"]),
        ({"queue": "sample", "sample": 3, "seed": 1}, 3),
    ],
)
def test_other_queues(tmp_path, options, expected):
    found = list(opened(tmp_path, **options).board.queue.items)
    assert (len(found) if isinstance(expected, int) else found) == expected


def test_a_smaller_sample_is_part_of_a_larger_one(tmp_path):
    sizes = [set(opened(tmp_path / str(n), queue="sample", sample=n).board.queue.items) for n in (2, 4)]
    assert sizes[0] < sizes[1]


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"queue": "flagged"}, "nothing to review: no item is flagged"),
        ({"queue": "ids", "ids": ["c1", "nope", "gone"]}, "no item 'nope' and 1 more of the ids"),
        ({"annotators": 0}, "--limits annotators=0"),
        ({"queue": "sample"}, "--limit is 0"),
    ],
)
def test_a_queue_that_cannot_be_is_one_sentence(tmp_path, options, reason):
    with pytest.raises(UsageError, match=reason):
        opened(tmp_path, **options)
    assert not (tmp_path / "out").exists()


def test_review_resumes_with_its_settings_and_refuses_others(tmp_path):
    opened(tmp_path, blind=True, annotators=2)
    data = tmp_path / "data" / "data.jsonl"
    again = open_review(data, tmp_path / "out")
    assert (again.settings.blind, again.settings.annotators) == (True, 2)
    with pytest.raises(UsageError, match="was made with annotators 2, now it is 3"):
        open_review(data, tmp_path / "out", {"annotators": 3})
    data.write_text(data.read_text() + json.dumps(dict(ROWS[0], index="new")) + "\n")
    with pytest.raises(UsageError, match="was made of other data"):
        open_review(data, tmp_path / "out")


def test_replies_of_stored_runs_are_shown_with_the_items(tmp_path):
    data = write_data(tmp_path / "data", [row for row in ROWS if row["index"] != "bad"])
    snellen.evaluate(["random"], [str(data)], out=tmp_path / "runs", html=False)
    runs = [str(tmp_path / "runs")]
    review = open_review(data, tmp_path / "out", {"queue": "all", "runs": runs})
    queued = review.board.queue.items["c1"]
    assert [reply.model for reply in queued.replies] == ["random"]
    assert queued.replies[0].verdict in ("right", "wrong")
    other = write_data(tmp_path / "other", [{**ROWS[0], "index": "z"}])
    with pytest.raises(UsageError, match="has no reply to any item of the queue"):
        open_review(other, tmp_path / "out2", {"queue": "all", "runs": runs})


def lines_of(*lines: object) -> str:
    return "".join((each if isinstance(each, str) else json.dumps(each)) + "\n" for each in lines)


GOOD = {"item": "c1", "by": "ann", "action": "keep", "annotation_tool": "other", "answer": ["A"]}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (lines_of(GOOD, '{"item": "c1"'), "line 2: it is no JSON object"),
        (lines_of(GOOD, [1]), "line 2: it is no JSON object (Expected `object`"),
        (lines_of(GOOD, {"item": "c1", "by": "b"}), 'line 2: it has no "action"'),
        (lines_of(GOOD, {**GOOD, "item": "c9"}), "line 2: the queue has no item 'c9'"),
        (lines_of(GOOD, {**GOOD, "action": "maybe"}), "line 2: it is no decision"),
        (lines_of(GOOD, {**GOOD, "by": None}), 'line 2: it has no "by"; name'),
        (lines_of(GOOD, {**GOOD, "action": "fix", "changes": {"answer": "D"}}), "no option 'D'"),
        (lines_of(GOOD, {**GOOD, "action": "fix", "changes": {"B": "red"}}), "would be the same"),
        (lines_of(GOOD, {**GOOD, "action": "fix", "changes": ["A"]}), "line 2: it is no decision"),
        ("\n\n", "has no decision"),
    ],
)
def test_an_import_with_a_wrong_line_adds_nothing(tmp_path, text, reason):
    review = opened(tmp_path)
    file = tmp_path / "theirs.jsonl"
    file.write_text(text, encoding="utf-8")
    with pytest.raises(UsageError) as refused:
        import_reviews(review.board, file)
    assert reason in str(refused.value)
    assert str(file) in str(refused.value)
    assert not (tmp_path / "out" / REVIEWS_FILE).exists()


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"\x89PNG\r\n\x1a\n\x00"])
def test_an_import_of_no_text_is_one_sentence(tmp_path, data):
    review = opened(tmp_path)
    file = tmp_path / "theirs.jsonl"
    file.write_bytes(data)
    with pytest.raises(UsageError, match=r"cannot read .*not text in UTF-8"):
        import_reviews(review.board, file)


def test_an_import_can_be_made_again(tmp_path):
    review = opened(tmp_path)
    file = tmp_path / "theirs.jsonl"
    drop = {"item": "c2", "action": "drop", "reason": "ambiguous", "comment": "two readings"}
    file.write_text("\ufeff" + lines_of(GOOD, drop, "", {"item": "y1", "action": "keep"}))
    assert import_reviews(review.board, file, "ben") == (3, 0, ("ann", "ben"), ("annotation_tool",))
    assert import_reviews(review.board, file, "ben")[:3] == (0, 3, ("ann", "ben"))
    assert review.board.outcome("c2").reason == "the question or its options are ambiguous; two readings"


def test_a_queue_filled_in_by_another_tool_comes_back(tmp_path):
    review = opened(tmp_path, blind=True)
    rows = read_lines(review.folder / QUEUE_FILE)
    answers = {"c1": "A", "c2": "C", "y1": "yes", "o1": "STOP", "m1": "A,C"}
    filled = [
        {**row, "action": "answer", "answer": answers[row["item"]], "by": "ann"}
        if row["item"] in answers
        else {**row, "action": "drop", "by": "ann", "reason": "no_correct"}
        for row in rows
    ]
    file = tmp_path / "filled.jsonl"
    file.write_text(lines_of(*filled))
    assert import_reviews(review.board, file).added == len(ROWS)
    actions = {name: outcome.action for name, outcome in review.board.outcomes()}
    assert actions == {**dict.fromkeys(answers, "keep"), "bad": "drop"}


def test_next_version_contains_the_decisions_of_people(tmp_path, flagged):
    review = open_review(flagged, tmp_path / "out", {"annotators": 2})
    for by in ("ann", "ben"):
        decide(review, "c2", by, "fix", changes={"answer": "B", "B": "two."}, comment="counted")
        decide(review, "o1", by, "drop", reason="not_visual")
    result = review.finish()
    assert (result.items, result.fixed, result.dropped, result.changed_fields) == (5, 1, 1, 2)
    items = {item.id: item for item in open_items(tmp_path / "out")}
    assert set(items) == {"c1", "c2", "y1", "m1", "bad"}
    assert items["c2"].sample.options == {"A": "one", "B": "two.", "C": "three"}
    assert items["c2"].sample.gold == ("B",)
    assert items["c1"].cells["source"] == "drawn"
    decisions = [each for each in read_decisions(tmp_path / "out") if each.step == "review" and each.evidence]
    assert {(each.item, each.action, each.by) for each in decisions} == {
        ("c2", "fix", "ann, ben"),
        ("o1", "drop", "ann, ben"),
    }
    [fixed] = [each for each in decisions if each.item == "c2"]
    assert fixed.changes == {"B": ("two", "two."), "answer": ("C", "B")}
    assert fixed.reason == "counted"
    assert [each.model for each in decisions[0].evidence] == ["ann", "ben"]
    info = read_step(tmp_path / "out")
    assert (info.status, info.counts["dropped"]) == ("complete", 1)
    assert len(list((tmp_path / "out" / "media").rglob("*.png"))) == 5


def test_finishing_again_carries_out_what_changed_since(tmp_path):
    review = opened(tmp_path, queue="ids", ids=["c1"])
    decide(review, "c1", "ann", "drop", reason="other")
    assert review.finish().items == len(ROWS) - 1
    count = len(list(read_decisions(tmp_path / "out")))
    review.finish()
    assert len(list(read_decisions(tmp_path / "out"))) == count
    decide(review, "c1", "ann", "keep")
    assert review.finish().items == len(ROWS)


def test_undecided_items_are_refused_or_treated_as_asked(tmp_path):
    review = opened(tmp_path, annotators=2)
    for item in ("c1", "c2"):
        decide(review, item, "ann", "keep")
        decide(review, item, "ben", "keep" if item == "c1" else "drop")
    with pytest.raises(UsageError) as refused:
        review.finish()
    sentence = "of 6 items, 4 without enough decisions and 1 in conflict (first: c2)"
    assert sentence in str(refused.value)
    assert review.finish("drop").items == 1
    assert review.finish("keep").items == 6
    assert {each.action for each in read_decisions(tmp_path / "out")} >= {"keep", "drop"}


def test_agreement_is_printed_and_written(tmp_path):
    review = opened(tmp_path, annotators=2)
    for item in ("c1", "c2", "y1", "o1"):
        decide(review, item, "ann", "keep" if item != "o1" else "drop")
        decide(review, item, "ben", "keep" if item in ("c1", "c2") else "drop")
    (found,) = review.board.agreement()
    # By hand: 3 of 4 agree; ann keeps 3 of 4, ben 2 of 4: (0.75 - 0.5) / (1 - 0.5).
    assert found.pairs[0].kappa.value == pytest.approx(0.5)
    # 8 values, 5 keep and 3 drop: D_o = 2 / 8, D_e = 2 * 5 * 3 / (8 * 7).
    assert found.alpha.value == pytest.approx(1 - 0.25 * 56 / 30)
    text = " ".join(write_text(agreement_document([found], []), "table").split())
    assert "agreeing pairs 0.75 (0.30–0.95)" in text
    assert "Cohen's kappa, ann and ben 0.50" in text
    review.finish("keep")
    (written,) = json.loads((tmp_path / "out" / AGREEMENT_FILE).read_text())
    assert written["alpha"]["value"] == pytest.approx(1 - 0.25 * 56 / 30)


def test_blind_annotators_are_compared_with_the_key(tmp_path):
    review = opened(tmp_path, blind=True, annotators=2)
    for item, ann, ben in (("c1", "A", "A"), ("c2", "C", "A"), ("y1", "yes", "yes"), ("o1", "stop", "go")):
        for by, answer in (("ann", ann), ("ben", ben)):
            decide(review, item, by, "answer", answer=answer, ability="colour")
    answers, abilities = review.board.agreement()
    people = {each.annotator: each for each in review.board.figures().annotators}
    keys = {name: (each.key.items, each.key.value) for name, each in people.items()}
    assert keys == {"ann": (4, 1.0), "ben": (4, 0.5)}
    assert answers.raw.value == 0.5
    assert abilities.alpha.value is None
    assert abilities.annotators == ("ann", "ben")


def test_wrong_keys_are_found_by_two_people_who_answer_blindly(tmp_path):
    """Both answer as they see the picture; what differs from the key is what was planted."""
    made = build(tmp_path / "planted")
    review = open_review(made.data, tmp_path / "out", {"queue": "all", "blind": True, "annotators": 2})
    for name, queued in review.board.queue.items.items():
        labels = {text: label for label, text in queued.item.sample.options.items()}
        for by in ("ann", "ben"):
            decide(review, name, by, "answer", answer=labels[made.true_options[name]])
    conflicts = {name for name, each in review.board.outcomes() if each.status == "conflict"}
    assert conflicts == made.ids_of("wrong_key")


def test_the_command_from_queue_to_next_version(tmp_path, flagged, capsys):
    out = str(tmp_path / "out")
    review = ["curate", "review", str(flagged), "--out", out]
    assert main([*review, "--export", "queue"]) == 1
    assert capsys.readouterr().out == (f"{out}/queue.jsonl: 2 items to review\nnext: snellen {' '.join(review)}\n")
    assert main([*review, "--export", "queue", "--json"]) == 1
    assert json.loads(capsys.readouterr().out) == {
        "queue": f"{out}/queue.jsonl",
        "items": 2,
        "annotators": 1,
        "blind": False,
    }
    file = tmp_path / "theirs.jsonl"
    file.write_text(lines_of({"item": "c2", "action": "keep"}, {"item": "o1", "action": "drop"}))
    assert main([*review, "--import", str(file), "--annotator", "ann"]) == 0
    assert capsys.readouterr().out == (f"{file}: 2 decisions of ann added\nnext: snellen {' '.join(review)} --list\n")
    assert main([*review, "--list"]) == 0
    assert "no item has decisions of two annotators" in capsys.readouterr().out
    assert main([*review, "--list", "--json"]) == 0
    (agreement,) = json.loads(capsys.readouterr().out)["fields"]
    assert (agreement["field"], agreement["annotators"]) == ("decision", ["ann"])
    assert main([*review, "--finish"]) == 0
    assert capsys.readouterr().out == (
        f"{out}: 5 items; of the queue 1 kept, 0 fixed (0 fields), 1 dropped\n"
        f"next: snellen curate publish {out} --out {out}-published\n"
    )
    assert main([*review, "--finish", "--json"]) == 0
    finished = json.loads(capsys.readouterr().out)
    assert (finished["folder"], finished["items"], finished["dropped"]) == (out, 5, 1)


@pytest.mark.parametrize(
    ("data", "folder"),
    [
        ("mmbench", "mmbench-reviewed"),
        ("a/b.tsv", "a/b-reviewed"),
        ("a/", "a-reviewed"),
        ("hf://org/set", "set-reviewed"),
        (".", "here-reviewed"),
    ],
)
def test_the_folder_that_is_used_if_none_is_named(tmp_path, monkeypatch, data, folder):
    home = tmp_path / "here"
    (home / "a").mkdir(parents=True)
    (home / "a" / "b.tsv").touch()
    monkeypatch.chdir(home)
    assert default_folder(data) == (tmp_path / folder if data == "." else Path(folder))


def test_where_nothing_is_flagged_the_next_version_is_the_same(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write_data(tmp_path / "data")
    review = ["curate", "review", "data/data.jsonl"]
    assert main([*review, "--export", "queue"]) == 0
    assert main([*review, "--finish"]) == 0
    assert capsys.readouterr().out == (
        "data/data-reviewed/queue.jsonl: 0 items to review\n"
        "next: snellen curate review data/data.jsonl --out data/data-reviewed --finish\n"
        "data/data-reviewed: 6 items; of the queue 0 kept, 0 fixed (0 fields), 0 dropped\n"
        "next: snellen curate publish data/data-reviewed --out data/data-reviewed-published\n"
    )
    assert {item.id for item in open_items("data/data-reviewed")} == {row["index"] for row in ROWS}


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        (["--items", "none.txt"], "cannot read none.txt"),
        (["--limit", "0"], "--limit is 0"),
        (["--items", "all", "--import", "none.jsonl"], "cannot read none.jsonl"),
        (["--items", "all", "--finish"], "of 6 items, 6 without enough decisions"),
        (["--items", "all", "--annotator", " "], "an annotator is named by"),
        (["--items", "all", "--port", "99999"], "the port is 99999"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path, capsys, monkeypatch, words, reason):
    data = write_data(tmp_path / "data")
    monkeypatch.chdir(tmp_path)
    assert main(["curate", "review", str(data), "--out", "out", *words]) == 2
    error = capsys.readouterr().err
    assert reason in error
    assert error.count("\n") == 1
