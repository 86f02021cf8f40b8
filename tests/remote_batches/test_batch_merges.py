"""A batch that waits while its store is merged, or used by several commands, is asked for, and counted, once."""

from __future__ import annotations

import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from batch_runs import APIS, KEY, KEYS, Command, Ended, asked, model_at, questions
from batch_server import Api, BatchServer, Json

from snellen.cli import main
from snellen.core.run import RoleUsage
from snellen.store.runs import find_runs

COUNT = 9
HOLD = 10**6


class Folders:
    """A shard (`s`), and the folder that it is merged into (`w`)."""

    def __init__(self, server: BatchServer, folder: Path, api: Api = "openai") -> None:
        self.folder, self.model = folder, model_at(server, api)
        self.data = questions(folder, COUNT)
        self.shards, self.whole = folder / "out", folder / "new"

    def start(self, where: str, *more: str) -> Command:
        place = ("--shard", "1/1") if where == "s" else ("--out", str(self.whole))
        return Command(self.folder, self.model, self.data, *place, *more)

    def leave(self, server: BatchServer, step: str = "polled") -> None:
        """A shard that is killed while its batch waits."""
        seen, server.polls_needed = server.reached[step], HOLD
        shard = self.start("s")
        shard.wait_for(lambda: server.reached[step] > seen)
        shard.kill()
        server.polls_needed = 1

    def do(self, steps: str, *more: str) -> Ended | None:
        """Merge (`m`), or go on with the shard or the whole run."""
        ended = None
        for step in steps:
            if step == "m":
                self.merge()
            else:
                ended = self.start(step, *more).end()
                assert ended.status == 0, ended.errors
        return ended

    def merge(self) -> int:
        for file in self.shards.glob("*/*"):
            # Long ago: until then a run that was killed counts as going on.
            os.utime(file, (1e9, 1e9))
        return main(["merge", str(self.shards), "--out", str(self.whole)])

    def spent(self) -> tuple[int, int, int]:
        return numbers(self.whole)

    def left(self) -> list[str]:
        with sqlite3.connect(self.whole / "store.sqlite") as store:
            places = [place for (place,) in store.execute("SELECT place FROM batches")]
            assert store.execute("SELECT count(*) FROM batch_requests").fetchone()[0] or not places
        store.close()
        return places


def usage(out: Path, name: str = "") -> RoleUsage:
    (run,) = (run for run in find_runs(out) if name in run.path.name)
    return run.info.spent.get("model", RoleUsage())


def numbers(out: Path, name: str = "") -> tuple[int, int, int]:
    """Requests, replies and tokens of the prompts."""
    spent = usage(out, name)
    return spent.sent, spent.answered, spent.usage.prompt_tokens


@pytest.mark.parametrize("steps", ["mswm", "mwsm", "msmw", "mwmsm", "smwm"])
def test_a_batch_is_counted_once_in_whatever_order_folders_go_on(
    batches: BatchServer, tmp_path: Path, steps: str
) -> None:
    folders = Folders(batches, tmp_path)
    folders.leave(batches)
    folders.do(steps, "--budget", "1ktok")
    assert folders.spent() == (COUNT, COUNT, 12 * COUNT)
    assert set(batches.asked.values()) == {1}
    assert not folders.left()


def test_costs_of_a_batch_are_counted_once(batches: BatchServer, tmp_path: Path) -> None:
    folders = Folders(batches, tmp_path)
    folders.model = folders.model.replace("/tiny", "/gpt-4o-mini")
    folders.leave(batches)
    folders.do("mswm")
    cost = usage(folders.whole).cost
    assert cost
    assert cost == pytest.approx(usage(folders.shards / "shard-1-of-1").cost)


@pytest.mark.parametrize("api", APIS)
def test_a_batch_without_a_place_is_found_from_both_folders(batches: BatchServer, tmp_path: Path, api: Api) -> None:
    folders = Folders(batches, tmp_path, api)
    batches.faults["create hangs after"] = 1
    folders.leave(batches, "created")
    folders.do("mwsm")
    assert folders.spent() == (COUNT, COUNT, 12 * COUNT)
    assert set(batches.asked.values()) == {1}


def test_a_batch_that_is_created_after_the_merge_is_found(batches: BatchServer, tmp_path: Path) -> None:
    folders = Folders(batches, tmp_path)
    batches.faults["upload waits"], batches.polls_needed = 1, HOLD
    shard = folders.start("s")
    shard.wait_for(lambda: bool(batches.reached["uploaded"]))
    folders.merge()
    batches.faults["upload waits"] = 0
    batches.is_upload_held = False
    shard.wait_for(lambda: bool(batches.reached["polled"]))
    shard.kill()
    batches.polls_needed = 1
    folders.do("wsm")
    assert set(batches.asked.values()) == {1}
    assert folders.spent() == (COUNT, COUNT, 12 * COUNT)


def test_of_two_batches_with_a_request_the_later_one_counts(batches: BatchServer, tmp_path: Path) -> None:
    """Half of a batch expires after the merge; the shard asks that half again, and is merged while it waits."""
    folders = Folders(batches, tmp_path)
    folders.leave(batches)
    folders.merge()
    fates = batches.batches["batch_1"].fates
    fates |= dict.fromkeys(list(fates)[:4], "expired")
    looked = batches._look

    def hold_second(request: Any, path: str) -> tuple[int, Json]:
        batches.polls_needed = HOLD if path.endswith("/batch_2") else 1
        return looked(request, path)

    batches._look = hold_second  # type: ignore[method-assign]
    shard = folders.start("s")
    shard.wait_for(lambda: len(batches.batches) > 1 and bool(batches.batches["batch_2"].polls))
    shard.kill()
    batches._look = looked  # type: ignore[method-assign]
    batches.polls_needed = 1
    folders.merge()
    assert folders.left() == ["batch_2"]
    folders.do("wsm")
    assert sorted(batches.asked.values()) == [1] * 5 + [2] * 4
    assert folders.spent() == (COUNT + 4, COUNT, 12 * COUNT)


def test_the_command_of_a_merged_run_goes_on_with_it(batches: BatchServer, tmp_path: Path) -> None:
    folders = Folders(batches, tmp_path)
    folders.leave(batches)
    folders.merge()
    (run,) = find_runs(folders.whole)
    assert run.info.command.endswith(f"--no-html --out {folders.whole}")
    assert "--shard" not in run.info.command


def test_commands_over_one_store_count_their_own_batches(batches: BatchServer, tmp_path: Path) -> None:
    data, other = questions(tmp_path, COUNT), tmp_path / "other"
    other.mkdir()
    second_data = questions(other, 5).rename(other / "second.tsv")
    second_data.write_text(second_data.read_text().replace("What is ", "Tell: What is "))
    batches.polls_needed = HOLD
    first = Command(tmp_path, model_at(batches, "openai"), data)
    first.wait_for(lambda: bool(batches.reached["polled"]))
    first.process.send_signal(signal.SIGSTOP)
    batches.polls_needed = 1
    ended = asked(tmp_path, model_at(batches, "openai"), second_data)
    assert ended.status == 0, ended.errors
    first.process.send_signal(signal.SIGCONT)
    assert first.end().status == 0
    assert numbers(tmp_path / "out", "--second--") == (5, 5, 60)
    assert numbers(tmp_path / "out", "--questions--") == (COUNT, COUNT, 12 * COUNT)
    assert set(batches.asked.values()) == {1}


def test_of_two_commands_that_wait_for_a_batch_one_counts_it(batches: BatchServer, tmp_path: Path) -> None:
    data = questions(tmp_path, COUNT)
    batches.polls_needed = HOLD
    left = Command(tmp_path, model_at(batches, "openai"), data)
    left.wait_for(lambda: bool(batches.reached["polled"]))
    left.kill()
    polls, lists = batches.reached["polled"], batches.reached["listed"]
    part = Command(tmp_path, model_at(batches, "openai"), data, "--limit", "4")
    part.wait_for(lambda: batches.reached["polled"] > polls)
    whole = Command(tmp_path, model_at(batches, "openai"), data)
    whole.wait_for(lambda: batches.reached["listed"] >= lists + 2)
    polls = batches.reached["polled"]
    whole.wait_for(lambda: batches.reached["polled"] >= polls + 12)
    whole.process.send_signal(signal.SIGSTOP)
    batches.polls_needed = 1
    assert part.end().status == 0
    whole.process.send_signal(signal.SIGCONT)
    assert whole.end().status == 0
    spent = [run.info.spent.get("model", RoleUsage()) for run in find_runs(tmp_path / "out")]
    assert sum(one.answered for one in spent) == COUNT
    assert sum(one.usage.prompt_tokens for one in spent) == 12 * COUNT
    assert set(batches.asked.values()) == {1}


def test_ctrl_c_while_a_batch_is_created_says_so(batches: BatchServer, tmp_path: Path) -> None:
    batches.faults["create hangs after"] = 1
    command = Command(tmp_path, model_at(batches, "openai"), questions(tmp_path, COUNT))
    command.wait_for(lambda: bool(batches.reached["created"]))
    command.process.send_signal(signal.SIGINT)
    assert "9 requests wait at openai/tiny in 1 batch (one named snellen-" in command.end().errors


def test_a_batch_whose_requests_were_answered_elsewhere_does_not_wait(
    batches: BatchServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in KEYS:
        monkeypatch.setenv(name, KEY)
    folders = Folders(batches, tmp_path)
    folders.leave(batches)
    store = folders.shards / "shard-1-of-1" / "store.sqlite"
    batches.batches.clear()
    model = folders.model.removesuffix(",batch=yes")
    assert asked(tmp_path, model, folders.data, "--shard", "1/1").status == 0
    assert main(["doctor", str(store)]) == 0
    assert "waiting" not in capsys.readouterr().out
    assert main(["plan", "-m", model, "-b", str(folders.data), "--store", str(store), "--json"]) == 0
    assert "wait at the provider" not in capsys.readouterr().out
