"""A process that is killed at any step of a batch: nothing is lost, and nothing is asked twice."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path

import pytest
from batch_runs import APIS, KEY, KEYS, Command, Ended, asked, model_at, questions
from batch_server import Api, BatchServer

from snellen.cli import main

COUNT = 9
STEPS = {
    "upload hangs after": "upload hangs after",
    "create hangs before": "create hangs before",
    "create hangs after": "created",
    "polling": "polled",
    "results hang": "results hang",
}
"""By step: what has happened at the server when the process is killed."""


def is_complete(ended: Ended) -> bool:
    assert ended.status == 0, ended.errors
    assert ended.outcomes == dict.fromkeys(map(str, range(COUNT)), "answered")
    with sqlite3.connect(ended.folder / "out" / "store.sqlite") as store:
        assert store.execute("SELECT count(*) FROM batches").fetchone() == (0,)
        assert store.execute("SELECT count(*) FROM batch_requests").fetchone() == (0,)
    store.close()
    return True


@pytest.mark.parametrize("api", APIS)
@pytest.mark.parametrize("step", STEPS)
def test_a_kill_at_any_step_asks_nothing_twice(batches: BatchServer, tmp_path: Path, api: Api, step: str) -> None:
    if step == "upload hangs after" and api in ("anthropic", "google"):
        # Their small batches are created without an upload.
        step = "create hangs before"
    if step == "results hang" and api == "google":
        # The results of a small batch are in the answer to the poll.
        step = "polling"
    data = questions(tmp_path, COUNT)
    batches.faults[step] = 1
    if step == "polling":
        batches.polls_needed = 10_000
    first = Command(tmp_path, model_at(batches, api), data)
    first.wait_for(lambda: bool(batches.reached[STEPS[step]]))
    first.kill()
    batches.polls_needed = 1
    assert is_complete(asked(tmp_path, model_at(batches, api), data))
    assert set(batches.asked.values()) == {1}


@pytest.mark.parametrize("api", APIS)
def test_batches_of_others_are_not_taken_for_ours(batches: BatchServer, tmp_path: Path, api: Api) -> None:
    """A process dies before it created its batch, and somebody else creates one of the same size."""
    data = questions(tmp_path, COUNT)
    batches.faults["create hangs before"] = 1
    first = Command(tmp_path, model_at(batches, api), data)
    first.wait_for(lambda: bool(batches.reached["create hangs before"]))
    first.kill()
    other = tmp_path / "other"
    other.mkdir()
    foreign = questions(other, COUNT)
    foreign.write_text(foreign.read_text().replace("What is ", "Tell: What is "))
    assert is_complete(asked(other, model_at(batches, api), foreign))
    assert is_complete(asked(tmp_path, model_at(batches, api), data))
    assert set(batches.asked.values()) == {1}
    assert len(batches.asked) == 2 * COUNT


def test_ctrl_c_says_what_waits_and_the_same_command_takes_it(batches: BatchServer, tmp_path: Path) -> None:
    data = questions(tmp_path, COUNT)
    batches.polls_needed = 10_000
    first = Command(tmp_path, model_at(batches, "openai"), data)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    first.process.send_signal(signal.SIGINT)
    stopped = first.end()
    assert stopped.status == 130
    assert "9 requests wait at openai/tiny in 1 batch (batch_1)" in stopped.errors
    assert "Traceback" not in stopped.errors
    batches.polls_needed = 1
    ended = asked(tmp_path, model_at(batches, "openai"), data)
    assert is_complete(ended)
    assert set(batches.asked.values()) == {1}
    info = ended.run.info
    assert info.spent["model"].sent == COUNT
    assert info.spent["model"].answered == COUNT


def test_a_kill_while_results_are_stored_counts_what_they_cost(batches: BatchServer, tmp_path: Path) -> None:
    data = questions(tmp_path, COUNT)
    batches.faults["results hang"] = 1
    first = Command(tmp_path, model_at(batches, "openai"), data)
    first.wait_for(lambda: bool(batches.reached["results hang"]))
    first.kill()
    ended = asked(tmp_path, model_at(batches, "openai"), data)
    assert is_complete(ended)
    assert ended.run.info.spent["model"].answered == COUNT
    assert ended.run.info.spent["model"].usage.prompt_tokens == 12 * COUNT


def test_another_command_over_the_same_store_takes_the_batch(batches: BatchServer, tmp_path: Path) -> None:
    data = questions(tmp_path, COUNT)
    batches.polls_needed = 10_000
    first = Command(tmp_path, model_at(batches, "openai"), data)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    # A second process while the first waits: it waits for the same batch.
    second = Command(tmp_path, model_at(batches, "openai"), data, "--limit", "4")
    second.wait_for(lambda: batches.reached["listed"] >= 2 or batches.live >= 1)
    first.kill()
    batches.polls_needed = 1
    ended = second.end()
    assert ended.status == 0, ended.errors
    assert set(batches.asked.values()) == {1}
    # The replies that it did not need are stored too: nothing is asked again.
    ended = asked(tmp_path, model_at(batches, "openai"), data)
    assert ended.status == 0, ended.errors
    assert set(batches.asked.values()) == {1}


def test_fresh_asks_again_and_leaves_what_waits(batches: BatchServer, tmp_path: Path) -> None:
    data = questions(tmp_path, COUNT)
    batches.polls_needed = 10_000
    first = Command(tmp_path, model_at(batches, "openai"), data)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    first.kill()
    batches.polls_needed = 1
    fresh = asked(tmp_path, model_at(batches, "openai"), data, "--fresh", "again")
    assert fresh.status == 0, fresh.errors
    assert set(batches.asked.values()) == {2}
    # The first batch is that of the first command still.
    assert asked(tmp_path, model_at(batches, "openai"), data).status == 0
    assert set(batches.asked.values()) == {2}


@pytest.mark.parametrize("action", ["moved", "archived", "merged"])
def test_a_batch_goes_where_its_run_goes(batches: BatchServer, tmp_path: Path, action: str) -> None:
    data, out, new = questions(tmp_path, COUNT), tmp_path / "out", tmp_path / "new"
    batches.polls_needed = 10_000
    shards = ("--shard", "1/1") if action == "merged" else ()
    first = Command(tmp_path, model_at(batches, "openai"), data, *shards)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    first.kill()
    batches.polls_needed = 1
    for file in out.glob("*/*"):
        # Long ago: until then a run that was killed counts as going on.
        os.utime(file, (1e9, 1e9))
    if action == "moved":
        assert main(["runs", str(out), "--where", "run=*", "--out", str(new), "--delete", "yes"]) == 0
    elif action == "archived":
        archive = str(tmp_path / "runs.tar.gz")
        assert main(["runs", str(out), "--where", "run=*", "-o", archive]) == 0
        assert main(["runs", archive, "--where", "run=*", "--out", str(new)]) == 0
    else:
        assert main(["merge", str(out), "--out", str(new)]) == 1
    ended = asked(tmp_path, model_at(batches, "openai"), data, "--out", str(new))
    assert ended.status == 0, ended.errors
    assert set(batches.asked.values()) == {1}


def test_plan_and_doctor_say_what_waits(
    batches: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    data, out = questions(tmp_path, COUNT), tmp_path / "out"
    model, store = model_at(batches, "openai"), tmp_path / "out" / "store.sqlite"
    batches.polls_needed = 10_000
    first = Command(tmp_path, model, data)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    first.kill()
    assert main(["plan", "-m", model, "-b", str(data), "--out", str(out), "--json"]) == 0
    assert "9 requests in 1 batch wait at the provider and are paid for" in capsys.readouterr().out
    assert main(["doctor", str(store)]) == 0
    assert "9 requests in 1 batch at a provider, paid for" in capsys.readouterr().out
    with sqlite3.connect(store) as base:
        assert base.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] == 0
        (page,) = base.execute("SELECT rootpage FROM sqlite_master WHERE name = 'batch_requests'").fetchone()
        (size,) = base.execute("PRAGMA page_size").fetchone()
        base.execute("DELETE FROM askers")
    base.close()
    with store.open("r+b") as file:
        file.seek((page - 1) * size)
        file.write(b"\xff" * size)
    assert main(["doctor", str(store), "--repair"]) == 0
    assert "what was in them is asked, and paid for, again" in capsys.readouterr().out
