"""Label Studio, Argilla and CSV: what is written and read again, and what other tools make of it.

A server of Label Studio 1.23.2 and argilla 2.8.0 took the files of `filled`; what they gave back
has the forms that are read here.
"""

from __future__ import annotations

import csv
import json
import signal
from pathlib import Path
from xml.etree import ElementTree

import pytest
from reviewing import decide, opened, read_lines, start_serving, write_data

from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen_curate.review.exchange import export_review, import_reviews

FILES = {"csv": "decisions.csv", "label-studio": "label-studio.json", "argilla": "argilla-records.json"}


def filled(tmp_path: Path):
    """Decisions with everything that an entry can have."""
    review = opened(tmp_path, annotators=2)
    decide(review, "c1", "ann", "keep", seconds=2.5, comment='fine, "quoted", 中\nnext line')
    decide(review, "c1", "ben", "drop", reason="ambiguous")
    decide(review, "c2", "ann", "fix", changes={"A": "uno", "question": "How many?\nCount."})
    decide(review, "c2", "ben", "fix", changes={"C": "", "hint": "", "answer": "A", "B": "x"})
    decide(review, "c1", "judy", "keep", role="adjudicator")
    return review


def entries(review) -> list[str]:
    return sorted(map(str, read_lines(review.folder / "reviews.jsonl")))


@pytest.mark.parametrize("form", FILES)
def test_exported_reviews_are_imported_again(tmp_path, form):
    review = filled(tmp_path / "one")
    export_review(review.board, tmp_path, form)
    other = opened(tmp_path / "two", annotators=2)
    found = import_reviews(other.board, tmp_path / FILES[form])
    assert (found.added, found.unused) == (5, ())
    assert entries(other) == entries(review)
    assert import_reviews(other.board, tmp_path / FILES[form]).added == 0


@pytest.mark.parametrize("form", FILES)
def test_blind_answers_are_written_and_read_again(tmp_path, form):
    review = opened(tmp_path / "one", blind=True)
    decide(review, "c1", "ann", "answer", answer="B", ability="colour", seconds=4.0)
    decide(review, "m1", "ann", "answer", answer="A, C")
    decide(review, "o1", "ann", "answer", answer="STOP, now")
    export_review(review.board, tmp_path, form)
    text = (tmp_path / FILES[form]).read_text()
    assert "STOP sign" not in text
    other = opened(tmp_path / "two", blind=True)
    assert import_reviews(other.board, tmp_path / FILES[form]).added == 3
    assert entries(other) == entries(review)


def test_an_export_of_label_studio(tmp_path):
    """As its export has it: people by number or address, skipped tasks, controls of its own."""
    review = opened(tmp_path)

    def result(name: str, kind: str, value: str) -> dict[str, object]:
        content = {kind if kind == "choices" else "text": [value]}
        return {"id": "x", "from_name": name, "to_name": "question", "type": kind, "value": content}

    box = {
        "from_name": "where",
        "to_name": "images",
        "type": "rectanglelabels",
        "value": {"x": 1, "y": 2, "rectanglelabels": ["cat"]},
    }
    keep = [result("action", "choices", "keep"), result("mood", "choices", "glad"), box]
    keep.append({"type": "relation", "from_id": "a", "to_id": "b", "direction": "right"})
    tasks = [
        {
            "id": 7,
            "data": {"item": "c1"},
            "annotations": [
                {
                    "completed_by": {"id": 3, "email": "ann@example.org"},
                    "result": keep,
                    "lead_time": 12.25,
                    "was_cancelled": False,
                },
                {"completed_by": 4, "result": [], "was_cancelled": True},
            ],
        },
        {
            "id": 8,
            "data": {"item": "c2"},
            "annotations": [
                {"completed_by": 4, "result": [result("action", "choices", "fix"), result("fix_A", "textarea", "uno")]}
            ],
        },
    ]
    path = tmp_path / "project-1.json"
    path.write_text(json.dumps(tasks))
    found = import_reviews(review.board, path)
    assert (found.added, found.annotators, found.unused) == (2, ("ann@example.org", "4"), ("mood", "where", "relation"))
    assert review.board.reviews("c1").decisions()["ann@example.org"].seconds == 12.25
    assert review.board.reviews("c2").decisions()["4"].changes == {"A": "uno"}
    tasks[1]["annotations"][0]["result"] = []
    path.write_text(json.dumps(tasks))
    with pytest.raises(UsageError, match=r'task 8: it has no "action".*nothing was imported'):
        import_reviews(review.board, path)


def test_a_list_of_decisions(tmp_path):
    """As "JSON-MIN" of Label Studio has it, and many a script."""
    review = opened(tmp_path)
    path = tmp_path / "list.json"
    path.write_text('[{"item": "c1", "id": 4, "action": "keep"}, {"item": "c2", "action": "drop"}]')
    found = import_reviews(review.board, path, "ann")
    assert (found.added, found.annotators, found.unused) == (2, ("ann",), ("id",))


def test_an_import_made_again_takes_nothing_back(tmp_path):
    """Neither what somebody decided otherwise in the same file, nor on the page since."""
    review = opened(tmp_path)
    path = tmp_path / "theirs.jsonl"
    keep = {"item": "c1", "by": "ann", "action": "keep"}
    lines = [keep, {**keep, "action": "drop"}, {**keep, "action": "comment", "comment": "dark"}]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert import_reviews(review.board, path)[:2] == (3, 0)
    assert import_reviews(review.board, path)[:2] == (0, 3)
    (export,) = export_review(review.board, tmp_path, "csv")
    decide(review, "c1", "ann", "keep")
    assert import_reviews(review.board, export)[:2] == (0, 1)
    assert review.board.outcome("c1").action == "keep"


def test_an_export_of_argilla(tmp_path):
    """As `Dataset.records.to_json` has it: people by their identifier alone."""
    review = opened(tmp_path)
    person = "3f8ad1f2-9c1b-4a35-8a5e-0a8f4bdb3f10"
    records = [
        {
            "id": "c2",
            "fields": {"question": "How many?"},
            "metadata": {},
            "suggestions": {},
            "responses": {
                "action": [{"value": "fix", "user_id": person}],
                "fix_a": [{"value": "uno", "user_id": person}],
                "mood": [{"value": "glad", "user_id": person}],
            },
            "vectors": {},
            "status": "completed",
            "_server_id": "x",
        }
    ]
    path = tmp_path / "records.json"
    path.write_text(json.dumps(records))
    found = import_reviews(review.board, path)
    assert (found.annotators, found.unused) == ((person,), ("mood",))
    assert review.board.reviews("c2").decisions()[person].changes == {"A": "uno"}


@pytest.mark.parametrize(
    ("name", "text", "sentence"),
    [
        ("a.json", '[{"data": {"item": "c1"}, "annotations": [3]}]', "is no CSV file, nor"),
        ("a.json", '[{"id": "c1", "responses": {"action": [{"value": "keep"}]}}]', "user_id"),
        ("a.json", "[1]", "is no CSV file, nor"),
        ("a.json", '[{"data": {"item": "zz"}, "annotations": []}]', "has no decision"),
        ("a.csv", "item;by;action\nc1;ann;keep\n", "has no column item; .* at commas: item;by"),
        ("a.csv", "item,action\nc1,keep,more\n", "line 2: more cells than columns"),
        ("a.csv", "", "has no column item"),
    ],
)
def test_a_file_of_another_form_is_one_sentence(tmp_path, name, text, sentence):
    review = opened(tmp_path)
    (tmp_path / name).write_text(text)
    with pytest.raises(UsageError, match=sentence):
        import_reviews(review.board, tmp_path / name, "ann")
    assert not (review.folder / "reviews.jsonl").exists()


def test_files_for_other_tools_hold_the_images_and_ask_the_same(tmp_path):
    review = filled(tmp_path)
    for form in ("label-studio", "argilla"):
        export_review(review.board, tmp_path, form)
    config = ElementTree.parse(tmp_path / "label-studio.xml").getroot()
    (action,) = (each for each in config.iter("Choices") if each.get("name") == "action")
    assert [each.get("value") for each in action] == ["keep", "fix", "drop"]
    tasks = json.loads((tmp_path / "label-studio.json").read_text())
    assert tasks[0]["data"]["images"][0].startswith("data:image/png;base64,")
    settings = json.loads((tmp_path / "argilla-settings.json").read_text())
    asked = {each["name"] for each in settings["questions"]}
    records = json.loads((tmp_path / "argilla-records.json").read_text())
    assert {name for record in records for name in record["responses"]} <= asked
    assert {name for record in records for name in record["fields"]} == {each["name"] for each in settings["fields"]}


def test_the_command_names_columns_that_it_does_not_know(tmp_path, capsys):
    data, out = str(write_data(tmp_path / "data")), tmp_path / "out"
    review = ["curate", "review", data, "--out", str(out)]
    assert main([*review, "--items", "all", "--export", "csv"]) == 0
    assert capsys.readouterr().out == f"{out}/decisions.csv: 6 items to review\n"
    with (out / "decisions.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows[:2]:
        row |= {"by": "ann", "action": "keep", "mood": "glad"}
    path = tmp_path / "theirs.csv"
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, [*rows[2], "mood"])
        writer.writeheader()
        writer.writerows(rows)
    assert main([*review, "--import", str(path)]) == 1
    assert capsys.readouterr().out.startswith(
        f"{path}: 2 decisions of ann added\nnot part of a decision, and left out: mood\n"
    )
    path.write_text("item,action\nc1,kept\n")
    assert main([*review, "--import", str(path), "--annotator", "ben"]) == 2
    assert "line 2" in capsys.readouterr().err


@pytest.mark.release
def test_two_processes_serve_one_review_and_ctrl_c_loses_nothing(tmp_path):
    data, out = str(write_data(tmp_path / "data")), tmp_path / "out"
    gold, theirs = tmp_path / "gold.jsonl", tmp_path / "theirs.csv"
    gold.write_text('{"item": "c1", "action": "keep"}\n')
    theirs.write_text("item,by,action\nc1,ann,drop\nc2,ann,keep\n")
    first = start_serving(data, "--out", str(out), "--items", "all", "--gold", str(gold))
    second = start_serving(data, "--out", str(out))
    assert main(["curate", "review", data, "--out", str(out), "--import", str(theirs)]) == 0
    for served in (first, second):
        served.process.send_signal(signal.SIGINT)
        assert served.process.wait(60) == 0
        served.process.communicate()
    people = opened_again(data, out).board.figures().annotators
    assert [(each.annotator, each.items, each.gold.value) for each in people] == [("ann", 2, 0.0)]


def opened_again(data: str, out: Path):
    from snellen_curate.review.opening import open_review

    return open_review(data, out)
