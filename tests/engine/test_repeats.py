"""Questions that are asked several times: what is sent, stored, recorded and summed up."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from statistics import fmean

import pytest

from snellen import evaluate, plan
from snellen.core.benchmark import Variant
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities, Identity
from snellen.core.output import Failure, Generated, Output, Usage
from snellen.core.record import Flow, draws_of
from snellen.core.request import Generate, Rank, Ref, Request, Sampling, request_digest
from snellen.core.sample import Sample
from snellen.engine.loop.plan import repeat_flow
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder

QUESTIONS = 6


class Killed(BaseException):
    """Ends a run in its midst."""


class Killing(NoProgress):
    """Ends the run when so many questions are done."""

    def __init__(self, after: int) -> None:
        self.after = after

    def on_advance(self, done: int, *_: object) -> None:
        if done >= self.after:
            raise Killed


@dataclass
class Urn:
    """Answers the gold with the chance of its question, n / 5 for question n, by the request."""

    fails: Callable[[str, int], bool] = lambda sample, repeat: False
    sent: list[Generate] = field(default_factory=list)
    identity = Identity("test", "urn", {})
    capabilities = Capabilities()
    concurrency = 4

    async def answer(self, request: Request) -> Output:
        assert isinstance(request, Generate)
        self.sent.append(request)
        number, turn = int(request.ref.sample), request.ref.turn
        await asyncio.sleep(0.001 * number)
        if self.fails(request.ref.sample, request.repeat):
            return Failure("server", "down")
        lot = Random(request_digest(request, "urn")).random()
        right = lot < number / (QUESTIONS - 1)
        gold = "AB"[(number + turn) % 2]
        return Generated(gold if right else "BA"["AB".index(gold)], usage=Usage(10, 1))


@pytest.fixture
def home(tmp_path: Path) -> Path:
    rows = [f"{n}\tWhich is {n}?\tred{n}\tblue{n}\t{'AB'[n % 2]}" for n in range(QUESTIONS)]
    text = "\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n"
    (tmp_path / "q.tsv").write_text(text)
    return tmp_path


def run(
    home: Path,
    model: Urn,
    repeats: int,
    sampling: Sampling = Sampling(),  # noqa: B008 - frozen
    circular: str | None = None,
    until: str | None = None,
    progress: Progress | None = None,
    failures: str = "exclude",
) -> RunFolder:
    (found,) = evaluate(
        [model],
        [str(home / "q.tsv")],
        out=home / "out",
        html=False,
        repeats=repeats,
        sampling=sampling,
        variant=Variant(circular=circular, failures=failures),
        until=until,
        progress=progress,
    ).runs
    return found


def stored(home: Path) -> int:
    with ResponseStore(home / "out" / "store.sqlite") as store:
        return len(store)


def test_each_reply_is_stored_by_itself_and_the_first_ones_are_those_of_a_single_run(home: Path) -> None:
    once = run(home, Urn(), 1)
    model = Urn()
    many = run(home, model, 8)
    assert many.path != once.path
    assert len(model.sent) == 7 * QUESTIONS
    assert {request.repeat for request in model.sent} == set(range(1, 8))
    assert stored(home) == 8 * QUESTIONS
    first = {record.id: record for record in once.records()}
    for record in many.records():
        assert len(record.repeats) == len(record.requests) == len(set(record.requests)) == 8
        assert draws_of(record)[0].score == first[record.id].score
        assert record.requests[0] == first[record.id].requests[0]
        assert record.passes == first[record.id].passes
        assert record.score == fmean(one.score or 0 for one in record.repeats)
    fewer = Urn()
    run(home, fewer, 4)
    assert fewer.sent == []


def test_single_repeat_changes_nothing(home: Path) -> None:
    found = run(home, Urn(), 1)
    text = (found.path / "run.json").read_text() + (found.path / "samples.jsonl").read_text()
    assert '"repeats"' not in text
    assert '"sampling"' not in text
    assert '"draws"' not in (found.path / "report.json").read_text()


def test_the_numbers_are_the_means_over_draws(home: Path) -> None:
    summary = run(home, Urn(), 8).report().summary
    draws = summary.draws
    assert draws is not None
    assert summary.headline.value == pytest.approx(fmean(value or 0 for value in draws.runs))
    assert (summary.n, summary.total, summary.outcomes["answered"]) == (6, 6, 48)
    assert draws.best[1] == pytest.approx(summary.headline.value)
    assert list(draws.best) == list(draws.majority) == [1, 2, 4, 8]
    assert draws.best[1] < draws.best[2] < draws.best[8]
    assert draws.these is not None
    assert draws.alike == summary.headline.interval
    assert draws.alike is not None
    assert draws.these.high - draws.these.low < draws.alike.high - draws.alike.low
    assert draws.between is not None
    assert draws.between > 0
    assert draws.errors[1] > draws.errors[8] > (draws.floor or 0)


def test_settings_reach_the_model_and_the_record(home: Path) -> None:
    model = Urn()
    found = run(home, model, 3, Sampling(temperature=0.7, top_p=0.9, seed=5))
    seen = {(one.repeat, one.settings.seed, one.settings.temperature) for one in model.sent}
    assert seen == {(0, 5, 0.7), (1, 6, 0.7), (2, 7, 0.7)}
    assert {one.settings.top_p for one in model.sent} == {0.9}
    assert found.info.config.sampling == {"model": Sampling(0.7, 0.9, 5)}
    assert found.info.config.repeats == 3
    other = run(home, Urn(), 3, Sampling(temperature=0.8, top_p=0.9, seed=5))
    assert other.path != found.path


def test_a_killed_run_asks_for_what_is_not_stored(home: Path) -> None:
    with pytest.raises(Killed):
        run(home, Urn(), 4, progress=Killing(2))
    kept = stored(home)
    assert 8 <= kept < 24
    model = Urn()
    found = run(home, model, 4)
    assert len(model.sent) == 4 * QUESTIONS - kept
    assert (found.info.status, stored(home)) == ("complete", 4 * QUESTIONS)
    whole = evaluate([Urn()], [str(home / "q.tsv")], out=home / "other", html=False, repeats=4)
    assert whole.runs[0].report().summary == found.report().summary


def test_a_draw_that_fails_is_asked_again_alone(home: Path) -> None:
    found = run(home, Urn(one_fails), 4)
    summary = found.report().summary
    assert (found.info.status, found.info.counts.failed) == ("incomplete", 1)
    assert summary.outcomes["failed"] == 1
    assert sum(summary.outcomes.values()) == 4 * QUESTIONS
    assert summary.headline.value is not None
    assert summary.bounds is not None
    assert summary.bounds.worst < summary.headline.value < summary.bounds.best
    assert summary.bounds.best - summary.bounds.worst == pytest.approx(100 / (4 * QUESTIONS))
    assert any("1 of 24 draws failed" in notice for notice in summary.notices)
    (record,) = found.failures()
    assert (record.score, record.unscored) == (None, "failed")
    assert [one.unscored for one in record.repeats] == [None, "failed", None, None]
    model = Urn()
    again = run(home, model, 4)
    assert [(one.ref.sample, one.repeat) for one in model.sent] == [("2", 1)]
    assert again.info.status == "complete"


def one_fails(sample: str, repeat: int) -> bool:
    return (sample, repeat) == ("2", 1)


@pytest.mark.parametrize("failures", ["withhold", "withhold>10%"])
def test_a_score_that_one_draw_has_not_is_withheld(home: Path, failures: str) -> None:
    summary = run(home, Urn(one_fails), 4, failures=failures).report().summary
    assert (summary.headline.value, summary.draws) == (None, None)
    assert summary.outcomes["failed"] == 1


def test_a_failed_draw_may_count_as_wrong(home: Path) -> None:
    excluded = run(home, Urn(one_fails), 4).report().summary
    counted = run(home, Urn(one_fails), 4, failures="count-wrong").report().summary
    assert counted.bounds is not None
    assert counted.headline.value == pytest.approx(counted.bounds.worst)
    assert (counted.headline.value or 0) < (excluded.headline.value or 0)


def test_ranking_refuses(home: Path) -> None:
    def flow(sample: Sample) -> Flow:
        yield Rank(messages=(), ref=Ref(sample.id), candidates=("a", "b"))
        raise AssertionError("a ranking was asked for")

    sample = Sample("1", "choice", "?")
    for repeats, sampling in ((2, {}), (1, {"model": Sampling(temperature=1.0)})):
        with pytest.raises(UsageError, match=r"ranks the candidates.*leave out --repeats"):
            next(repeat_flow(flow, repeats, sampling)(sample))
    assert repeat_flow(flow, 1, {}) is flow


def test_other_roles_draw_nothing(home: Path) -> None:
    data = [str(home / "q.tsv")]
    for roles in ({"extractors": ["snellen/tiny:seed=1"]}, {"clip": "clip/x:seed=1"}):
        with pytest.raises(UsageError, match="is asked once, at temperature 0"):
            evaluate([Urn()], data, out=home / "out", **roles)
    with pytest.raises(UsageError, match="judge: it picks replies at random"):
        evaluate([Urn()], ["mm-vet"], out=home / "out", judges=["random:temperature=1"])


def test_rotations_belong_to_their_draw(home: Path) -> None:
    model = Urn()
    found = run(home, model, 3, circular="full")
    assert Counter((one.repeat, one.ref.turn) for one in model.sent) == {
        (repeat, turn): QUESTIONS for repeat in range(3) for turn in range(2)
    }
    draws = found.report().summary.draws
    assert draws is not None
    assert draws.right_or_wrong
    for record in found.records():
        assert len(record.passes) == 2
        assert [len(one.passes) for one in record.repeats] == [0, 2, 2]
        assert not any(turn.prompt for one in record.repeats for turn in one.passes)


def test_until_sees_the_mean_of_the_draws(home: Path) -> None:
    summary = run(home, Urn(), 2, until="±40").report().summary
    assert summary.metrics["anytime"].value == pytest.approx(summary.headline.value)


def test_a_plan_counts_every_draw(home: Path) -> None:
    def planned(repeats: int) -> float:
        found = plan(["random"], [str(home / "q.tsv")], out=home / "out", repeats=repeats).lines[0]
        assert found.estimate is not None
        return found.estimate.requests

    assert (planned(1), planned(5)) == (QUESTIONS, 5 * QUESTIONS)
    evaluate(["random"], [str(home / "q.tsv")], out=home / "out", html=False, repeats=2)
    assert planned(5) == 3 * QUESTIONS


@pytest.mark.parametrize("repeats", [0, -1, 1.5, True])
def test_repeats_that_cannot_be(home: Path, repeats: int) -> None:
    with pytest.raises(UsageError, match=r"whole number from 1|expected int"):
        run(home, Urn(), repeats)


@pytest.mark.parametrize(
    ("model", "sentence"),
    [
        ("random:temperature=0.5", "without a temperature"),
        ("snellen/tiny:temperature=-1", "expected a number from 0"),
        ("snellen/tiny:temperature=warm", "expected a number"),
        ("snellen/tiny:temperature=nan", "expected a number from 0"),
        ("snellen/tiny:top_p=0.5", "changes nothing"),
        ("snellen/tiny:temperature=1,top_p=1.5", "at most 1"),
        ("snellen/tiny:seed=-3", "whole number from 0"),
        ("anthropic/claude-sonnet-4-0:seed=1", "takes no seed"),
        ("anthropic/claude-sonnet-4-0:temperature=1.5", "from 0 to 1"),
        ("anthropic/claude-sonnet-4-0:temperature=0.5,top_p=0.5", "top_p with temperature=1"),
        ("openai/o3:temperature=0.5", "sets its temperature itself"),
        ("openai/gpt-4o:sampling=no,temperature=0.5", "sampling=no"),
    ],
)
def test_sampling_that_a_model_cannot_honour(
    home: Path, model: str, sentence: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("ANTHROPIC", "OPENAI", "MISTRAL"):
        monkeypatch.setenv(f"{name}_API_KEY", "none")
    with pytest.raises(UsageError, match=sentence):
        evaluate([model], [str(home / "q.tsv")], out=home / "out", html=False)
    assert not (home / "out").exists()


def test_the_seed_of_random_is_its_own(home: Path) -> None:
    found = evaluate(["random:seed=3"], [str(home / "q.tsv")], out=home / "out", html=False, repeats=16).runs[0]
    assert found.info.config.identity.facts == {"seed": "3"}
    assert any(len({one.answer for one in record.repeats}) == 2 for record in found.records())
