"""Numbers of runs on their way, and of runs that were stopped."""

from __future__ import annotations

from pathlib import Path

import pytest

from snellen import evaluate
from snellen.api.report import report_of
from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.repeats import with_never_asked
from snellen.core.benchmark import Variant
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure
from snellen.core.request import Request
from snellen.core.run import Status
from snellen.core.summary import Metric, Summary
from snellen.engine.loop.request_broker import MAIN, concurrent_flows
from snellen.models.naming.registry import open_model
from snellen.report import format as fmt
from snellen.report.progress import PlainProgress

ROWS = "".join(f"{n}\tWhich is {n}?\tred{n}\tblue{n}\tgrey{n}\tA\n" for n in range(40))


@pytest.fixture
def data(tmp_path: Path) -> str:
    path = tmp_path / "q.tsv"
    path.write_text(f"index\tquestion\tA\tB\tC\tanswer\n{ROWS}")
    return str(path)


class NotedScores:
    """A progress that keeps every score it is told."""

    def __init__(self) -> None:
        self.scores: list[float | None] = []

    def on_start(self, name: str, total: int, done: int) -> None:
        self.scores.clear()

    def on_advance(self, done: int, failed: int, sent: int, reused: int, saved: int, score: float | None) -> None:
        self.scores.append(score)

    def on_finish(self, status: Status) -> None:
        assert status == "complete"


@pytest.mark.parametrize(("mode", "known"), [(None, 40), ("early", 1), ("full", 1)])
def test_rotations_have_no_score_on_the_way(data: str, tmp_path: Path, mode: str | None, known: int) -> None:
    noted = NotedScores()
    variant = Variant(circular=mode)
    (run,) = evaluate(["random"], [data], out=tmp_path / "out", variant=variant, html=False, progress=noted).runs
    assert sum(score is not None for score in noted.scores) == known
    last = noted.scores[-1]
    assert last is not None
    assert 100 * last == pytest.approx(run.report().summary.headline.value)


def test_no_speed_is_named_before_ten_samples() -> None:
    lines: list[str] = []
    now = [0.0]
    progress = PlainProgress(lines.append, seconds=0.0, clock=lambda: now[0])
    progress.on_start("m on b", 812, 0)
    for done in range(1, 12):
        now[0] += 8.0
        progress.on_advance(done, 0, done, 0, 0, 0.0)
    assert not any("/min" in line or "left" in line for line in lines[:10])
    assert "/min" in lines[10]
    assert "left" in lines[10]


class Dying:
    """Answers some questions; then its server is gone."""

    identity = Identity("test", "dying")
    capabilities = Capabilities()

    def __init__(self) -> None:
        self.asked = 0

    def answer(self, request: Request) -> str | Failure:
        self.asked += 1
        return "A" if self.asked <= 10 else Failure("server", "gone")


def test_bounds_of_a_stopped_run_include_what_was_never_asked(data: str, tmp_path: Path) -> None:
    (run,) = evaluate([Dying()], data, out=tmp_path / "out", max_failures="5", html=False).runs
    assert run.info.status == "interrupted"
    summary = run.report().summary
    assert summary.total + summary.never_asked == 40
    assert summary.never_asked > 0
    assert summary.bounds is not None
    assert summary.bounds.worst == pytest.approx(100 * 10 / 40)
    assert summary.bounds.best == pytest.approx(100)
    first = fmt.notices(run.report())[0]
    assert f"bounds 25.0–100.0 with the {summary.never_asked} that were never asked" in first
    assert report_of(run).summary.bounds == summary.bounds


def test_bounds_of_a_headline_that_is_not_a_mean_are_kept() -> None:
    headline = Metric("f1", 50.0, 10)
    summary = Summary(headline, {}, {}, {"failed": 0, "missing": 0}, 10, 10)
    pope, eyechart = open_benchmark("pope"), open_benchmark("eyechart")
    assert with_never_asked(pope, summary, 20) == summary
    mean = with_never_asked(eyechart, summary, 20)
    assert mean.bounds is not None
    assert (mean.bounds.worst, mean.bounds.best, mean.never_asked) == (25.0, 75.0, 10)
    assert with_never_asked(eyechart, summary, 10) == summary


@pytest.mark.parametrize(("may_stop", "most"), [(False, None), (True, 16)])
def test_a_local_model_that_may_stop_has_two_batches_queued(may_stop: bool, most: int | None) -> None:
    models = {MAIN: open_model("snellen/tiny:device=cpu,batch_size=8")}
    flows = concurrent_flows(models, may_stop=may_stop)
    assert flows == most if most is not None else flows > 16
