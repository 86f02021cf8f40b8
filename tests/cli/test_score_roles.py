"""`score` with those who read and grade replies beside the rules: models and recorded columns."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import score
from snellen.cli import main
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Request

QUESTIONS = (
    "index\tquestion\tA\tB\tanswer\n"
    "1\tWhich colour?\tred\tblue\tB\n"
    "2\tWhich colour?\tred\tblue\tA\n"
    "3\tWhich colour?\tred\tblue\tA\n"
)
REPLIES = (
    'index,prediction,said\n1,It looks like the azure one.,B\n2,"Sorry, I cannot tell; it may be vermilion.",A\n3,A,B\n'
)
REVIEWED = "index,prediction,gpt4_score,score\n1,A cat.,8,6\n2,A dog.,5,4\n"
CAPTIONS = (
    "index\tquestion\tcaption\tgpt_answer\tcategory\n"
    "1\tWhat is it?\ta cat\tIt is a cat.\tconv\n"
    "2\tWhat is it?\ta dog\tIt is a dog.\tconv\n"
)


class Extractor:
    """Says B of everything, and counts how often it is asked."""

    identity = Identity("test", "extractor")
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, request: Request) -> str:
        self.asked += 1
        return "B"


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    for name, text in {
        "hue.tsv": QUESTIONS,
        "hue.csv": REPLIES,
        "reviewed.csv": REVIEWED,
        "captions.tsv": CAPTIONS,
        "open.csv": "index,question,answer,prediction\n1,What colour?,blue,azure\n",
        "yes.csv": "index,question,answer,prediction,said\n1,Is it blue?,yes,Yes,1\n",
        "letters.csv": "index,question,answer,prediction\n1,Which?,B,the azure one\n",
    }.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_recorded_extractions_are_read_where_no_rule_matched(files: Path) -> None:
    plain = score("hue.tsv", "hue.csv")
    read = score("hue.tsv", "hue.csv", extractor="column:said")
    assert [one.score for one in plain.records] == [0.0, 0.0, 1.0]
    assert [one.score for one in read.records] == [1.0, 1.0, 1.0]
    assert [one.passes[0].extraction is None for one in read.records] == [False, False, True]
    assert read.summary.metrics["by_rules"].value == pytest.approx(100 / 3)


def test_an_extractor_is_asked_once_about_what_no_rule_matched(files: Path) -> None:
    model = Extractor()
    first = score("hue.tsv", "hue.csv", extractor=model, store=files / "s.sqlite")
    assert [one.answer for one in first.records] == ["B", "B", "A"]
    assert model.asked == 1 + 2, "a probe, and the two replies that no rule matched"
    again = score("hue.tsv", "hue.csv", extractor=model, store=files / "s.sqlite")
    assert again.records == first.records
    assert model.asked == 3 + 1, "verdicts are stored: the probe alone"


def test_a_recorded_extraction_that_is_empty_found_nothing(files: Path) -> None:
    Path("hue.csv").write_text("index,prediction,said\n1,the azure one,\n2,A,\n3,A,\n")
    read = score("hue.tsv", "hue.csv", extractor="column:said")
    assert [one.outcome for one in read.records] == ["unparsed", "answered", "answered"]


@pytest.mark.parametrize(
    ("command", "part"),
    [
        ("hue.tsv --predictions hue.csv --judge column:said", "no question of hue is open"),
        ("pope --predictions yes.csv --judge column:said", "pope asks no judge"),
        ("open.csv --extractor column:question", "an extractor would be asked nothing about open"),
        ("letters.csv --extractor column:question", "give the data that hold the options"),
        ("hue.tsv --predictions hue.csv --extractor column:no", "unknown column"),
        ("open.csv --rule all --extractor column:question", "leave out --extractor"),
        ("open.csv --rule all --judge column:question", "leave out --judge"),
        ("mm-vet --predictions reviewed.csv --judge column:score", "MMVet.tsv is not here"),
    ],
)
def test_refuses_roles_that_would_not_be_asked(
    files: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], command: str, part: str
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    assert main(["score", *command.split()]) == 2
    out, told = capsys.readouterr()
    assert part in told
    assert (out, told.count("\n")) == ("", 1)


def test_two_columns_make_a_verdict(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["llava-bench", "--data", "captions.tsv", "--predictions", "reviewed.csv"]
    assert main(["score", *told, "--judge", "column:gpt4_score+score"]) == 0
    printed = capsys.readouterr().out
    assert "relative" in printed
    assert "76.9" in next(line for line in printed.splitlines() if "reviewed.csv" in line)


def test_verdicts_that_a_published_file_records_can_be_left_out(
    files: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    told = ["llava-bench", "--data", "captions.tsv", "--predictions", "reviewed.csv"]
    assert main(["score", *told]) == 0
    assert "recorded in 'gpt4_score+score' are counted" in capsys.readouterr().err
    assert main(["score", *told, "--judge", "off"]) == 1
    assert "2 of 2 samples were not graded" in capsys.readouterr().out
    assert main(["score", *told, "--judge", "off", "--judge", "column:score"]) == 2
    assert "--judge off leaves out every judge" in capsys.readouterr().err


def test_exit_code_1_if_nothing_is_graded(files: Path, capsys: pytest.CaptureFixture[str]) -> None:
    told = ["llava-bench", "--data", "captions.tsv", "--predictions", "reviewed.csv"]
    assert main(["score", *told, "--judge", "column:score"]) == 1
    assert "none of the 2 verdicts of the column score could be read" in capsys.readouterr().err
