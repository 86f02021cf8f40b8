"""Verdicts that are asked for several times, in runs of the engine."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from statistics import fmean, variance

import pytest

from snellen import evaluate
from snellen.api.report import report_of
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.judging import JUDGE_VARIANCE
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Generated, Output
from snellen.core.request import Generate, Request, request_digest
from snellen.report.documents.repeats import draw_lines
from snellen.store.runs import RunFolder

QUESTIONS = 8


class Writer:
    """Writes the number of the question and, where it is asked so, one of two further words."""

    identity = Identity("test", "writer", {})
    capabilities = Capabilities()

    async def answer(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        lot = Random(request_digest(request, "")).choice(["so", "thus"])
        return Generated(f"{request.ref.sample} {lot}")


class Judge:
    """Grades around a tenth of the question's number, each time a little otherwise."""

    identity = Identity("test", "judge", {})
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked: list[Generate] = []

    async def answer(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        if request.ref.sample != "preflight":
            self.asked.append(request)
        lot = Random(request_digest(request, "")).choice([0.0, 0.1, 0.2])
        return Generated(f"{lot + 0.05 * len(request.ref.sample):.2f}")


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = (f"{n}\tWhat is {n}?\t{n}\tmath\tiVBORw0KGgo=\n" for n in range(QUESTIONS))
    (tmp_path / "vet.tsv").write_text("index\tquestion\tanswer\tcategory\timage\n" + "".join(rows))
    return tmp_path


def run(home: Path, judge: Judge, judge_repeats: int, repeats: int = 1) -> RunFolder:
    (found,) = evaluate(
        [Writer()],
        ["mm-vet"],
        out=home / "out",
        html=False,
        judges=[judge],
        repeats=repeats,
        judge_repeats=judge_repeats,
        variant=Variant(data=str(home / "vet.tsv"), control="blind"),
    ).runs
    return found


def test_each_verdict_is_asked_for_and_stored_by_itself(home: Path) -> None:
    once = run(home, Judge(), 1)
    judge = Judge()
    found = run(home, judge, 4)
    assert Counter(request.repeat for request in judge.asked) == dict.fromkeys((1, 2, 3), QUESTIONS)
    assert {request.settings.temperature for request in judge.asked} == {0.0}
    assert found.path != once.path
    assert found.info.config.parameters["judge_repeats"] == "4"
    variances = []
    for record in found.records():
        verdicts = record.passes[0].verdicts
        grades = [verdict.values["grade"] for verdict in verdicts]
        assert [verdict.repeat for verdict in verdicts] == [0, 1, 2, 3]
        assert record.score == pytest.approx(fmean(grades))
        assert record.values[JUDGE_VARIANCE] == pytest.approx(variance(grades))
        variances.append(variance(grades))
    summary = report_of(found).summary
    assert summary.draws is not None
    assert (summary.draws.repeats, summary.draws.verdicts) == (1, 4)
    assert summary.draws.judge == pytest.approx(fmean(variances))
    assert JUDGE_VARIANCE not in summary.metrics
    assert "between verdicts of a judge" in dict(draw_lines(report_of(found)))["variance of one draw"]


def test_questions_draws_and_verdicts_share_the_variance(home: Path) -> None:
    found = run(home, Judge(), 3, repeats=4)
    parts = dict(draw_lines(report_of(found)))["variance of one draw"]
    assert [part.split(" % ")[1] for part in parts.split(", ")] == [
        "between questions",
        "between draws of a question",
        "between verdicts of a judge",
    ]
    assert sum(int(part.split(" %")[0]) for part in parts.split(", ")) == pytest.approx(100, abs=1)


def test_a_judge_is_asked_once_about_replies_that_are_the_same(home: Path) -> None:
    judge = Judge()
    found = run(home, judge, 2, repeats=6)
    replies = {
        (record.id, turn.output.text)
        for record in found.records()
        for turn in (*record.passes, *(one.passes[0] for one in record.repeats[1:]))
        if isinstance(turn.output, Generated)
    }
    assert len(judge.asked) == 2 * len(replies)


def test_rights_and_wrongs_are_put_to_the_vote() -> None:
    made = open_benchmark("mm-vet", Variant(judges=2, judge_repeats=3))
    assert made.parameters["judge_repeats"] == "3"
    assert "judge_repeats" not in open_benchmark("mm-vet", Variant(judges=1)).parameters


def test_refuses_judge_repeats_without_a_judge(home: Path) -> None:
    with pytest.raises(UsageError, match="judge_repeats asks judges again; name one"):
        evaluate([Writer()], ["mm-vet"], out=home / "out", judge_repeats=2)
    with pytest.raises(UsageError, match="judge_repeats is 0"):
        run(home, Judge(), 0)
