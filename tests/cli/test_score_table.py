"""`score` prints the table that `run` prints."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen.cli import main

ROWS = "".join(f"{n}\tWhich is {n}?\tred{n}\tblue{n}\tgrey{n}\tA\t{'ab'[n % 2]}\n" for n in range(8))


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "q.tsv"
    path.write_text(f"index\tquestion\tA\tB\tC\tanswer\tcategory\n{ROWS}")
    replies = "".join(f"{n},A\n" for n in range(8))
    (tmp_path / "replies.csv").write_text(f"id,prediction\n{replies}")
    return str(path)


def test_score_and_run_print_one_table(data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    model = ["--load", str(tmp_path / "first.py"), "-m", "First"]
    (tmp_path / "first.py").write_text("class First:\n    def answer(self, request):\n        return 'A'\n")
    assert main(["run", *model, "-b", data, "--out", str(tmp_path / "out"), "--no-html", "-q"]) == 0
    ran = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert main(["score", data, "--predictions", str(tmp_path / "replies.csv")]) == 0
    scored = [line.split() for line in capsys.readouterr().out.splitlines()]
    names = {"First": "MODEL", "replies.csv": "MODEL"}
    same = [[names.get(word, word) for word in line] for line in ran if line[:1] != ["run:"]]
    assert [[names.get(word, word) for word in line] for line in scored] == same
    assert ["baseline:", "chance", "33.3", "8"] in same


@pytest.mark.parametrize(
    ("flags", "sentence"),
    [
        (["--judge", "random:repeats=0"], "judge_repeats is 0; expected a whole number from 1"),
        (["--judge", "random:repeats=x"], "repeats is 'x'; expected a whole number"),
        (["--judge", "column:verdict:repeats=2"], "the verdicts of a column are recorded once"),
        (["--judge", "clip/ORG/NAME"], "--judge clip/ORG/NAME compares generated images"),
        (["--extractor", "a", "--extractor", "b"], "score takes one --extractor; got a and b"),
        (["--columns", "label_answer=x,label_right=y"], "with --columns: label_answer=COLUMN or label_right=COLUMN"),
    ],
)
def test_verdicts_that_cannot_be_repeated(
    data: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: list[str], sentence: str
) -> None:
    assert main(["score", data, "--predictions", str(tmp_path / "replies.csv"), *flags]) == 2
    out, err = capsys.readouterr()
    assert sentence in err
    assert (out, err.count("\n")) == ("", 1)
