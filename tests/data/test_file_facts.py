"""`snellen info FILE`: what a file is, by what it was recognised, and what its columns are."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from tests.cli.typed import said

from snellen.analysis.file_facts import file_facts
from snellen.data.detect import detect
from snellen.data.predictions import read_predictions
from snellen.data.tables.open_table import open_table

LMMS_EVAL = {"doc_id": 7, "target": "B", "resps": [["B"]], "filtered_resps": ["B"], "acc": 1.0}
EVERY_EVAL = {
    "schema_version": "1",
    "evaluation_id": "x",
    "sample_id": "1",
    "input": {"raw": "Which?", "choices": ["red", "blue"], "reference": ["A"]},
    "output": {"raw": ["A"]},
}
INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {},
    "samples": [{"id": 1, "input": "Which?", "target": "A", "output": {"completion": "A"}}],
}

FILES = [
    ("q.tsv", "index\tquestion\tanswer\n1\tIs it?\tyes\n", "tsv", ("question", "gold")),
    ("q.csv", "index,question,answer,prediction\n1,Is it?,yes,no\n", "csv", ("question", "gold", "reply")),
    ("p.jsonl", json.dumps({"id": 1, "prediction": "A"}) + "\n", "jsonl", ("reply",)),
    ("p.json", json.dumps([{"question_id": 1, "answer": "A"}]), "json", ("reply",)),
    ("out.jsonl", json.dumps([{"id": 1, "text": "A"}], indent=1), "json", ("reply",)),
    ("key.json", json.dumps([{"id": 1, "gold": "A"}]), "json", ("gold",)),
    ("x_samples_y.jsonl", json.dumps(LMMS_EVAL) + "\n", "lmms-eval", ("gold", "reply")),
    ("samples.jsonl", json.dumps(EVERY_EVAL) + "\n", "every-eval-ever", ("question", "gold", "reply")),
    ("log.json", json.dumps(INSPECT), "inspect", ("question", "gold", "reply")),
    ("results.json", '{"question_id": "1", "prediction": "A"}\n' * 2, "seed-results", ("reply",)),
    ("OCR.txt", "1.png\tIs it?\tYes\tNo\n", "mme-results", ("question", "gold", "reply")),
]


@pytest.mark.parametrize(("name", "text", "kind", "holds"), FILES, ids=[name for name, *_ in FILES])
def test_a_file_is_recognised(tmp_path: Path, name: str, text: str, kind: str, holds: tuple[str, ...]) -> None:
    path = tmp_path / name
    path.write_text(text)
    facts = file_facts(str(path), read_predictions(path).columns if "reply" in holds else open_table(str(path)).columns)
    assert facts is not None
    assert (facts.kind, facts.holds) == (kind, holds)
    assert facts.recognised_by
    assert bool(facts.without_replies) == ("reply" not in holds)


def test_columns_have_roles_with_reasons(tmp_path: Path) -> None:
    path = tmp_path / "p.csv"
    names = "id,pid,correct_option,prediction,response,image,colour,lmms_eval.acc"
    path.write_text(f"{names}\n1,2,A,B,C,x.png,red,1\n")
    found = file_facts(str(path), names.split(","))
    assert found is not None
    facts = {each.column: (each.role, each.reason) for each in found.columns}
    assert facts["id"] == ("id", "the first name that is searched for")
    assert facts["pid"] == ("", "no id: id comes first")
    assert facts["prediction"][0] == "reply"
    assert facts["response"] == ("", "no reply: prediction comes first")
    assert facts["correct_option"] == ("", "it may hold the gold answers: --columns gold=correct_option")
    assert facts["image"][0] == "image"
    assert facts["colour"] == ("", "no name of a role: kept with each row, not shown to a model")
    assert facts["lmms_eval.acc"][1] == "recorded by lmms-eval: --as-recorded, or --judge column:lmms_eval.acc"


def test_folders_are_recognised(tmp_path: Path) -> None:
    for file in ("replies/a.jsonl", "run/run.json", "step/step.json", "saved/state.json", "asked/existence/1.jpg"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).write_text("{}")
    (tmp_path / "asked/existence/1.txt").write_text("Is it?\tYes\n")
    (tmp_path / "results").mkdir()
    (tmp_path / "results/OCR.txt").write_text("1.png\tIs it?\tYes\tNo\n")
    (tmp_path / "pictures").mkdir()
    found = {folder.name: detect(folder) for folder in tmp_path.iterdir()}
    assert {name: each and each.kind for name, each in found.items()} == {
        "replies": "tables",
        "run": "run",
        "step": "data-set",
        "saved": "dataset",
        "asked": "mme-questions",
        "results": "mme-results",
        "pictures": None,
    }


def test_the_published_layout_and_the_reasons_are_printed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "mm-vet.jsonl"
    path.write_text(json.dumps({"id": "v1_0", "question": "What?", "prediction": "x", "grade_1run": 0.5}) + "\n")
    code, out, _ = said(capsys, "info", path)
    assert code == 0
    words = " ".join(out.split())
    assert "recognised as rows in JSON Lines, by the suffix .jsonl" in words
    assert "a sample log of lmms-eval: it would have" in words
    assert "published for mm-vet" in words
    code, out, _ = said(capsys, "info", path, "--json")
    facts = json.loads(out)["recognised"]
    assert (facts["kind"], facts["holds"], facts["without_replies"]) == ("jsonl", ["question", "reply"], "")
    assert facts["columns"][0] == {"column": "id", "role": "id", "reason": "the first name that is searched for"}


def test_columns_of_gold_places_are_gold_and_those_of_sizes_are_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "boxes.csv"
    file.write_text('question,bbox,width,height\nWhere?,"[1, 2, 3, 4]",10,10\n')
    facts = file_facts(str(file), ["question", "bbox", "width", "height"])
    assert facts is not None
    assert facts.holds == ("question", "gold")
    assert {fact.column: fact.role for fact in facts.columns} == {
        "question": "question",
        "bbox": "gold",
        "width": "place",
        "height": "place",
    }
    assert "1 place; 0 without answer" in said(capsys, "info", file)[1]


def test_a_width_without_a_place_is_a_column_like_others(tmp_path: Path) -> None:
    file = tmp_path / "q.csv"
    file.write_text("question,answer,width\nHow wide?,3,10\n")
    facts = file_facts(str(file), ["question", "answer", "width"])
    assert facts is not None
    assert [fact.role for fact in facts.columns] == ["question", "gold", ""]
