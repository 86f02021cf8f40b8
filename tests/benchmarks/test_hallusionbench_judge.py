"""HallusionBench graded by a judge, as its authors do."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate, score
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.perception.hallusionbench import parse_agreement
from snellen.core.benchmark import Variant
from snellen.core.model import Capabilities, Identity
from snellen.core.request import Request

LAYOUT = Path(__file__).parent / "layouts" / "hallusionbench.tsv"
OFFICIAL = Variant(rule="official")
ROWS = (
    "category\tsubcategory\tset_id\tfigure_id\tquestion_id\tquestion\tgt_answer\tgt_answer_details\n"
    "VS\tchart\t0\t0\t0\tDid it rise?\t1\tIt rose from 2 to 3.\n"
    "VS\tchart\t0\t1\t0\tDid it rise?\t0\tIt fell.\n"
    "VD\tvideo\t1\t0\t0\tIs it red?\t1\tIt is red.\n"
)


class Teacher:
    identity = Identity("test", "teacher")
    capabilities = Capabilities()

    def __init__(self, verdict: str) -> None:
        self.verdict = verdict
        self.asked: list[str] = []

    def answer(self, request: Request) -> str:
        self.asked.append(request.messages[-1].text())
        return self.verdict


@pytest.mark.parametrize(
    ("verdict", "grade"), [("Correct.", 1.0), ("It is incorrect", 0.0), ("“unclear”", 0.5), ("I cannot say", None)]
)
def test_verdicts_are_read_as_the_authors_read_them(verdict: str, grade: float | None) -> None:
    found = parse_agreement(verdict, unclear=0.5)
    assert (None if found is None else found.values["grade"]) == grade


def test_a_judge_compares_with_the_whole_reference(tmp_path: Path) -> None:
    data = tmp_path / "hallusion.tsv"
    data.write_text(ROWS)
    judge, spec = Teacher("unclear"), f"hallusionbench:file={data}"
    (run,) = evaluate(
        [Teacher("It cannot be seen.")], [spec], judges=[judge], variant=OFFICIAL, out=tmp_path / "out", html=False
    ).runs
    scores = {record.unit: record.score for record in run.records()}
    assert scores == {"VS-chart/0/0/0": 1.0, "VS-chart/0/1/0": 0.0, "VD-video/1/0/0": 0.0}
    assert any(
        text.endswith(
            'please generate "unclear". \n\n Question:Did it rise?\nReference answer: It rose from '
            "2 to 3.\nPrediction answer:It cannot be seen.\nOutput:"
        )
        for text in judge.asked
    )
    metrics = run.report().summary.metrics
    assert metrics["aAcc"].value == pytest.approx(100 / 3)
    assert (metrics["fAcc"].n, metrics["qAcc"].n) == (3, 2)


def test_recorded_verdicts_are_replayed_and_words_are_the_default(tmp_path: Path) -> None:
    replies = tmp_path / "replies.csv"
    lines = (f"{row.split(chr(9))[0]},no" for row in LAYOUT.read_text().splitlines()[1:])
    verdicts = ("correct", "incorrect", "unclear", "correct", "so so")
    replies.write_text(
        "index,prediction,verdict\n"
        + "".join(f"{line},{verdict}\n" for line, verdict in zip(lines, verdicts, strict=True))
    )
    found = score("hallusionbench", replies, data=LAYOUT, variant=OFFICIAL, judges=["column:verdict"])
    assert [record.score for record in found.records] == [1.0, 0.0, 0.0, 1.0, None]
    assert found.records[-1].unscored == "ungraded"
    words = score("hallusionbench", replies, data=LAYOUT).summary
    assert words.metrics["aAcc"].value == pytest.approx(60.0)


def test_no_official_score_without_a_judge() -> None:
    made = open_benchmark("hallusionbench", OFFICIAL)
    assert made.oracle is None
    assert "--judge" in made.unscorable
    assert open_benchmark("hallusionbench").oracle == 100.0
