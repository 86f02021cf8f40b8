"""`snellen curate questions` on folders of metadata, as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from drawn_metadata import write_metadata

from snellen.cli import main


@pytest.fixture(scope="module")
def drawn(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return write_metadata(tmp_path_factory.mktemp("drawn"), 24)


def command(drawn: tuple[Path, Path], out: Path, *more: str, data: tuple[str, ...] = ()) -> list[str]:
    files = [str(drawn[0]), *data, "--templates", str(drawn[1])]
    return ["curate", "questions", *files, "--out", str(out), "--limits", "per_subtask=8", *more]


def test_the_summary_as_json(drawn: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(drawn, tmp_path / "out", "--json")) == 1  # a source states no licence
    printed = json.loads(capsys.readouterr().out)
    assert printed == json.loads((tmp_path / "out" / "step.json").read_text())["counts"]
    assert printed["items"] == 96
    assert printed["options"]["2"] == 8
    assert sum(printed["options"].values()) == 96
    assert printed["subtasks"]["text reading"]["task"] == "ocr"
    assert sorted(printed["subtasks"]["weighing"]["sources"].values()) == [2, 3, 3]
    # Words that follow from the form of an option, as in MMT-Bench's Table A14.
    out = str(tmp_path / "out")
    main(["curate", "statistics", out, "--group", "category", "--limits", "probe=0", "--json"])
    groups = json.loads(capsys.readouterr().out)["groups"]["category"]
    words = {each["label"]: each["words"]["option"] for each in groups}
    for name, mean in (("object counting", 1.0), ("object detection", 4.0)):
        assert (words[name]["mean"], words[name]["deviation"]) == (mean, 0.0)


def test_the_summary_for_people(drawn: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(drawn, tmp_path / "out", "--drop", "no-licence", "--alike-length")) == 0
    printed = capsys.readouterr().out
    # The third source states no licence.
    assert "records without an item: 12 (licence: nobody states one)\n" in printed
    assert f"{tmp_path}/out: 96 questions of 48 records\n" in printed
    assert printed.endswith(
        f"next: snellen curate review {tmp_path}/out --items all --blind --out {tmp_path}/out-reviewed\n"
    )


@pytest.mark.parametrize(
    ("more", "sentence"),
    [
        (["--limits", "per_subtask=0"], "per_subtask is 0; expected 1 or more"),
        (["--templates", "lost.toml"], "lost.toml: there is no such file"),
        (["--model-for", "checker=random"], "these are metadata records, not pictures; leave out --model-for"),
    ],
)
def test_mistakes_give_one_sentence(
    more: list[str], sentence: str, drawn: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(command(drawn, tmp_path / "out", *more)) == 2
    assert capsys.readouterr().err == f"snellen: {sentence}\n"


def test_a_file_that_is_not_there(drawn: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(command(drawn, tmp_path / "out", data=("lost.jsonl",))) == 2
    assert capsys.readouterr().err == "snellen: lost.jsonl: there is no such file\n"


def test_without_templates_of_their_own(
    drawn: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["curate", "questions", str(drawn[0]), "--out", str(tmp_path / "out"), "--json"]
    main(typed)
    assert {"object counting", "object presence", "object detection"} <= {
        *json.loads(capsys.readouterr().out)["subtasks"]
    }


def test_the_reason_is_named_if_no_question_can_be_made(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    record = {"id": "a", "source": "s", "images": ["lost.png"], "label": "cup"}
    (tmp_path / "records.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "templates.toml").write_text(
        '[[templates]]\nsubtask = "s"\nanswer = "label"\nquestions = ["What is it?"]\n'
    )
    typed = command((tmp_path / "records.jsonl", tmp_path / "templates.toml"), tmp_path / "out")
    assert main(typed) == 2
    printed = capsys.readouterr().err
    assert "no question could be made of 1 records; 1 times: " in printed
    assert "there is no image file" in printed
