"""`snellen curate filter` as it is typed: killed, stopped, out of money, without a server."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import planted
import pytest
from aiohttp import web
from planted import Planted
from standin_server import chat_reply, running

from snellen.cli.main import main
from snellen.data_sets.decisions import latest_decisions, read_decisions
from snellen.data_sets.step import read_step
from snellen.store.runs import find_runs
from snellen_curate.open_data import open_items

MODEL = '''
import hashlib, os, time
import snellen

class Noted:
    """Answers by the text of the question, and notes every request."""
    identity = snellen.Identity("test", "noted")
    capabilities = snellen.Capabilities()

    def answer(self, request):
        text = request.text()
        with open(os.environ["SENT_LOG"], "a") as log:
            log.write(f"{request.ref.sample}/{request.ref.turn}/{len(request.messages[0].parts)}\\n")
        time.sleep(float(os.environ.get("PAUSE", "0")))
        return "ABCD"[hashlib.sha256(text.encode()).digest()[0] % 4]
'''


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Planted:
    return planted.build(tmp_path_factory.mktemp("planted"))


Decided = dict[str, tuple[str, str, str]]
"""Action, rule and reason by item."""


class Shell:
    """Runs the command in processes of its own."""

    def __init__(self, home: Path, made: Planted) -> None:
        self.home, self.log = home, home / "sent.log"
        (home / "noted.py").write_text(MODEL)
        few = made.folder / "few.tsv"
        few.write_text("".join(made.data.read_text().splitlines(keepends=True)[:21]))
        models = ["--text-only", "Noted", "-m", "Noted", "-m", *made.models(["vision-1"])]
        self.words = ["curate", "filter", str(few), "--load", "noted.py", *models, "-q"]

    def start(self, out: str, pause: float = 0.0) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "snellen", *self.words, "--out", out],
            cwd=self.home,
            env=os.environ | {"SENT_LOG": str(self.log), "PAUSE": str(pause)},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def sent(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def stop_after(self, count: int, out: str, number: signal.Signals) -> tuple[int, str]:
        """Stop the command once so many requests were sent; its exit code and what it said."""
        process = self.start(out, pause=0.005)
        while len(self.sent()) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)
        process.send_signal(number)
        said = process.communicate(timeout=60)[1]
        return process.returncode, said

    def finish(self, out: str) -> Decided:
        process = self.start(out)
        said = process.communicate(timeout=120)
        assert process.returncode == 1, said  # an item or two lacks a recorded reply
        found = latest_decisions(read_decisions(self.home / out))
        return {name: (one.action, one.rule, one.reason) for name, one in found.items()}


@pytest.fixture(scope="module")
def whole(made: Planted, tmp_path_factory: pytest.TempPathFactory) -> tuple[Decided, list[str]]:
    """The decisions of a command that ran through, and what it sent."""
    shell = Shell(tmp_path_factory.mktemp("whole"), made)
    return shell.finish("step"), sorted(shell.sent())


@pytest.mark.parametrize("number", [signal.SIGKILL, pytest.param(signal.SIGINT, marks=pytest.mark.release)])
def test_stopped_filter_resumes_without_repeating_requests(
    made: Planted, whole: tuple[Decided, list[str]], tmp_path: Path, number: signal.Signals
) -> None:
    shell = Shell(tmp_path, made)
    decided, requests = whole
    code, said = shell.stop_after(len(requests) // 2, "step", number)
    assert code == (130 if number == signal.SIGINT else -9)
    if number == signal.SIGINT:
        assert "continue with: snellen curate filter" in said
    assert not (tmp_path / "step" / "items.jsonl").exists()
    assert shell.finish("step") == decided
    # What was in flight when it was stopped may have been sent twice; one at a time here.
    assert len(shell.sent()) <= len(requests) + 2
    assert set(shell.sent()) == set(requests)
    assert read_step(tmp_path / "step").status == "waiting"


def test_budget_covers_all_models_and_the_same_command_resumes(made: Planted, tmp_path: Path) -> None:
    with running() as server:
        server.models = ["reader", "viewer"]
        words = ["curate", "filter", str(made.data), "--out", str(tmp_path / "step"), "-q"]
        words += ["--text-only", f"{server.url}#reader", "--model", f"{server.url}#viewer"]
        # 12 tokens in and 3 out for each reply; the text-only model needs most of it.
        assert main([*words, "--budget", "2200tok"]) == 1
        spent = 15 * len(server.asked)
        assert spent <= 2200
        assert {each["model"] for each in server.asked} == {"reader", "viewer"}
        step = read_step(tmp_path / "step")
        assert step.status == "waiting"
        assert any("the budget of 2200tok" in notice for notice in step.counts["notices"])
        assert step.counts["undecided"] > 0
        assert main(words) == 1
        assert read_step(tmp_path / "step").status == "complete"
        asked = len(server.asked)
        assert main(words) == 1
        assert len(server.asked) == asked
    runs = find_runs(tmp_path / "step" / "runs")
    # A server is probed before it is asked; of the rest, nothing was asked twice.
    probes = asked - sum(run.info.spent["model"].answered for run in runs)
    assert 0 <= probes <= 4


def test_a_budget_that_the_first_model_spends_leaves_the_second_undecided(made: Planted, tmp_path: Path) -> None:
    with running() as server:
        server.models = ["reader", "viewer"]
        words = ["curate", "filter", str(made.data), "--out", str(tmp_path), "-q"]
        words += ["--text-only", f"{server.url}#reader", "--model", f"{server.url}#viewer"]
        assert main([*words, "--budget", "800tok"]) == 1
        asked = [each["model"] for each in server.asked]
        assert 15 * len(asked) <= 800
        assert asked.count("viewer") <= 6 < asked.count("reader")
        assert read_step(tmp_path).counts["undecided"] >= 67
        assert main(words) == 1


def test_a_broken_line_of_a_run_is_one_sentence(
    made: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["curate", "filter", str(made.data), "-q", "--out"]
    assert main([*words, str(tmp_path / "a"), "--model", *made.models(["vision-4"])]) == 1
    (run,) = find_runs(tmp_path / "a" / "runs")
    lines = (run.path / "samples.jsonl").read_bytes()
    capsys.readouterr()
    (run.path / "samples.jsonl").write_bytes(b"{no json\n" + lines)
    assert main([*words, str(tmp_path / "b"), "--runs", str(run.path)]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "holds a line that is no sample record" in said
    # A line that a kill cut off is left out, and its item is not judged.
    (run.path / "samples.jsonl").write_bytes(lines[:-20])
    assert main([*words, str(tmp_path / "c"), "--runs", str(run.path)]) == 1
    assert read_step(tmp_path / "c").counts["undecided"] == 1


def test_unreachable_server_leaves_the_folder_usable(
    made: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["curate", "filter", str(made.data), "--out", str(tmp_path), "-q", "--model"]
    assert main([*words, "http://127.0.0.1:9/v1#m"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "cannot be reached" in said
    assert main([*words, *made.models(["vision-4"])]) == 1


async def fails_at_corners(request: web.Request, asked: dict[str, Any]) -> web.Response:
    if "corner" in json.dumps(asked["messages"]):
        error = {"error": {"message": "no such luck"}}
        return web.json_response(error, status=400)
    return web.json_response(chat_reply("A"))


def test_a_server_that_fails_at_some_questions_leaves_them_undecided(made: Planted, tmp_path: Path) -> None:
    with running() as server:
        server.handler = fails_at_corners
        words = ["curate", "filter", str(made.data), "--out", str(tmp_path), "-q"]
        words += ["-m", f"{server.url}#tiny", "-m", *made.models(["vision-4"])]
        words += ["--requests", "retries=0"]
        assert main([*words, "--requests", "max_failures=1000"]) == 1
        found = latest_decisions(read_decisions(tmp_path))
        failed = {name for name, each in found.items() if each.rule == "failed"}
        corners = {item.id for item in open_items(made.data) if "corner" in item.sample.question}
        blank = made.ids_of("broken_picture", "lost_picture", "no_picture")
        assert failed == corners - made.right["vision-4"] - blank != set()
        assert "no reply: request: " in found[min(failed)].evidence[0].verdict
        server.handler = None
        assert main(words) == 1
        found = latest_decisions(read_decisions(tmp_path))
        assert "failed" not in {each.rule for each in found.values()}


def test_json_markdown_and_table_say_the_same(
    made: Planted, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    words = ["curate", "filter", str(made.data), "-q", "--out", str(tmp_path)]
    words += ["--flag", "text-all"]
    for model in made.models(["text-1", "text-2"]):
        words += ["--text-only", model]
    assert main([*words, "--json"]) == 1
    numbers = json.loads(capsys.readouterr().out)
    (rule,) = (each for each in numbers["rules"] if each["is_applied"])
    assert (rule["rule"], rule["flagged"], rule["items"]) == ("text-all", 8, 75)
    assert sum(each["flagged"]["text-all"] for each in numbers["groups"]) == 4 * 8
    assert main([*words, "--format", "markdown"]) == 1
    text = capsys.readouterr().out
    assert "| text-all | 8 | 10.7 % | 0 |" in text
    for form, start in (
        ("csv", "table,rule,flagged"),
        ("latex", "% text-all: all text-only"),
        ("html", "<!doctype html>"),
    ):
        assert main([*words, "--format", form]) == 1
        assert capsys.readouterr().out.startswith(start)
    assert main(words) == 1
    table = capsys.readouterr().out
    assert "77 items; 67 kept, 8 flagged, 2 with no picture" in table
    assert "text-all: all text-only models are right (SEED-Bench-H Sec. 3.4.1)" in table


def test_a_recipe_filters(made: Planted, tmp_path: Path) -> None:
    recipe = tmp_path / "clean.toml"
    texts, visions = made.models(["text-1", "text-2"]), made.models(["vision-4", "vision-5"])
    recipe.write_text(
        f'data = {json.dumps(str(made.data))}\n[[step]]\nstep = "filter"\n'
        f"text-only = {json.dumps(texts)}\nmodel = {json.dumps(visions)}\ndrop = true\n"
    )
    assert main(["curate", "run", str(recipe)]) == 0
    folder = tmp_path / "clean-made" / "filter"
    found = latest_decisions(read_decisions(folder))
    dropped = {name for name, each in found.items() if each.action == "drop"}
    assert {item.id for item in open_items(folder)} == set(made.ids) - dropped
    assert dropped >= made.ids_of("broken_picture")
