"""What `score` says of predictions and options that do not fit: one sentence, with the way out."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.cli import main

QUESTIONS = "index\tquestion\tA\tB\tanswer\n1\tWhich?\tred\tblue\tB\n2\tWhat?\tred\tblue\tB\n"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "hue.tsv": QUESTIONS,
        "twice.csv": "index,prediction\n1,B\n1,B\n2,A\n",
        "alone.csv": "index,answer,prediction\n1,B,B\n1,B,B\n2,B,A\n",
        "rated.csv": "index,prediction,hum\n1,B,B\n2,A,B\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_row_that_repeats_is_counted_once_beside_data(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "hue.tsv", "--predictions", "twice.csv"]) == 0
    printed = capsys.readouterr()
    assert "1 row repeats an earlier one, counted once" in printed.err
    assert "of no known question" not in printed.err
    assert [line.split()[-1] for line in printed.out.splitlines() if "twice.csv" in line] == ["2"]


def test_a_row_that_repeats_is_counted_as_given_alone(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["score", "alone.csv"]) == 0
    printed = capsys.readouterr()
    assert "1 row repeats an earlier one, counted as given" in printed.err
    assert [line.split()[-1] for line in printed.out.splitlines() if "alone.csv" in line] == ["3"]


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--columns", "foo=hum"], "unknown column role 'foo'; known: id, question, "),
        (["--columns", "label_right=hum"], "expected a word such as right, wrong, true, false, yes or no"),
        (["--data", "other.tsv"], "name one of the two alone"),
    ],
)
def test_a_mistake_is_one_sentence_with_the_way_out(
    files: Path, capsys: pytest.CaptureFixture[str], words: list[str], sentence: str
) -> None:
    assert main(["score", "hue.tsv", "--predictions", "rated.csv", *words]) == 2
    assert sentence in " ".join(capsys.readouterr().err.split())
