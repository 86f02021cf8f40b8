"""The guide from pictures to a published benchmark, typed again, and its table of how good the
checks are, measured again."""

from __future__ import annotations

import contextlib
import io
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Collection, Iterator
from http.server import ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread
from typing import NamedTuple

import planted
import pytest

from snellen.cli import main
from snellen.data_sets.decisions import read_decisions
from snellen_curate.publish.options import PublishOptions
from snellen_curate.publish.publish import publish

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "making-a-benchmark.md"
EXAMPLE = ROOT / "examples" / "making_a_benchmark"
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PORT = ":8642/"


class Step(NamedTuple):
    command: str
    output: list[str]


def steps() -> Iterator[Step]:
    for block in BLOCK.findall(PAGE.read_text(encoding="utf-8")):
        for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
            command, *output = part.strip().splitlines()
            yield Step(command, [plain(line) for line in output if line])


def plain(line: str) -> str:
    """A line without white space, which depends on the width of the terminal."""
    return re.sub(r"\s+", " ", line).strip()


class Example(NamedTuple):
    folder: Path
    port: str
    """Where its API answers, as in `:8642/`."""


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Example]:
    """A copy of the example, whose API answers on a free port."""
    shutil.copytree(EXAMPLE, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "140")
    monkeypatch.syspath_prepend(str(EXAMPLE))
    handler = import_module("scripted_api").Handler
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        recipe = tmp_path / "recipe.toml"
        port = f":{server.server_address[1]}/"
        recipe.write_text(recipe.read_text().replace(PORT, port))
        yield Example(tmp_path, port)
        server.shutdown()
        thread.join()


def run(command: str, port: str) -> str:
    words = shlex.split(command.replace(PORT, port).replace("snellen/tiny", "random"))
    if words[0] == "python":
        done = subprocess.run([sys.executable, *words[1:]], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        return done.stdout
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        code = main(words[1:])
    assert code in (0, 1), f"{command}: {code}\n{out.getvalue()}"
    return out.getvalue().replace(port, PORT)


def test_guide_matches_what_commands_print(example: Example) -> None:
    done = 0
    for step in steps():
        printed = [plain(line) for line in run(step.command, example.port).splitlines()]
        for line in step.output:
            assert line in printed, f"{step.command} prints no {line!r}: {printed}"
        done += 1
    assert done == 14
    # The recipe makes what the commands made one by one.
    made = example.folder / "tables-made"
    for name, own in (("questions", "questions"), ("filter", "filtered"), ("review", "reviewed")):
        items = (made / name / "items.jsonl").read_bytes()
        assert items == (example.folder / own / "items.jsonl").read_bytes()


def flagged(folder: Path, *rules: str) -> set[str]:
    """Items that were flagged or dropped, by these rules if any are named."""
    return {
        decision.item
        for decision in read_decisions(folder)
        if decision.action in ("flag", "drop") and (not rules or decision.rule in rules)
    }


def row(found: Collection[str], bad: Collection[str]) -> str:
    """The end of a line of the guide's table."""
    right = len(set(found) & set(bad))
    shares = (right / len(found), right / len(bad))
    return f"{right} of {len(bad)} | " + " | ".join(f"{share:.0%}" for share in shares)


def test_the_checks_are_as_good_as_the_guide_says(tmp_path: Path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    data = planted.build(tmp_path / "planted")
    asked = [word for model in data.models(planted.TEXT_ONLY_MODELS) for word in ("--text-only", model)]
    asked += [word for model in data.models(planted.VISION_MODELS) for word in ("-m", model)]
    commands = [
        ["filter", str(data.data), "--out", "filtered", "-q", *asked],
        ["duplicates", str(data.data), "--out", "distinct", "-q"],
        ["translate", str(data.data), "--language", "zh", "--check", str(data.translated), "--out", "checked"],
    ]
    with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
        for command in commands:
            # 1: something was found, or a reply is missing.
            assert main(["curate", *command]) in (0, 1)
        publish(data.data, tmp_path / "public", PublishOptions())
    filtered, distinct = tmp_path / "filtered", tmp_path / "distinct"
    duplicates = data.ids_of("exact_duplicate", "near_duplicate_picture", "near_duplicate_question")
    unreadable = data.ids_of("broken_picture", "lost_picture")
    measured = {
        "`filter`: `text-majority`": row(flagged(filtered, "text-majority"), data.ids_of("answerable_from_text")),
        "`filter`: `vision-none`": row(flagged(filtered, "vision-none"), data.ids_of("wrong_key") | unreadable),
        "`filter`: `no picture`": row(flagged(filtered, "no picture"), data.ids_of("no_picture")),
        "`duplicates`": row(flagged(distinct, "duplicate"), duplicates),
        "`duplicates`: `broken picture`": row(flagged(distinct, "broken picture"), unreadable),
        "`publish`: `no_licence`": row(
            flagged(tmp_path / "public-private", "no_licence"), data.ids_of("missing_licence")
        ),
        "`translate --check`": row(flagged(tmp_path / "checked"), data.slips),
    }
    table = [plain(line.replace(" %", "%")) for line in PAGE.read_text().splitlines()]
    for check, numbers in measured.items():
        [line] = [line for line in table if line.startswith(f"| {check} |")]
        assert line.endswith(f"| {numbers} |"), f"{line} {numbers}"
