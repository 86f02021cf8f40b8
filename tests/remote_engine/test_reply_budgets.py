"""Replies that are cut at the token limit: a warning, and a longer reply for these alone."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from remote_runs import asked_about, questions
from standin_server import StandIn, chat_reply

from snellen import Variant, evaluate
from snellen.api.flags import parse_token_count
from snellen.api.planning import plan
from snellen.cli.main import main
from snellen.core.errors import UsageError
from snellen.core.output import Generated, Truncated
from snellen.core.record import Pass, Record
from snellen.engine.limits.truncation import TruncationMonitor
from snellen.store.runs import RunFolder

NEEDED = 600
"""Tokens of the replies to every third question; the others have 9."""


async def thinking(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
    """A model that thinks long about every third question, and is cut at `max_tokens`."""
    await asyncio.sleep(0)
    if "What is" not in str(body):
        # The check before the first question.
        return web.json_response(chat_reply("A"))
    number = asked_about(body)
    needed = NEEDED if number % 3 == 0 else 9
    limit = body.get("max_tokens") or body["max_completion_tokens"]
    if needed > limit:
        reply = chat_reply("Let me think about what it may be", "length")
    else:
        reply = chat_reply(f"Answer: {'AB'[number % 2]}")
    used = min(needed, limit)
    usage = {"prompt_tokens": 20, "completion_tokens": used, "total_tokens": 20 + used}
    return web.json_response({**reply, "usage": usage})


def asked(server: StandIn) -> list[dict[str, Any]]:
    return [body for body in server.asked if "What is" in str(body)]


def limited(server: StandIn, folder: Path, count: int = 30, **changes: Any) -> RunFolder:
    changes = {"variant": Variant(max_new_tokens=100), "out": folder / "out", **changes}
    (run,) = evaluate(f"{server.url}#tiny", str(questions(folder, count)), html=False, **changes).runs
    return run


def test_only_cut_replies_are_asked_again_and_both_are_kept(server: StandIn, tmp_path: Path) -> None:
    server.handler = thinking
    short = limited(server, tmp_path)
    assert len(asked(server)) == 30
    assert short.report().summary.outcomes["truncated"] == 10
    planned = plan(
        f"{server.url}#tiny",
        str(tmp_path / "questions.tsv"),
        extend_truncated=1000,
        variant=Variant(max_new_tokens=100),
        out=tmp_path / "out",
    )
    assert planned.lines[0].estimate is not None
    assert (planned.lines[0].estimate.stored, planned.lines[0].estimate.most_requests) == (30, 10)
    long = limited(server, tmp_path, extend_truncated=1000)
    again = asked(server)[30:]
    assert sorted(map(asked_about, again)) == list(range(0, 30, 3))
    assert {body.get("max_tokens") or body["max_completion_tokens"] for body in again} == {1000}
    assert long.path != short.path
    assert long.report().summary.headline.value == 100
    assert long.info.config.extend_truncated == 1000
    assert any(
        "10 of 30 replies were cut at 100 tokens and asked for again with 1,000; none of them was "
        "cut there too" in remark
        for remark in long.info.remarks
    )
    for record in long.records():
        (turn,) = record.passes
        is_long = int(record.id) % 3 == 0
        assert (turn.cut_reply is not None) == is_long
        assert len(record.requests) == 1 + is_long
        if turn.cut_reply is not None:
            assert turn.cut_reply.max_new_tokens == 100
            assert turn.cut_reply.output.stop_reason == "length"
    # The same command again asks nothing.
    limited(server, tmp_path, extend_truncated=1000)
    assert len(asked(server)) == 40


def test_repeats_keep_cut_replies_and_report_a_second_cut(server: StandIn, tmp_path: Path) -> None:
    server.handler = thinking
    run = limited(server, tmp_path, 6, repeats=2, extend_truncated=200)
    assert len(asked(server)) == 12 + 4
    assert any("none of them" not in remark and "4 of them were cut there too" in remark for remark in run.info.remarks)
    first = next(record for record in run.records() if record.id == "0")
    assert [turn.cut_reply is not None for draw in first.repeats[1:] for turn in draw.passes] == [True]


def test_budget_covers_longer_replies_and_the_same_command_resumes(server: StandIn, tmp_path: Path) -> None:
    server.handler = thinking
    limited(server, tmp_path)
    before = len(asked(server))
    run = limited(server, tmp_path, extend_truncated=1000, budget="3ktok")
    spent = run.info.spent["model"].usage
    assert run.info.status == "interrupted"
    assert 0 < spent.prompt_tokens + spent.completion_tokens <= 3060
    assert before < len(asked(server)) < before + 10
    assert limited(server, tmp_path, extend_truncated=1000).info.status == "complete"
    assert len(asked(server)) == before + 10


def test_a_context_that_is_too_short_leaves_the_cut_reply(server: StandIn, tmp_path: Path) -> None:
    async def short_context(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        if (body.get("max_tokens") or body["max_completion_tokens"]) > 100:
            error = {"message": "maximum context length", "code": "context_length_exceeded"}
            return web.json_response({"error": error}, status=400)
        return await thinking(request, body)

    server.handler = short_context
    run = limited(server, tmp_path, 6, extend_truncated=1000)
    assert run.info.status == "complete"
    assert run.report().summary.outcomes["truncated"] == 2


def test_why_says_that_replies_were_cut(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    server.handler = thinking
    short = limited(server, tmp_path)
    long = limited(server, tmp_path, extend_truncated=1000)
    assert main(["why", str(short.path), str(long.path)]) == 0
    said = " ".join(capsys.readouterr().out.split())
    assert "the first run's reply was cut at the token limit" in said
    assert "extend_truncated" in said


@pytest.mark.parametrize(("text", "count"), [("4096", 4096), ("32k", 32_000), ("1.5K", 1500), (" 8 k ", 8000)])
def test_token_counts(text: str, count: int) -> None:
    assert parse_token_count(text) == count


def test_wrong_limits_are_explained(server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    command = [
        "run",
        "-m",
        f"{server.url}#tiny",
        "-b",
        str(questions(tmp_path, 3)),
        "--out",
        str(tmp_path / "out"),
        "--generation",
    ]
    for text in ("many", "0", "-3", "1.5"):
        with pytest.raises(SystemExit):
            main([*command, f"extend_truncated={text}"])
    assert "is no number of tokens; expected e.g. 4096 or 32k" in capsys.readouterr().err
    assert main([*command, "extend_truncated=10"]) == 2
    assert "extend_truncated is 10, and replies may have" in capsys.readouterr().err
    with pytest.raises(UsageError, match="expected a limit of tokens"):
        limited(server, tmp_path, 3, extend_truncated=0)
    assert server.asked == []


def cut(count: int, of: int) -> list[Pass]:
    whole = Pass((), Generated("A"))
    return [Pass((), Generated("Let me", stop_reason="length"), Truncated())] * count + ([whole] * (of - count))


def record_of(passes: list[Pass]) -> Record:
    return Record("1", "open", "Which?", "answered", passes=tuple(passes))


@pytest.mark.parametrize(("count", "warns"), [(0, False), (3, False), (4, True), (20, True)])
def test_many_cut_replies_of_the_first_twenty_warn(count: int, warns: bool) -> None:
    warnings: list[str] = []
    monitor = TruncationMonitor("tiny on q", 512, warnings.append)
    first = cut(count, 20)
    monitor.add_record(record_of(first[:19]))
    assert warnings == []
    monitor.add_record(record_of(first[19:]))
    assert bool(warnings) == warns
    for one in cut(40, 40):
        monitor.add_record(record_of([one]))
    assert len(warnings) == 1


def test_the_accepted_share_rarely_warns() -> None:
    """5 % of cut replies, in 400 simulated runs of 640 replies."""
    from random import Random

    warnings: list[str] = []
    for seed in range(400):
        draws = Random(seed)
        monitor = TruncationMonitor(str(seed), 512, warnings.append)
        for _ in range(640):
            monitor.add_record(record_of(cut(int(draws.random() < 0.05), 1)))
    assert len(warnings) <= 20


def test_a_run_warns_once_and_says_what_to_do(server: StandIn, tmp_path: Path) -> None:
    server.handler = thinking
    warnings: list[str] = []
    limited(server, tmp_path, 60, warned=warnings.append)
    (warning,) = warnings
    assert "replies were cut at the limit of 100 tokens" in warning
    assert "--generation max_new_tokens=800" in warning
    assert "--generation extend_truncated=800" in warning
    limited(server, tmp_path, 60, warned=warnings.append, extend_truncated=1000)
    assert len(warnings) == 1


def test_the_curve_over_budgets_ends_at_the_run_and_meets_shorter_runs(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.handler = thinking
    short = limited(server, tmp_path)
    long = limited(server, tmp_path, extend_truncated=1000)
    plot = tmp_path / "curve.svg"
    command = ["analyse", "budget", str(tmp_path / "out")]
    assert main([*command, "--json", "-o", str(plot)]) == 0
    told = json.loads(capsys.readouterr().out)
    (table,) = told["tables"]
    rows = {row["budget"]: row for row in table["rows"]}
    assert max(rows) == 1000
    assert rows[1000]["score"] == long.report().summary.headline.value == 100
    assert rows[100]["measured"] == short.report().summary.headline.value
    assert rows[100]["score"] == pytest.approx(200 / 3)
    assert rows[8]["score"] == 0
    # 20 prompts and replies of 29 tokens, and 10 of 20 + 600.
    assert rows[1000]["tokens a sample"] == round((20 * 29 + 10 * 620) / 30)
    assert rows[1000]["right per M tokens"] == round(30e6 / (20 * 29 + 10 * 620))
    assert "a run with this limit" in plot.read_text()
    assert any("most right answers per million tokens with 16 tokens" in notice for notice in told["notices"])
    page = tmp_path / "report.html"
    assert main(["report", str(long.path), "--format", "html", "-o", str(page)]) == 0
    assert "Token budget of a reply" in page.read_text()
    capsys.readouterr()
    assert main([*command, "--at", "64,0.5k", "--json"]) == 0
    (table,) = json.loads(capsys.readouterr().out)["tables"]
    assert [row["budget"] for row in table["rows"]] == [64, 500]


def test_budgets_that_cannot_be_computed_are_explained(
    server: StandIn, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    limited(server, tmp_path, 3)
    command = ["analyse", "budget", str(tmp_path / "out"), "--at"]
    assert main([*command, "few"]) == 2
    assert "'few' is no number of tokens; expected e.g. 4096 or 32k" in capsys.readouterr().err
    assert main([*command, "32k"]) == 2
    assert "no run has replies of more than 100 tokens" in capsys.readouterr().err
    assert main(["analyse", "budget", str(tmp_path / "nothing")]) == 2
    evaluate("random", str(tmp_path / "questions.tsv"), out=tmp_path / "random", html=False)
    capsys.readouterr()
    assert main(["analyse", "budget", str(tmp_path / "random")]) == 2
    assert "its replies come without counts of tokens" in capsys.readouterr().err
