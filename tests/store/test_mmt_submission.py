"""The file for MMT-Bench's server: what was read, Z for what was not, nothing guessed."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from mmt_rows import row, write

from snellen import evaluate, score
from snellen.cli import main
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output
from snellen.core.request import Request
from snellen.store.export.mmt_submission import mmt_sheet
from snellen.store.runs import RunFolder

META = ("weather_recognition", "visual_recognition")
HIDDEN = [
    row(20, *META) | {"answer": "", "split": "ALL"},
    row(3, *META) | {"answer": "", "split": "ALL"},
    row(100, "doc_vqa", "doc_understanding") | {"answer": "", "split": "ALL", "D": ""},
]


class Speaking:
    identity = Identity("test", "speaking")
    capabilities = Capabilities()

    def __init__(self, **replies: str) -> None:
        self.replies = replies

    def answer(self, request: Request) -> Output:
        reply = self.replies[f"q{request.ref.sample}"]
        return Failure("request", "no answer") if reply == "FAIL" else Generated(reply)


def ran(folder: Path, circular: str | None = None, **replies: str) -> RunFolder:
    said = {"q3": "B. green", "q20": 'hm, "well"\tor so', "q100": "it is blue"} | replies
    data = write(folder / "all.tsv", HIDDEN)
    variant = Variant(data=str(data), options={"split": "all"}, circular=circular)
    (run,) = evaluate([Speaking(**said)], ["mmt-bench"], out=folder / "out", variant=variant, html=False).runs
    return run


def exported(run: RunFolder, target: Path) -> list[dict[str, str]]:
    assert main(["export", str(run.path), "--to", "mmt-submission", "-o", str(target)]) == 0
    with target.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(io.StringIO(file.read()), delimiter="\t"))


def test_every_question_with_the_option_that_was_read(tmp_path: Path) -> None:
    rows = exported(ran(tmp_path), tmp_path / "submission.tsv")
    assert [(one["index"], one["opt"]) for one in rows] == [("3", "B"), ("20", "Z"), ("100", "C")]
    assert rows[1]["prediction"] == 'hm, "well"\tor so'
    assert [one["log"] for one in rows] == ["read by label and content", "unparsed", "read by mentioned content"]
    assert (rows[2]["category"], rows[2]["D"]) == ("doc_vqa", "")
    assert "answer" not in rows[0]
    assert "image" not in rows[0]


def test_the_submission_scores_as_the_run_would(tmp_path: Path) -> None:
    target = tmp_path / "submission.tsv"
    exported(ran(tmp_path), target)
    gold = [one | {"answer": "B"} for one in HIDDEN[:2]] + [HIDDEN[2] | {"answer": "C"}]
    data = write(tmp_path / "gold.tsv", gold)
    summary = score("mmt-bench", target, data=data).summary
    assert summary.headline.value == pytest.approx(100 * (0.5 + 1.0) / 2)


def test_an_incomplete_run_is_not_submitted(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is incomplete, 1 questions failed"):
        mmt_sheet(ran(tmp_path, q3="FAIL"))


def test_rotations_are_not_submitted(tmp_path: Path) -> None:
    class Always(Speaking):
        def answer(self, request: Request) -> Output:
            return Generated("A")

    data = write(tmp_path / "all.tsv", HIDDEN)
    variant = Variant(data=str(data), circular="full")
    (run,) = evaluate([Always()], ["mmt-bench"], out=tmp_path / "out", variant=variant, html=False).runs
    with pytest.raises(UsageError, match="asked questions in rotations"):
        mmt_sheet(run)
