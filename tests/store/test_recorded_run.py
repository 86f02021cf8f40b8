"""`score --out`: predictions as a run folder, which every command on runs takes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from snellen import score
from snellen.cli import main
from snellen.store.runs import open_run

DATA = "index\tquestion\tA\tB\tanswer\tcategory\n" + "".join(
    f"{number}\tWhich colour?\tred\tblue\t{gold}\thue\n" for number, gold in enumerate("ABAB")
)
PREDICTIONS = "index,prediction\n0,A\n1,A\n2,The answer is A\n3,I cannot say\n"


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    data, predictions = tmp_path / "hues.tsv", tmp_path / "mine.csv"
    data.write_text(DATA)
    predictions.write_text(PREDICTIONS)
    return data, predictions


def score_out(files: tuple[Path, Path], out: Path, *more: str) -> list[Path]:
    data, predictions = files
    command = ["score", str(data), "--predictions", str(predictions), "--out", str(out), *more]
    assert main(command) in {0, 1}
    return sorted(path.parent for path in out.glob("*/run.json"))


def test_a_run_has_the_numbers_and_replies_of_the_score(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder,) = score_out(files, tmp_path / "out", "--name", "mine")
    assert folder.name.startswith("mine--hues--")
    assert f"run: {folder}" in capsys.readouterr().out
    run = open_run(folder)
    scored = score(*map(str, files))
    assert run.report().summary == scored.summary
    assert run.info.status == "complete"
    replies = [one.passes[0].output for one in run.records()]
    assert [getattr(reply, "text", None) for reply in replies] == ["A", "A", "The answer is A", "I cannot say"]
    assert all(one.passes[0].prompt == () for one in run.records())
    assert (folder / "report.html").is_file()


def test_the_same_predictions_replace_their_run_and_others_have_their_own(
    files: tuple[Path, Path], tmp_path: Path
) -> None:
    first = score_out(files, tmp_path / "out")
    assert score_out(files, tmp_path / "out") == first
    assert len(list(open_run(first[0]).records())) == 4
    files[1].write_text(PREDICTIONS.replace("1,A", "1,B"))
    assert len(score_out(files, tmp_path / "out")) == 2


def test_a_question_without_a_prediction_is_a_failure(files: tuple[Path, Path], tmp_path: Path) -> None:
    files[1].write_text(PREDICTIONS.replace("3,I cannot say\n", ""))
    (folder,) = score_out(files, tmp_path / "out")
    run = open_run(folder)
    assert run.info.status == "incomplete"
    assert (run.info.counts.done, run.info.counts.failed) == (3, 1)
    assert [one.outcome for one in run.failures()] == ["missing"]


@pytest.mark.parametrize(
    "command",
    [
        ["analyse", "letters"],
        ["analyse", "refusals"],
        ["analyse", "steps"],
        ["analyse", "abilities"],
        ["compare"],
        ["items"],
        ["why"],
        ["leaderboard"],
        ["report"],
    ],
    ids=" ".join,
)
def test_commands_on_runs_accept_recorded_runs(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], command: list[str]
) -> None:
    """Two systems, of which one is a predictions file: as the commands compare runs."""
    score_out(files, tmp_path / "out", "--name", "one")
    files[1].write_text(PREDICTIONS.replace("1,A", "1,B"))
    folders = score_out(files, tmp_path / "out", "--name", "two")
    assert len(folders) == 2
    capsys.readouterr()
    assert main([*command, *map(str, folders)]) == 0
    assert capsys.readouterr().out


def test_errors_can_be_labelled(files: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (folder,) = score_out(files, tmp_path / "out")
    assert main(["analyse", "errors", str(folder)]) == 0
    assert "I cannot say" in Path("errors.html").read_text()


def test_refuses_run_folder_for_several_rules(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data, predictions = files
    command = ["score", str(data), "--predictions", str(predictions), "--rule", "all"]
    assert main([*command, "--out", str(tmp_path / "out")]) == 2
    assert "leave out --out" in capsys.readouterr().err


def test_reports_unwritable_folder(
    files: tuple[Path, Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    data, predictions = files
    command = ["score", str(data), "--predictions", str(predictions)]
    assert main([*command, "--out", str(tmp_path / "file"), "--json"]) != 0
    said = capsys.readouterr()
    assert "cannot write" in said.err
    assert not said.out or json.loads(said.out)
