"""Files of predictions in place of runs: every command that reads runs takes them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

import snellen
from snellen.analysis.comparison.deviations import deviations
from snellen.api.options import SourceOptions
from snellen.api.run_sources import open_sources
from snellen.cli.main import main
from snellen.core.errors import UsageError

QUESTIONS = [
    {
        "index": str(number),
        "question": f"Thing {number}?",
        "A": "red",
        "B": "blue",
        "answer": "AB"[number % 2],
        "category": "xyz"[number % 3],
    }
    for number in range(8)
]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A data file and two files of predictions, of which `mine` is right in 4 of 8, `theirs` in 7
    and refuses once."""
    monkeypatch.chdir(tmp_path)
    header = "\t".join(QUESTIONS[0])
    lines = ["\t".join(row.values()) for row in QUESTIONS]
    Path("things.tsv").write_text("\n".join([header, *lines]) + "\n")
    _write("mine.csv", ["A"] * 8)
    _write("theirs.csv", [*"ABABABA", "I cannot see an image."])
    return tmp_path


def _write(name: str, replies: Sequence[str]) -> None:
    rows = [f"{number},{reply}" for number, reply in enumerate(replies)]
    Path(name).write_text("\n".join(["index,prediction", *rows]) + "\n")


NAMED = ["-b", "things.tsv"]
PAIR = ["mine.csv", "theirs.csv", *NAMED]
COMMANDS = {
    "compare": (["compare", *PAIR], "theirs.csv and mine.csv cannot be told apart"),
    "items": (["items", *PAIR], "8 samples over 2 runs"),
    "why": (["why", *PAIR], "mine.csv 50.0, theirs.csv 87.5: +37.5 points"),
    "report": (["report", "theirs.csv", *NAMED], "87.5"),
    "leaderboard": (["leaderboard", *PAIR], "1      theirs.csv"),
    "refusals": (["analyse", "refusals", "theirs.csv", *NAMED], "theirs.csv         1"),
    "abilities": (["analyse", "abilities", *PAIR], "wrong in every run"),
    "errors": (["analyse", "errors", "mine.csv", *NAMED], "errors.html: 4 samples to label"),
    "readers": (["analyse", "readers", "theirs.csv", *NAMED, "--sheet", "sheet.csv"], "1 of 1 unread replies"),
    "pages": (["export", "--to", "pages", *PAIR, "-o", "pages"], "pages/index.html"),
    "tsv": (["export", "--to", "vlmevalkit-tsv", "mine.csv", *NAMED], "prediction"),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_on_runs_takes_predictions(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, expected = COMMANDS[name]
    assert main(command) == 0, capsys.readouterr().err
    assert expected in capsys.readouterr().out


def test_predictions_beside_a_run_are_scored_as_the_run(folder: Path) -> None:
    run = snellen.evaluate(["random"], ["things.tsv"], limit=5, html=False, out="runs").runs[0]
    found = open_sources([run.path, "theirs.csv"])
    theirs = found[1]
    assert [one.info.model for one in found] == ["random", "theirs.csv"]
    assert {record.id for record in theirs.records()} == {sample.id for sample in run.samples()}
    assert theirs.info.counts.samples == theirs.report().summary.total == 5
    assert theirs.info.data.digest == run.info.data.digest


def test_settings_that_are_named_come_before_those_of_the_run(folder: Path) -> None:
    run = snellen.evaluate(["random"], ["things.tsv"], html=False, out="runs").runs[0]
    options = SourceOptions(rule="vlmevalkit", columns={"prediction": "out"})
    Path("out.csv").write_text("index,out\n0,A\n1,A\n")
    theirs = open_sources([run.path, "out.csv"], options)[1]
    assert theirs.info.config.parameters["rule"] == "vlmevalkit"
    assert theirs.report().summary.headline.value == 50
    circular = open_sources([run.path, "mine.csv"], SourceOptions(circular="early"))[1]
    assert circular.info.config.parameters["circular"] == "early"
    assert circular.report().summary.outcomes["missing"] == 4, "of the right ones"


def test_the_rule_and_columns_are_those_of_score(folder: Path) -> None:
    Path("named.csv").write_text("nr,out,part\n0,A,x\n1,A,x\n2,A,y\n")
    options = SourceOptions(
        benchmark="things.tsv", columns={"id": "nr", "prediction": "out"}, where={"part": "x"}, rule="vlmevalkit"
    )
    (run,) = open_sources(["named.csv"], options)
    scored = snellen.score(
        "things.tsv",
        "named.csv",
        columns={"id": "nr", "prediction": "out"},
        where={"part": "x"},
        variant=snellen.Variant(rule="vlmevalkit"),
    )
    assert run.report().summary == scored.summary
    assert run.info.config.parameters["rule"] == "vlmevalkit"


def test_an_id_column_that_questions_and_replies_share_is_that_of_both(folder: Path) -> None:
    Path("题目").mkdir()
    questions, replies = Path("题目", "问.csv"), Path("题目", "答.csv")
    questions.write_text("编号,question,A,B,answer\n1,What?,red,blue,A\n2,What?,red,blue,B\n")
    replies.write_text("编号,prediction\n1,A\n2,B\n")
    scored = snellen.score(questions, replies, columns={"id": "编号"})
    assert (scored.score, scored.summary.headline.n) == (100, 2)
    assert [record.id for record in scored.records] == ["1", "2"]


def test_a_file_with_its_own_answers_needs_no_benchmark(folder: Path) -> None:
    rows = ["index,question,A,B,answer,prediction", "1,What?,red,blue,A,A", "2,What?,red,blue,B,A"]
    Path("own.csv").write_text("\n".join(rows) + "\n")
    (run,) = open_sources(["own.csv"])
    assert run.report().summary.headline.value == 50


def test_a_file_is_kept_once_and_a_changed_one_anew(folder: Path) -> None:
    options = SourceOptions(benchmark="things.tsv")
    first, again = (open_sources(["mine.csv"], options)[0] for _ in range(2))
    before = (first.path / "run.json").stat().st_mtime_ns
    _write("mine.csv", ["B"] * 8)
    (changed,) = open_sources(["mine.csv"], options)
    assert again.path == first.path != changed.path
    assert (first.path / "run.json").stat().st_mtime_ns == before
    assert not [path for path in first.path.parent.parent.iterdir() if path.name.startswith(".")]


def test_a_table_of_scores_stays_one(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("scores.csv").write_text("model,reading,counting,naming\none,50,60,7\ntwo,70,40,9\n")
    assert main(["analyse", "radar", "scores.csv", "--json"]) == 0
    assert "reading" in capsys.readouterr().out


def test_judged_runs_beside_predictions_say_what_to_do(folder: Path) -> None:
    run = snellen.evaluate(["random"], ["things.tsv"], html=False, out="runs").runs[0]
    info = json.loads((run.path / "run.json").read_text())
    info["config"]["roles"] = {"judge": {"provider": "openai", "name": "gpt"}}
    (run.path / "run.json").write_text(json.dumps(info))
    with pytest.raises(UsageError, match="first score the file: snellen score things"):
        open_sources([run.path, "mine.csv"])


MISTAKES = {
    "no file": (["items", "none.csv", *NAMED], "no such file or folder"),
    "no answers": (["items", "mine.csv"], "say what its predictions answer with -b"),
    "idle": (["compare", "runs", "-b", "things.tsv"], "runs is a folder without result files"),
    "two data files": (["items", *PAIR, "--data", "a", "--data", "b"], "names 2"),
    "data alone": (["items", "mine.csv", "--data", "things.tsv"], "say with -b what"),
    "unknown": (["items", "mine.csv", "-b", "nothing-such"], "unknown benchmark"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_give_one_sentence(name: str, folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command, expected = MISTAKES[name]
    Path("runs").mkdir()
    assert main(command) == 2
    error = capsys.readouterr().err
    assert expected in error
    assert error.count("\n") == 1


def test_predictions_of_a_benchmark_are_named_by_nothing_that_they_do_not_say(folder: Path) -> None:
    """Settings that the benchmark has by itself are no deviation, also where the file has the
    answers."""
    rows = ["index,question,A,B,answer,prediction", "1,What?,red,blue,A,A"]
    Path("own.csv").write_text("\n".join(rows) + "\n")
    (run,) = open_sources(["own.csv"], SourceOptions(benchmark="mmbench", circular="off"))
    assert [one.key for one in deviations(run.info)] == ["circular"]


def test_from_python(folder: Path) -> None:
    sources = snellen.SourceOptions(benchmark="things.tsv")
    runs = snellen.open_runs("mine.csv", "theirs.csv", sources=sources)
    assert [run.score for run in runs] == [50, 87.5]
    assert runs.compare()[0].difference == 37.5
