"""A planted key is in no file, page or stream of any command, though the servers repeat it."""

from __future__ import annotations

import json
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

import pytest
from aiohttp import web
from standin_server import StandIn, chat_reply, running
from test_keys import KEY, parts_in, written
from viewing import viewed

from snellen.cli import main
from snellen.cli.parser import build_parser
from snellen.core.secret import MASK
from snellen.mcp_server.served_runs import SampleFilter, ServedRuns

JUDGE_KEY = "jk-m3/Xq+8Tz1=LwB6nF0cRr7"
QUESTIONS = 30


async def leak(request: web.Request, asked: dict[str, Any]) -> web.StreamResponse:
    """The key in replies that are read, in replies that no rule reads, and in failures."""
    key = request.headers["Authorization"].removeprefix("Bearer ")
    number = len(str(asked["messages"])) % 5
    if number == 0:
        return web.json_response({"error": {"message": f"{key} has no rights"}}, status=400)
    text = f"The answer is A. My key is {key}." if number < 4 else f"I only know {key}."
    return web.json_response(chat_reply(text, reasoning_content=f"Is it {key}?"))


@pytest.fixture
def judge() -> Any:
    with running() as server:
        yield server


@pytest.fixture
def folder(server: StandIn, judge: StandIn, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A work folder with questions, and both keys in the environment."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SNELLEN_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.setenv("JUDGE_KEY", JUDGE_KEY)
    server.handler = judge.handler = leak
    server.models = judge.models = ["tiny", "other"]
    lines = [f"{i}\tWhat is {'x' * i}?\tone\ttwo\tA\tkind {i % 2}" for i in range(QUESTIONS)]
    head = "index\tquestion\tA\tB\tanswer\tcategory"
    Path("q.tsv").write_text("\n".join([head, *lines]) + "\n")
    Path("p.csv").write_text("index,prediction\n" + "".join(f"{i},perhaps {i}\n" for i in range(QUESTIONS)))
    return tmp_path


@pytest.mark.attack("servers that repeat their keys, under every command", "no file, page or stream holds one")
def test_no_command_shows_a_key(
    folder: Path, server: StandIn, judge: StandIn, capfd: pytest.CaptureFixture[str]
) -> None:
    tiny, other = (f"openai/{name}:base_url={server.url}" for name in ("tiny", "other"))
    reader = f"{judge.url}#tiny:key_env=JUDGE_KEY"
    asking = ["-b", "q.tsv", "--requests", "retries=0", "--requests", "max_failures=100%"]
    every: list[list[str]] = [
        ["plan", "-m", tiny, "-m", other, *asking, "--extractor", reader],
        ["run", "-m", tiny, "-m", other, *asking, "--extractor", reader],
        [
            "run",
            "-m",
            tiny,
            "-b",
            "q.tsv",
            "--control",
            "blind",
            "--requests",
            "retries=0",
            "--extractor",
            reader,
            "--track",
            "tensorboard:tracked",
        ],
        ["parity", "-m", tiny, "-m", other, "-b", "q.tsv", "--limit", "4"],
        ["score", "q.tsv", "--predictions", "p.csv", "--extractor", reader],
        *(["report", "snellen-results", "--format", form] for form in ("table", "json", "csv", "markdown", "latex")),
        ["report", "snellen-results", "--format", "html", "-o", "out.html"],
        ["export", "snellen-results", "--to", "pages", "-o", "pages"],
        ["leaderboard", "snellen-results"],
        ["runs", "snellen-results", "--where", "samples>0"],
        ["merge", "snellen-results", "--out", "merged"],
        ["compare", "snellen-results", "--common"],
        ["why", "RUN", "OTHER"],
        ["items", "snellen-results", "--common"],
        ["analyse", "gains", "snellen-results"],
        ["analyse", "letters", "RUN"],
        ["analyse", "refusals", "RUN"],
        ["analyse", "readers", "snellen-results", "--sheet", "labels.csv"],
        ["taskmap", "--runs", "RUN", "--runs", "OTHER", "--group", "category"],
        ["info", "q.tsv", "--card"],
        ["info", tiny],
        ["list", "models"],
        ["doctor"],
        ["data", "check", "q.tsv"],
        ["dev", "new-benchmark", "no-folder/my-benchmark"],
        ["watch", "no-checkpoints", "-b", "q.tsv", "--for", "once"],
        ["completion", "bash"],
        ["curate", "translate", "q.tsv", "--language", "zh", "-m", tiny, "--out", "q-zh"],
        ["curate", "filter", "q.tsv", "-m", tiny, "--out", "filtered", "--circular", "off"],
        ["hub", "doctor", "no-hub"],
        ["submit", "RUN", "--hub", server.url],
        ["view", "snellen-results"],
        ["mcp", "snellen-results"],
    ]
    assert {words[0] for words in every} >= set(make_parser_commands())
    streams = ""
    for words in every:
        runs = sorted(path.parent for path in folder.glob("snellen-results/**/run.json"))
        named = {"RUN": str(runs[0]), "OTHER": str(runs[1])} if len(runs) > 1 else {}
        words = [named.get(word, word) for word in words]
        if words[0] == "view":
            streams += pages(words[1:])
            continue
        if words[0] == "mcp":
            streams += tool_answers(words[1:])
            continue
        try:
            code = main(words)
        except SystemExit as end:
            code = int(end.code or 0)
        said = capfd.readouterr()
        assert code in (0, 1, 2), (words, said)
        assert "Traceback" not in said.err, words
        streams += said.out + said.err
    texts = {"streams": streams, **written(folder)}
    assert any("tracked" in name for name in texts)
    for key in (KEY, JUDGE_KEY):
        leaks = {name: parts_in(text, key) for name, text in texts.items() if parts_in(text, key)}
        assert not leaks
    # Both servers were asked with their key, and what they repeated was kept without it.
    assert f"Bearer {KEY}" in {one["Authorization"] for one in server.headers}
    assert {one["Authorization"] for one in judge.headers} == {f"Bearer {JUDGE_KEY}"}
    assert MASK in streams
    assert sum(MASK in text for text in texts.values()) > 5


def tool_answers(folders: list[str]) -> str:
    """What the tools of `snellen mcp` answer about every run."""
    served = ServedRuns(folders)
    names = list(served.runs())
    answers = [served.listing("", "", 0, 50), served.why(names[0], names[1], 2)]
    for name in names:
        answers += [served.status(name), served.report(name)]
        answers.append(served.samples(name, SampleFilter(), 0, 20, images=False).text)
    return "".join(answers)


def make_parser_commands() -> list[str]:
    """The names of all commands."""
    parser = build_parser()
    [commands] = [one.choices for one in parser._subparsers._group_actions]  # type: ignore[union-attr]
    return list(commands)  # type: ignore[arg-type]


def pages(words: list[str]) -> str:
    """What the viewer serves: its page, and the answers that the page asks for."""
    with viewed(*words, "--port", "0") as (_, address):
        texts = []
        opener = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
        for url in (address, urljoin(address, "/api/catalog")):
            try:
                with opener.open(url) as reply:
                    texts.append(reply.read().decode("utf-8", "replace"))
            except urllib.error.HTTPError as error:
                error.close()
                texts.append(json.dumps({"status": error.code}))
    return "".join(texts)
