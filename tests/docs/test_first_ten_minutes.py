"""A user's first ten minutes with an API, typed again against the bundled model."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from bundled_server import Answers
from standin_server import StandIn, running

from snellen.cli import main
from snellen.models.naming.registry import open_model
from snellen.store.runs import open_run

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "getting-started.md"
SECTION = "## With an API\n"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = ":8000/"
FREE = 2
"""Exit code of a mistake that is found before anything is asked."""


class Step(NamedTuple):
    command: str
    shown: list[str]


class Ended(NamedTuple):
    code: int
    printed: list[str]
    asked: int


def steps() -> Iterator[Step]:
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8").partition(SECTION)[2]):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *shown = part.strip().splitlines()
            yield Step(command, [plain(line) for line in shown if line not in ("", "...")])


def plain(line: str) -> str:
    """A line without what depends on how wide the address is printed, or, where a run was
    stopped, on which replies came first."""
    line = re.sub(r"[\s─]+", " ", line).strip()
    return re.sub(r"\d+", "#", line) if line.startswith("!") else line


def typed(command: str, server: StandIn) -> Ended:
    own = server.url.removeprefix("http://127.0.0.1").removesuffix("v1")
    before, out, err = len(server.asked), io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = main(shlex.split(command.replace(PORT, own))[1:])
    said = (out.getvalue() + err.getvalue()).replace(own, PORT)
    return Ended(code, [plain(line) for line in said.splitlines()], len(server.asked) - before)


@pytest.fixture
def local(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[StandIn]:
    """A server with the bundled model and a key, and a folder to type in."""
    shutil.copytree(ROOT / "examples", tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.delenv("TEAM_KEY", raising=False)
    with running() as server:
        server.key = "local-key"
        server.handler = Answers(open_model("snellen/tiny:device=cpu,batch_size=1"))  # type: ignore[arg-type]
        yield server


def test_page_matches_what_commands_print(local: StandIn, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = {}
    for step in steps():
        if step.command.startswith("export "):
            monkeypatch.setenv(*step.command.removeprefix("export ").split("="))
            continue
        ended = typed(step.command, local)
        for line in step.shown:
            assert line in ended.printed, f"{step.command} prints no {line!r}: {ended.printed}"
        mistake = any(line.startswith("snellen:") for line in step.shown)
        assert (ended.code == FREE) is mistake, step.command
        assert not mistake or ended.asked <= 1
        asked[step.command] = ended.asked
    *_, plan, first, stopped, rest = asked.values()
    assert (plan, first) == (0, 51)
    assert 0 < stopped < 50
    assert stopped + rest == 50


def test_the_server_of_the_page_starts_as_the_page_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TEAM_KEY", "local-key")
    port = free_port()
    command = [sys.executable, str(ROOT / "examples" / "local_api.py"), "--port", str(port)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT) as server:
        try:
            assert b"Running on" in wait_for_line(server)
            name = f"http://127.0.0.1:{port}/v1#tiny"
            wrong = ["run", "-m", name, "-b", "eyechart", "--limit", "4", "-q"]
            assert main(wrong) == FREE
            right = ["run", "-m", f"{name}:key_env=TEAM_KEY", *wrong[3:]]
            assert main(right) == 0
        finally:
            server.terminate()
    local = main(["run", "-m", "snellen/tiny", *wrong[3:]])
    assert local == 0
    assert replies(tmp_path, "tiny") == replies(tmp_path, "snellen_tiny")


def wait_for_line(process: subprocess.Popen[bytes]) -> bytes:
    assert process.stdout is not None
    return process.stdout.readline()


def free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        return int(taken.getsockname()[1])


def replies(folder: Path, model: str) -> dict[str, str]:
    """Replies of the run of a model, by the id of their sample."""
    [run] = [path for path in (folder / "snellen-results").iterdir() if path.name.startswith(model)]
    records = open_run(run).records()
    return {record.id: record.passes[0].output.text for record in records}  # type: ignore[union-attr]
