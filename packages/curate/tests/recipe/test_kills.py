"""A recipe that is killed at every step ends with the bytes of one that never was."""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from http.server import ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from threading import Thread

import msgspec
import pytest

from snellen.data_sets.decisions import read_decisions

ROOT = Path(__file__).parents[4]
EXAMPLE = ROOT / "examples" / "making_a_benchmark"
STEPS = ("questions", "statistics", "duplicates", "filter", "review", "publish", "translate", "review-zh", "publish-zh")
COMMAND = [sys.executable, "-m", "snellen", "curate", "run", "recipe.toml"]


@pytest.fixture(scope="module")
def api() -> Iterator[int]:
    """The scripted API of the example, on a free port."""
    sys.path.insert(0, str(EXAMPLE))
    try:
        handler = import_module("scripted_api").Handler
    finally:
        sys.path.remove(str(EXAMPLE))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        yield server.server_address[1]
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def kitchen(api: int, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the pictures, the recipe for this port, and the key."""
    folder = tmp_path_factory.mktemp("kitchen")
    shutil.copytree(EXAMPLE, folder, dirs_exist_ok=True)
    subprocess.run([sys.executable, "draw_pictures.py"], cwd=folder, check=True)
    recipe = folder / "recipe.toml"
    recipe.write_text(recipe.read_text().replace(":8642/", f":{api}/"))
    key = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8gISIjJCUmJygpKissLS4vMDEyMzQ1Njc4OTo7PD0-Pw=="
    (folder / "tables.key").write_text(key)
    return folder


def start(folder: Path) -> subprocess.Popen[str]:
    # Its own session: the kill takes the processes with it that a step starts.
    return subprocess.Popen(
        COMMAND,
        cwd=folder,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
        start_new_session=True,
    )


def kill_in(folder: Path, step: str, delay: float) -> bool:
    """Start the recipe, and kill it so many seconds after this step began, if it is alive."""
    process = start(folder)
    assert process.stdout is not None
    number = STEPS.index(step) + 1
    for line in process.stdout:
        if line.startswith(f"[{number}/{len(STEPS)}] {step}:"):
            break
    time.sleep(delay)
    alive = process.poll() is None
    if alive:
        os.killpg(process.pid, signal.SIGKILL)
    process.stdout.close()
    process.wait()
    return alive


def finish(folder: Path) -> str:
    process = start(folder)
    out, _ = process.communicate()
    assert process.returncode == 0, out
    return out


def outcome(folder: Path) -> Mapping[str, bytes]:
    """The files that must not depend on how often the recipe was stopped."""
    made = folder / "tables-made"
    files = [*made.glob("*/items.jsonl")]
    for name in ("tables", "tables-zh"):
        files += [path for path in (folder / name).rglob("*") if path.is_file()]
        files.append(folder / f"{name}-private" / "answers.sealed")
    found = {str(path.relative_to(folder)): path.read_bytes() for path in files}
    # In any order, and without times: what is decided first depends on how fast models reply.
    for name in ("tables-private", "tables-zh-private"):
        decided = (msgspec.structs.replace(one, at="") for one in read_decisions(folder / name))
        lines = sorted(map(msgspec.json.encode, decided))
        found[f"{name}/decisions.jsonl"] = b"\n".join(lines)
    return found


@pytest.fixture(scope="module")
def undisturbed(kitchen: Path, tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, bytes]:
    folder = tmp_path_factory.mktemp("undisturbed")
    shutil.copytree(kitchen, folder, dirs_exist_ok=True)
    printed = finish(folder)
    assert "every step is complete; what they decided: tables-zh-private/decisions.jsonl" in printed
    assert re.search(r"spent so far: [\d,]+ requests, [\d,]+ tokens, 0\.\d+ USD", printed)
    return outcome(folder)


@pytest.mark.release
def test_after_three_kills_in_each_step_the_bytes_are_the_same(
    kitchen: Path, undisturbed: Mapping[str, bytes], tmp_path: Path
) -> None:
    shutil.copytree(kitchen, tmp_path, dirs_exist_ok=True)
    delays = random.Random(5)
    killed = 0
    for step in sorted(STEPS * 3, key=STEPS.index):
        killed += kill_in(tmp_path, step, delays.uniform(0.0, 0.5))
    assert killed >= 3
    finish(tmp_path)
    assert outcome(tmp_path) == undisturbed


def test_ctrl_c_prints_how_the_recipe_continues(kitchen: Path, tmp_path: Path) -> None:
    shutil.copytree(kitchen, tmp_path, dirs_exist_ok=True)
    process = start(tmp_path)
    assert process.stdout is not None
    for line in process.stdout:
        if line.startswith("[1/9] questions:"):
            break
    os.killpg(process.pid, signal.SIGINT)
    printed = process.stdout.read()
    process.stdout.close()
    assert process.wait() == 130, printed
    assert "the recipe goes on with: snellen curate run recipe.toml" in printed
    assert "Traceback" not in printed


def test_the_last_decisions_say_where_every_item_comes_from(undisturbed: Mapping[str, bytes]) -> None:
    decided = [json.loads(line) for line in undisturbed["tables-zh-private/decisions.jsonl"].splitlines()]
    history = {
        (one["step"], one["action"], one["rule"]): one
        for one in decided
        if one["item"] in ("table-04", "table-04/instance-attribute/1")
    }
    assert {
        ("questions", "keep", "written"),
        ("questions", "add", "written"),
        ("duplicates", "keep", "no duplicate"),
        ("filter", "flag", "vision-none"),
        ("review", "fix", "person"),
    } <= set(history)
    assert history["review", "fix", "person"]["by"] == "Ann"
    models = {each["model"] for one in history.values() for each in one.get("evidence", ())}
    assert {"eyes", "writer", "vision-1", "translator"} <= models
    dropped = {(one["item"], one["step"]) for one in decided if one["action"] == "drop"}
    assert ("table-06/instance-attribute/1", "review") in dropped
    assert ("table-24/text-recognition/1", "duplicates") in dropped


def test_no_public_file_has_a_held_out_answer(undisturbed: Mapping[str, bytes]) -> None:
    import io

    from pyarrow.parquet import read_table

    english = read_table(io.BytesIO(undisturbed["tables/data/test.parquet"])).to_pylist()
    chinese = read_table(io.BytesIO(undisturbed["tables-zh/data/test.parquet"])).to_pylist()
    open_chinese = read_table(io.BytesIO(undisturbed["tables-zh/data/dev.parquet"])).to_pylist()
    held = {row["index"] for row in english}
    assert {row["answer"] for row in english + chinese} == {None}
    assert not held & {row["index"] for row in open_chinese}
