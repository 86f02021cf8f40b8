"""`--fresh` asks anew what the store has, and goes on where it was stopped; what a run took from
the store is told."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import asked_about, questions
from standin_server import StandIn, chat_reply

from snellen import evaluate
from snellen.cli import main
from snellen.core.errors import UsageError
from snellen.core.run import ReusedReplies
from snellen.store.runs import RunFolder, find_runs

ROWS = 20


class Answers:
    """Gives one letter, or the right one to some questions alone; counts what it is asked."""

    def __init__(self, server: StandIn, letter: str, broken: int = 0) -> None:
        self.letter, self.broken = letter, broken
        self.asked: list[int] = []
        server.handler = self

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if "What is" not in str(body):
            return web.json_response(chat_reply("A"))
        number = asked_about(body)
        if number < self.broken:
            return web.json_response({"error": {"message": "no"}}, status=400)
        self.asked.append(number)
        await asyncio.sleep(0)
        return web.json_response(chat_reply(self.letter))


def asked(server: StandIn, folder: Path, **how: Any) -> RunFolder:
    spec = how.pop("benchmark", str(questions(folder, how.pop("rows", ROWS))))
    results = evaluate(f"{server.url}#tiny", spec, out=folder / "out", html=False, **how)
    return results.runs[-1]


@pytest.mark.attack(
    "the model behind an address is another one, and its old replies are stored",
    "--fresh asks anew; the old replies and runs stay as they are",
)
def test_fresh_asks_anew_and_leaves_the_old(server: StandIn, tmp_path: Path) -> None:
    first = Answers(server, "A")
    old = asked(server, tmp_path)
    assert len(first.asked) == ROWS
    second = Answers(server, "B")
    assert asked(server, tmp_path).path == old.path
    assert second.asked == []

    fresh = asked(server, tmp_path, fresh="")
    assert sorted(second.asked) == list(range(ROWS))
    assert fresh.path != old.path
    assert {one.answer for one in fresh.records()} == {"B"}
    assert {one.answer for one in old.records()} == {"A"}
    # All had ended: once more is anew once more.
    third = Answers(server, "A")
    assert asked(server, tmp_path, fresh="").path not in (old.path, fresh.path)
    assert len(third.asked) == ROWS


@pytest.mark.attack(
    "a --fresh run is stopped and started again", "it goes on, and asks nothing twice that it had asked"
)
def test_fresh_run_resumes_after_a_stop(server: StandIn, tmp_path: Path) -> None:
    """Over two benchmarks: the one that has ended is not begun anew."""
    other = tmp_path / "other.tsv"
    other.write_text("index\tquestion\tA\tB\tanswer\n" + "9\tWhat is 77?\tone\ttwo\tA\n")
    both = [str(other), str(questions(tmp_path, ROWS))]
    Answers(server, "A")
    asked(server, tmp_path, benchmark=both)
    broken = Answers(server, "B", broken=8)
    stopped = asked(server, tmp_path, benchmark=both, fresh="")
    assert stopped.info.status == "incomplete"
    assert sorted(broken.asked) == [*range(8, ROWS), 77]
    well = Answers(server, "B")
    ended = asked(server, tmp_path, benchmark=both, fresh="")
    assert ended.path == stopped.path
    assert ended.info.status == "complete"
    assert sorted(well.asked) == list(range(8))
    # Also where the rows are gone and the replies alone are left.
    for file in ended.path.iterdir():
        file.unlink()
    again = asked(server, tmp_path, benchmark=both, fresh=stopped.info.config.fresh)
    assert sorted(well.asked) == list(range(8))
    assert again.path == ended.path
    assert again.info.reused.replies == 0


def test_a_name_finds_its_replies_again(server: StandIn, tmp_path: Path) -> None:
    Answers(server, "A")
    asked(server, tmp_path)
    named = Answers(server, "B")
    asked(server, tmp_path, fresh="november", limit=5)
    assert len(named.asked) == 5
    asked(server, tmp_path, fresh="november", limit=8)
    assert len(named.asked) == 8
    assert asked(server, tmp_path, fresh="november", limit=8).info.config.fresh == "november"
    assert len(named.asked) == 8
    with pytest.raises(UsageError, match="--fresh 'no/vember': expected a name of letters, digits"):
        asked(server, tmp_path, fresh="no/vember")


def test_plan_of_a_fresh_run_counts_stored_replies(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    Answers(server, "A")
    words = ["-m", f"{server.url}#tiny", "-b", str(questions(tmp_path, ROWS))]
    words += ["--out", str(tmp_path / "out")]
    assert main(["run", *words, "-q", "--no-html"]) == 0
    for more, stored in ([], ROWS), (["--fresh"], 0), (["--fresh", "x"], 0):
        capsys.readouterr()
        assert main(["plan", *words, *more, "--json"]) == 0
        (line,) = json.loads(capsys.readouterr().out)["lines"]
        assert line["estimate"]["stored"] == stored


def test_reports_replies_taken_from_the_store(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answers = Answers(server, "A")
    words = ["run", "-m", f"{server.url}#tiny", "-b", str(questions(tmp_path, ROWS)), "-q"]
    words += ["--no-html", "--out", str(tmp_path / "out")]
    assert main([*words, "--limit", "5"]) == 0
    assert "in the store" not in capsys.readouterr().err
    (first,) = find_runs(tmp_path / "out")
    assert main(words) == 0
    assert len(answers.asked) == ROWS
    said = capsys.readouterr().err
    assert "5 replies were in the store, made on 20" in said
    assert f" by {first.path.absolute()}; use --fresh to ask again" in said
    (second,) = (run for run in find_runs(tmp_path / "out") if run.path != first.path)
    assert second.info.reused.runs == {str(first.path.absolute()): 5}


@pytest.mark.attack(
    "a judge changes its mind", "a verdict that is stored stands, whatever is asked again; --fresh asks the judge anew"
)
def test_a_judge_that_changes_its_mind(server: StandIn, tmp_path: Path) -> None:
    verdicts: list[str] = []

    async def judging(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if body["model"] != "judge":
            return web.json_response(chat_reply("neither of them, I would say"))
        verdicts.append(str(body))
        return web.json_response(chat_reply("A" if len(verdicts) <= ROWS + 1 else "B"))

    server.models, server.handler = ["tiny", "judge"], judging
    how: dict[str, Any] = {"extractors": [f"{server.url}#judge"]}
    old = asked(server, tmp_path, **how)
    before = len(verdicts)
    assert before >= ROWS
    for file in old.path.iterdir():
        file.unlink()
    again = asked(server, tmp_path, **how)
    # One is the look at the judge before the run.
    assert len(verdicts) == before + 1
    assert {one.answer for one in again.records()} == {"A"}
    anew = asked(server, tmp_path, **how, fresh="")
    assert len(verdicts) == 2 * before + 1
    assert {one.answer for one in anew.records()} == {"B"}


@pytest.mark.parametrize(
    ("noted", "sentence"),
    [
        ([], ""),
        ([(None, None)], "m: 1 reply was in the store; use --fresh to ask again"),
        (
            [(0.0, "/a"), (86_400.0, "/b"), (90_000.0, "/b")],
            "m: 3 replies were in the store, made from 1970-01-01 to 1970-01-02 by /b and 1 other; "
            "use --fresh to ask again",
        ),
        # A clock that was wrong, or a damaged row.
        ([(-1e300, "/a")], "m: 1 reply was in the store by /a; use --fresh to ask again"),
    ],
)
def test_sentence_about_reused_replies(noted: list[tuple[float | None, str | None]], sentence: str) -> None:
    reused = ReusedReplies()
    for at, run in noted:
        reused = reused.with_reply(at, run)
    assert reused.sentence("m") == sentence
