"""`snellen why A B --ask`: what two runs leave open is planned, agreed to, asked and told apart."""

from __future__ import annotations

import asyncio
import json
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from aiohttp import web
from standin_server import StandIn, chat_reply, running
from typed import said

import snellen
from snellen.api.options import DEFAULT_STORE
from snellen.store.responses import ResponseStore
from snellen.store.runs import find_runs

COUNT = 40
WORDS = {"one": "Answer with the letter.", "two": "Answer with the  letter."}
SKILL = {("weak", "one"): 0.3, ("weak", "two"): 0.7, ("strong", "one"): 0.8, ("strong", "two"): 0.9}


class Answering:
    """Two models that a prompt helps unlike; `hang` stops to answer after so many requests."""

    def __init__(self) -> None:
        self.hang: int | None = None
        self.sent = 0

    async def __call__(self, request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[-1]["text"]
        if "What is " not in text:
            # A look at whether the server answers, before a run.
            return web.json_response(chat_reply("A"))
        self.sent += 1
        mine = self.sent
        while self.hang is not None and mine > self.hang:
            await asyncio.sleep(0.02)
        number = text.split("What is ")[1].split("?")[0]
        prompt = "two" if WORDS["two"] in text else "one"
        right = random.Random(number).random() < SKILL[body["model"], prompt]
        return web.json_response(chat_reply("AB"[int(number) % 2] if right else "C"))


class Place(NamedTuple):
    """A folder with two runs of models behind a server, and the flags that name it."""

    folder: Path
    server: StandIn
    answering: Answering
    first: str
    second: str

    @property
    def ask(self) -> list[str]:
        reached = [word for name in ("weak", "strong") for word in ("-m", self.named(name))]
        return ["why", self.first, self.second, "--each", "0", "-q", *reached, "--ask"]

    def named(self, model: str) -> str:
        return f"{self.server.url}#{model}"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Place]:
    monkeypatch.chdir(tmp_path)
    lines = [f"{at}\tWhat is {at}?\tred\tblue\tgreen\t{'AB'[at % 2]}" for at in range(COUNT)]
    Path("q.tsv").write_text("\n".join(["index\tquestion\tA\tB\tC\tanswer", *lines]) + "\n")
    for name, words in WORDS.items():
        Path(name).mkdir()
        Path(name, "q.toml").write_text(f'data = "../q.tsv"\n[prompt]\nchoose = "{words}"\n')
    with running() as server:
        answering = Answering()
        server.models, server.handler = ["weak", "strong"], answering
        runs = [
            snellen.evaluate([f"{server.url}#{model}"], [f"{prompt}/q.toml"], html=False).runs[0]
            for model, prompt in (("weak", "one"), ("strong", "two"))
        ]
        yield Place(tmp_path, server, answering, *(str(run.path) for run in runs))


def test_crossed_runs_are_asked_and_separate_causes(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = place.answering.sent
    price = [word for name in ("weak", "strong") for word in ("--price", f"{name}:input=1000,output=1000")]
    code, out, err = said(capsys, *place.ask, *price, "--ask", "yes", "--json")
    assert (code, place.answering.sent - before) == (0, 2 * COUNT)
    assert "asks: requests expected, and at most" in err
    assert "$" in err
    found = json.loads(out)
    parts = {one["causes"][0]: one for one in found["shares"]}
    scores = {
        (run.info.model, "two" if "two" in str(run.info.data.origin) else "one"): value
        for run in [*find_runs("snellen-results"), *find_runs("snellen-results/crossed")]
        if (value := run.report().summary.headline.value) is not None
    }
    assert len(scores) == 4
    early = scores["weak", "two"] - scores["weak", "one"]
    late = scores["strong", "two"] - scores["strong", "one"]
    assert parts["prompt"]["points"] == pytest.approx((early + late) / 2)
    assert sorted([early, late]) == pytest.approx([parts["prompt"]["least"], parts["prompt"]["most"]])
    assert {one["method"] for one in parts.values()} == {"measured"}
    # The runs are found again: nothing is left to ask, and no server needed.
    code, out, err = said(capsys, *place.ask, "yes")
    assert (code, place.answering.sent - before) == (0, 2 * COUNT)
    assert "nothing is left to ask" in err
    assert "measured" in out


def test_without_consent_nothing_is_asked(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before = place.answering.sent
    code, out, err = said(capsys, *place.ask)
    assert (code, out, place.answering.sent) == (2, "", before)
    assert err.splitlines()[-1] == (
        f"snellen: --ask would send up to {2 * COUNT} requests, and there is no terminal to agree in; write --ask yes"
    )


def test_a_spent_budget_leaves_the_rest_open(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    price = [word for name in ("weak", "strong") for word in ("--price", f"{name}:input=1000,output=1000")]
    before = place.answering.sent
    slow = [f"{word}:concurrency=1" if "#" in word else word for word in place.ask]
    code, out, err = said(capsys, *slow, *price, "--budget", "0.9usd", "--ask", "yes")
    assert (code, err.count("Traceback")) == (1, 0)
    assert "is not complete" in out
    # 15 tokens a request at 0.001 USD each, of which each may take 525.
    assert 15 <= place.answering.sent - before <= 30
    assert "together" in out


def test_a_dead_server_is_one_sentence(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    dead = "http://127.0.0.1:9/v1"
    words = [word.replace(place.server.url, dead) for word in place.ask]
    code, out, err = said(capsys, *words, "yes")
    assert (code, out) == (2, "")
    assert dead in err.splitlines()[-1]
    assert "Traceback" not in err
    assert not list(Path("snellen-results").glob("crossed/*/run.json"))


def stored_replies() -> int:
    """Replies in the store of the results folder."""
    with closing(ResponseStore(Path(DEFAULT_STORE))) as store:
        return len(store)


def test_ctrl_c_and_again(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    before, stored = place.answering.sent, stored_replies()
    place.answering.hang = before + 10
    process = subprocess.Popen(
        [sys.executable, "-m", "snellen", *place.ask, "yes"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    while place.answering.sent < before + 12 or stored_replies() < stored + 10:
        assert process.poll() is None, process.communicate()
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert "continue with: snellen why" in err
    place.answering.hang, halfway = None, place.answering.sent
    code, out, _ = said(capsys, *place.ask, "yes")
    assert code == 0
    assert "measured" in out
    # A reply that was on its way when the run was stopped may be asked for again.
    assert 2 * COUNT - 10 <= place.answering.sent - halfway < 2 * COUNT - 5


@pytest.mark.parametrize(
    ("flags", "expected"),
    [
        (["--requests", "retries=0"], "--requests says how to ask; add --ask"),
        (["--requests", "max_failures=1"], "--requests says how to ask; add --ask"),
        (["--ask", "yes", "-o", "x.svg"], "there is nothing to draw here"),
        (["--budget", "1usd", "--out", "x"], "--out and --budget says how to ask; add --ask"),
        (["--ask", "yes"], "the model weak cannot be opened as it was when it was run"),
        (["--ask", "yes", "--budget", "much"], "much"),
        (["--ask", "yes", "--load", "nothing.py"], "nothing.py"),
        (["--runs", "q.tsv"], "q.tsv"),
    ],
)
def test_mistakes_give_one_sentence(
    place: Place, flags: list[str], expected: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code, out, err = said(capsys, "why", place.first, place.second, *flags)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert expected in err


def test_reports_runs_that_cannot_be_crossed(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    replies = "".join(f"{at},A\n" for at in range(COUNT))
    Path("theirs.csv").write_text(f"index,prediction\n{replies}")
    code, _, err = said(capsys, "why", place.first, "theirs.csv", "--ask", "yes")
    assert (code, err.count("\n")) == (2, 1)
    assert "theirs.csv holds replies alone" in err
    other = Path("q.tsv").read_text().replace("red", "grey")
    Path("r.tsv").write_text(other)
    Path("three").mkdir()
    Path("three/q.toml").write_text('data = "../r.tsv"\n[prompt]\nchoose = "Answer."\n')
    spec = f"{place.server.url}#strong"
    place.server.handler = None
    (run,) = snellen.evaluate([spec], ["three/q.toml"], html=False).runs
    code, _, err = said(capsys, "why", place.first, run.path, "--ask", "yes")
    assert code == 2
    assert "made on different data, which cannot be crossed" in err


def test_an_extractor_is_crossed_from_stored_replies(place: Place, capsys: pytest.CaptureFixture[str]) -> None:
    """Replies of two models in two stores, one of them read by a third model: only that is asked,
    and the parts are those of all four combinations."""
    asked: list[str] = []

    async def answer(request: web.Request, body: dict[str, Any]) -> web.StreamResponse:
        content = body["messages"][-1]["content"]
        text = content if isinstance(content, str) else content[-1]["text"]
        asked.append(body["model"])
        if "the one called" in text:
            return web.json_response(chat_reply(text.split("the one called ")[1][0].upper()))
        number = int([*text.split("What is "), "0?"][1].split("?")[0])
        right = random.Random(str(number)).random() < {"weak": 0.5, "strong": 0.8}[body["model"]]
        letter = "AB"[number % 2] if right else "C"
        wordy = number % (3 if body["model"] == "weak" else 4) == 0
        return web.json_response(chat_reply(f"the one called {letter.lower()}" if wordy else letter))

    place.server.handler, place.server.models = answer, ["weak", "strong", "reader"]
    reader = place.named("reader")
    scores, paths = {}, {}
    for model in ("weak", "strong"):
        for extractor in (None, reader):
            (run,) = snellen.evaluate(
                [place.named(model)],
                ["one/q.toml"],
                extractors=[extractor] if extractor else [],
                out=f"{model}-{bool(extractor)}",
                html=False,
            ).runs
            scores[model, bool(extractor)] = run.report().summary.headline.value or 0.0
            paths[model, bool(extractor)] = str(run.path)
    asked.clear()
    ask = ["--ask", "yes", "-q", "--json", "-m", reader]
    ask += ["-m", place.named("weak"), "-m", place.named("strong")]
    pair = [paths["weak", False], paths["strong", True]]
    before = json.loads(said(capsys, "why", *pair, "--json")[1])
    _, out, err = said(capsys, "why", *pair, *ask)
    counted = {name: asked.count(name) for name in ("weak", "strong")}
    # A look at whether each server answers is no question.
    assert max(counted.values()) <= 1, err
    assert asked.count("reader") >= COUNT // 4
    moves = [scores["weak", True] - scores["weak", False], scores["strong", True] - scores["strong", False]]
    (part,) = [one for one in json.loads(out)["shares"] if one["causes"] == ["extraction"]]
    assert part["points"] == pytest.approx(sum(moves) / 2)
    assert [part["least"], part["most"]] == pytest.approx(sorted(moves))
    assert (part["method"], part["orders"]) == ("measured", part["possible"])
    (bounds,) = [one for one in before["ranges"] if one["cause"] == "extraction"]
    assert bounds["least"] <= min(moves) < max(moves) <= bounds["most"]
