"""A judge or an extractor of one's own, in a file that `--load` names."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.cli import main

CLASSES = """
class Reasoner:
    def answer(self, request):
        contradicts = "335" in request.text()
        return "Because.\\nVerdict: " + ("right" if contradicts else "wrong")


class Typer:
    def answer(self, request):
        return "Labels: reasoning"


class Reader:
    def answer(self, request):
        return "B"


class Grader:
    def answer(self, request):
        return "1"
"""
QUESTIONS = (
    "index,question,A,B,answer\n"
    "1,Which colour has the grass of a well kept lawn?,red,green,B\n"
    "2,Which colour has a ripe tomato?,red,green,A\n"
)
REPLIES = "index,prediction\n1,It is the colour of leaves\n2,B\n"
SUMS = (
    "index,question,category,image_path,answer,prediction\n"
    "1,Is the sum 335? Please answer yes or no.,numerical_calculation,a.png,Yes,No. It is 335.\n"
    "2,Is the sum 340? Please answer yes or no.,numerical_calculation,a.png,No,Yes. It is large.\n"
)


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, text in (("own.py", CLASSES), ("questions.csv", QUESTIONS), ("replies.csv", REPLIES), ("sums.csv", SUMS)):
        Path(name).write_text(text)


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    capsys.readouterr()
    code = main(list(words))
    printed = capsys.readouterr()
    assert code == 0, printed.err
    return printed.out


def test_an_extractor_reads_what_no_rule_can(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("score", "questions.csv", "--predictions", "replies.csv", "--json")
    assert '"value":0.0' in said(capsys, *command).replace(" ", "")[:600]
    read = said(capsys, *command, "--load", "own.py", "--extractor", "Reader")
    assert '"value":50.0' in read.replace(" ", "")[:600]


def test_a_judge_finds_explanations_that_contradict_the_answer(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("analyse", "yes-no", "sums.csv", "--load", "own.py", "--judge", "Reasoner")
    found = said(capsys, *command)
    examples = found[found.index("examples, by the judge") :]
    assert "Is the sum 335?" in examples
    assert "340" not in examples


def test_a_judge_proposes_why_an_answer_is_wrong(capsys: pytest.CaptureFixture[str]) -> None:
    command = ("analyse", "errors", "replies.csv", "-b", "questions.csv")
    found = said(capsys, *command, "--load", "own.py", "--judge", "Typer")
    assert "labels of Typer" in found
    assert "reasoning" in Path("errors.judge.json").read_text()


@pytest.mark.parametrize("command", ["score questions.csv --predictions replies.csv", "analyse yes-no sums.csv"])
def test_a_name_that_the_file_does_not_hold_is_unknown(command: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*command.split(), "--load", "own.py", "--judge", "Reasoned"]) == 2
    assert "unknown model 'Reasoned'" in capsys.readouterr().err
