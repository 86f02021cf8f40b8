"""Stores that shrink while they are used, and processes that are killed meanwhile."""

from __future__ import annotations

import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from snellen.cli.main import main
from snellen.core.errors import StorageError, UsageError
from snellen.core.model import Identity
from snellen.core.output import Generated
from snellen.store import checkpoints, responses
from snellen.store.compaction import compact
from snellen.store.in_flight import InFlightRequests
from snellen.store.merging import merge_stores
from snellen.store.repair import check
from snellen.store.responses import ASKED_FILE, BRIEF, MIGRATIONS, ResponseStore, StoreBusy, connect

MODEL = Identity("test", "model")
COUNT = 6_000
KILLED_COMPACTION = """
import itertools, os, signal, sys
from pathlib import Path
from snellen.store import compaction, responses

statements = itertools.count()

def kill(statement):
    if next(statements) == int(sys.argv[2]):
        os.kill(os.getpid(), signal.SIGKILL)

def connect(path):
    connection = responses.connect(path)
    connection.set_trace_callback(kill)
    return connection

compaction.connect = connect
compaction.compact(Path(sys.argv[1]))
"""


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


def reply(number: int) -> Generated:
    return Generated(f"The answer is {number}. " + "Because. " * (number % 40))


def rows(path: Path) -> list[tuple[object, ...]]:
    with closing(sqlite3.connect(path)) as base:
        return base.execute("SELECT * FROM responses ORDER BY digest").fetchall()


def fill(path: Path, count: int = COUNT, start: int = 0) -> Path:
    with ResponseStore(path) as store:
        number = store.model_key(MODEL)
        store._execute("BEGIN")
        for at in range(start, start + count):
            store.put(key(at), reply(at), number)
        store._execute("COMMIT")
    return path


def delete_some(path: Path, of: int = 3) -> None:
    """Two of three replies, at random places."""
    with closing(sqlite3.connect(path)) as base, base:
        keys = [(key(at),) for at in range(COUNT) if at % of]
        base.executemany("DELETE FROM responses WHERE digest = ?", keys)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return fill(tmp_path / "store.sqlite")


def test_a_store_shrinks_to_what_it_holds(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    full = path.stat().st_size
    delete_some(path)
    left = rows(path)
    assert main(["doctor", str(path), "--compact"]) == 0
    assert "compacted" in capsys.readouterr().out
    assert rows(path) == left
    assert check(path).is_sound
    assert path.stat().st_size < 0.4 * full


def test_replies_after_a_compaction_split_few_pages(path: Path) -> None:
    """On full pages, four of ten would need a page more, and change five."""
    with closing(sqlite3.connect(path)) as base:
        compact(path)
        (pages,) = base.execute("PRAGMA page_count").fetchone()
        fill(path, 100, COUNT)
        (more,) = base.execute("PRAGMA page_count").fetchone()
    assert len(rows(path)) == COUNT + 100
    assert more - pages <= 8


def test_a_store_of_an_older_version_is_rewritten_once(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    with closing(sqlite3.connect(path)) as base:
        for step in MIGRATIONS[:2]:
            base.executescript(step)
        base.execute("PRAGMA user_version = 2")
    fill(path)
    delete_some(path)
    left = rows(path)
    user = InFlightRequests(path)
    user.enter()
    with pytest.raises(UsageError, match="an older version made"):
        compact(path)
    user.leave()
    done = compact(path)
    assert done.after < done.before / 2
    assert rows(path) == left
    with closing(sqlite3.connect(path)) as base:
        assert base.execute("PRAGMA auto_vacuum").fetchone() == (2,)
    fill(path, 500, COUNT)
    user = InFlightRequests(path)
    user.enter()
    compact(path)
    user.leave()
    assert len(rows(path)) == len(left) + 500


def test_a_run_goes_on_while_the_store_is_compacted(path: Path) -> None:
    delete_some(path)
    user = InFlightRequests(path)
    user.enter()
    compacting = threading.Thread(target=compact, args=[path])
    stored = 0
    with ResponseStore(path) as store:
        number = store.model_key(MODEL)
        compacting.start()
        while compacting.is_alive():
            try:
                store.put(key(COUNT + stored), reply(stored), number, wait=BRIEF)
            except StoreBusy:
                time.sleep(0.01)
            else:
                stored += 1
        compacting.join()
        assert stored > 20
        assert all(store.get(key(COUNT + at)) == reply(at) for at in range(stored))
    user.leave()
    assert len(rows(path)) == COUNT // 3 + stored


@pytest.mark.attack("a compaction is killed at any time", "no reply is lost, and the next one goes on")
def test_a_killed_compaction_loses_nothing(path: Path) -> None:
    delete_some(path)
    left = rows(path)
    draw = random.Random(5)
    for _ in range(6):
        # Within the statements that write 2,000 replies anew.
        statement = draw.randrange(2_000)
        process = subprocess.run([sys.executable, "-c", KILLED_COMPACTION, path, str(statement)])
        assert process.returncode == -signal.SIGKILL
        assert rows(path) == left
    compact(path)
    assert rows(path) == left
    assert check(path).is_sound


@pytest.mark.parametrize("is_behind", [True, False])
def test_a_reader_of_the_store_does_not_hold_its_writers(
    path: Path, monkeypatch: pytest.MonkeyPatch, is_behind: bool
) -> None:
    """A log that is read cannot be started anew; waiting for that would hold all who write."""
    monkeypatch.setattr(checkpoints, "_RESTART_PAGES", 10)
    with closing(connect(path)) as compacting, closing(sqlite3.connect(path)) as reader:
        parts: list[Callable[[], object]] = [
            lambda: fill(path, 500, COUNT),
            lambda: reader.execute("BEGIN").execute("SELECT count(*) FROM responses").fetchone(),
        ]
        for part in reversed(parts) if is_behind else parts:
            part()
        started = time.monotonic()
        checkpoints.checkpoint(compacting)
        assert time.monotonic() - started < 5
        assert compacting.execute("PRAGMA busy_timeout").fetchone() == (round(1000 * responses.WAIT),)
        reader.rollback()


def test_the_log_is_copied_back_beside_the_writer(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as store:
        number = store.model_key(MODEL)
        for at in range(2 * responses._CHECKPOINT_COMMITS):
            store.put(key(at), reply(at), number)
        assert store._checkpointer is not None
        end = time.monotonic() + 20
        # With the writer alone the file stays empty until the log has 40,000 pages.
        while path.stat().st_size < 100_000 and time.monotonic() < end:
            time.sleep(0.01)
        assert path.stat().st_size > 100_000
    assert len(rows(path)) == 2 * responses._CHECKPOINT_COMMITS


@pytest.mark.parametrize("listed", [True, False])
def test_what_a_killed_run_asked_is_found(tmp_path: Path, listed: bool) -> None:
    """With its list by look-ups; without one, as older versions left it, by reading the store."""
    path, folder = fill(tmp_path / "store.sqlite", 50), tmp_path / "run"
    folder.mkdir()
    with ResponseStore(path) as store:
        number, other = store.model_key(MODEL), store.model_key(Identity("test", "other"))
        store.set_run_folder(folder, with_list=True)
        for at in range(100, 110):
            store.put(key(at), reply(at), number)
        store.put(key(7), reply(7), number)  # another run had it
        store.put(key(110), reply(110), other)
    assert (folder / ASKED_FILE).stat().st_size == 12 * 32
    if listed:
        with (folder / ASKED_FILE).open("ab") as file:
            file.write(key(111)[:9])  # torn by the kill
    else:
        (folder / ASKED_FILE).unlink()
    with ResponseStore(path) as store:
        found = store.outputs_since(folder, MODEL, 0.0)
        assert sorted(map(str, found)) == sorted(str(reply(at)) for at in range(100, 110))
        assert store.outputs_since(folder, MODEL, time.time() + 60) == []


def test_the_list_of_a_run_goes_on_over_its_starts(tmp_path: Path) -> None:
    """What it lists is held against all that the run has recorded, so no start may begin it anew."""
    folder = tmp_path / "run"
    folder.mkdir()
    for start in range(3):
        with ResponseStore(tmp_path / "store.sqlite") as store:
            store.set_run_folder(folder, with_list=True)
            store.put(key(start), reply(start), store.model_key(MODEL))
        with (folder / ASKED_FILE).open("ab") as file:
            file.write(key(9)[:9])  # cut by a full disk
    with ResponseStore(tmp_path / "store.sqlite") as store:
        found = store.outputs_since(folder, MODEL, 0.0)
        assert sorted(map(str, found)) == sorted(str(reply(at)) for at in range(3))


def test_a_digest_cut_by_a_full_disk_ends_the_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The system writes a part, and reports an error with the next write only."""
    write = os.write
    with ResponseStore(tmp_path / "store.sqlite") as store:
        number = store.model_key(MODEL)
        store.set_run_folder(tmp_path, with_list=True)
        monkeypatch.setattr(os, "write", lambda file, data: write(file, data[:9]))
        with pytest.raises(StorageError, match=r"asked\.bin of the run: No space left"):
            store.put(key(1), reply(1), number)


@pytest.mark.parametrize("name", ["file:runs", "a?mode=ro", "b%20c", "d#e"])
def test_a_store_may_be_in_a_folder_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    path = fill(Path(name) / "store.sqlite", 20)
    assert merge_stores([path], Path(name) / "other.sqlite") == 20
    assert [file.name for file in (tmp_path / name).glob("*.sqlite")].count("store.sqlite") == 1


def test_a_few_replies_of_a_model_are_found_without_reading_all(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "_LOOKED_AT", 1_000)
    statements: list[str] = []
    with ResponseStore(path) as store:
        store.model_key(Identity("test", "new"))
        store._connection.set_trace_callback(statements.append)
        assert store.has_replies_of(MODEL)
        assert not store.has_replies_of(Identity("test", "new"))
        assert not store.has_replies_of(Identity("test", "unknown"))
        assert len(store.sample_outputs(MODEL, 30)) == 30
    assert statements
    assert all("LIMIT" in one or "FROM models" in one for one in statements)


def test_a_merge_that_was_killed_copies_the_rest(path: Path, tmp_path: Path) -> None:
    source = fill(tmp_path / "shard.sqlite", 3_000, COUNT - 500)
    code = "import sys; from pathlib import Path; from snellen.store.merging import merge_stores as m; "
    code += "print('begun', flush=True); m([Path(sys.argv[1])], Path(sys.argv[2]))"
    process = subprocess.Popen([sys.executable, "-c", code, str(source), str(path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    time.sleep(0.02)
    process.kill()
    process.wait()
    process.stdout.close()
    before = len(rows(path))
    assert merge_stores([source], path) == COUNT + 2_500 - before
    assert [row[0] for row in rows(path)] == sorted(key(at) for at in range(COUNT + 2_500))


def test_a_run_goes_on_while_stores_are_merged(path: Path, tmp_path: Path) -> None:
    source = fill(tmp_path / "shard.sqlite", 20_000, COUNT)
    first, stored, found = COUNT + 20_000, 0, 0
    merging = threading.Thread(target=merge_stores, args=[[source], path])
    with ResponseStore(path) as store:
        number = store.model_key(MODEL)
        merging.start()
        while merging.is_alive():
            try:
                store.put(key(first + stored), reply(stored), number, wait=BRIEF)
            except StoreBusy:
                time.sleep(0.01)
            else:
                stored += 1
            found += store.get(key(stored % COUNT)) is not None
        merging.join()
        assert stored > 20
        assert found > 20
    assert [row[0] for row in rows(path)] == sorted(key(at) for at in range(first + stored))


def test_a_folder_stands_for_the_store_in_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "results").mkdir()
    assert main(["doctor", str(tmp_path / "results")]) == 2
    assert "is a folder without a store.sqlite; name a store" in capsys.readouterr().err
    connect(tmp_path / "results" / "store.sqlite").close()
    assert main(["doctor", str(tmp_path / "results")]) == 0
    assert "0 sound replies" in capsys.readouterr().out
