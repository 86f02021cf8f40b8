"""Stores that were damaged: what is noticed, and what is saved."""

from __future__ import annotations

import hashlib
import random
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from snellen.cli.main import main
from snellen.core.errors import StorageError, UsageError
from snellen.core.model import Identity
from snellen.core.output import Drawn, Generated
from snellen.store.in_flight import InFlightRequests
from snellen.store.pages import rows_on_pages
from snellen.store.repair import check, repair
from snellen.store.responses import MIGRATIONS, ResponseStore

MODEL = Identity("test", "model")
COUNT = 400
LONG = Generated("".join(map(chr, random.Random(5).choices(range(33, 3000), k=9000))))
PICTURE = b"\x89PNG not decoded here" * 50
NAME = hashlib.sha256(PICTURE).hexdigest()


def key(number: int) -> bytes:
    return hashlib.sha256(b"%d" % number).digest()


def reply(number: int) -> Generated:
    return Generated(f"The answer is {number}. " + "Because. " * (number % 90))


@pytest.fixture
def path(tmp_path: Path) -> Path:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as store:
        store.set_run_folder(tmp_path / "run")
        for number in range(COUNT):
            store.put(key(number), reply(number), store.model_key(MODEL))
        store.put(b"drawn".ljust(32), Drawn((NAME,), "", {NAME: PICTURE}), 1)
    return path


def change(path: Path, statement: str, *values: object) -> None:
    connection = sqlite3.connect(path)
    with connection:
        connection.execute(statement, values)
    connection.close()


@pytest.mark.attack("a letter changed inside a stored reply", "it is noticed and asked for again")
def test_a_changed_letter_is_noticed(path: Path) -> None:
    """The row can be read as well as before."""
    other = b'{"type":"generated","text":"The answer is 7. "}'
    change(path, "UPDATE responses SET output = ?, packed = 0 WHERE digest = ?", other, key(0))
    with ResponseStore(path) as store:
        assert store.get(key(0)) is None
        assert store.unreadable == {key(0)}
        store.put(key(0), reply(0), store.model_key(MODEL))
        assert store.get(key(0)) == reply(0)
        assert store.get(key(1)) == reply(1)


def test_a_changed_picture_is_noticed(path: Path) -> None:
    change(path, "UPDATE media SET data = ?", PICTURE[:-1] + b"x")
    with ResponseStore(path) as store:
        assert store.get(b"drawn".ljust(32)) is None
        assert check(path).damaged_media == 1
        store.put(b"drawn2".ljust(32), Drawn((NAME,), "", {NAME: PICTURE}), 1)
        assert store.medium(NAME) == PICTURE


def test_a_store_from_before_checksums_is_read_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "old.sqlite"
    old = sqlite3.connect(path)
    for step in MIGRATIONS[:2]:
        old.executescript(step)
    old.execute("PRAGMA user_version = 2")
    old.execute("INSERT INTO models VALUES (1, 'd', '{}')")
    row = (key(0), b'{"type":"generated","text":"kept"}')
    old.execute("INSERT INTO responses VALUES (?, 1, 0, ?)", row)
    old.commit()
    old.close()
    assert check(path)[:3] == (1, 1, 0)
    with ResponseStore(path) as store:
        assert store.get(key(0)) == Generated("kept")
        assert store.reply_origin(key(0)) == (None, None)
        store.put(key(1), reply(1), 1)
        at, run = store.reply_origin(key(1)) or (None, None)
        assert at is not None
        assert run is None
    assert check(path)[:3] == (2, 1, 0)


def test_when_and_for_which_run_a_reply_was_stored(path: Path) -> None:
    with ResponseStore(path) as store:
        stored = store.reply_origin(key(3))
        assert stored is not None
        assert stored.run == str(path.parent / "run")
        assert len(store.outputs_since(path.parent / "run", MODEL, 0.0)) == COUNT + 1
        assert store.outputs_since(path.parent / "run", MODEL, (stored.stored_at or 0) + 3600) == []
        assert store.outputs_since(path.parent / "other", MODEL, 0.0) == []


def test_a_sound_store_stays_as_it_is(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    content = path.read_bytes()
    assert main(["doctor", str(path), "--repair"]) == 0
    assert f"{COUNT + 1} sound replies" in capsys.readouterr().out
    assert path.read_bytes() == content
    assert [one.name for one in path.parent.iterdir()] == ["store.sqlite"]


@pytest.mark.attack(
    "pages of a store overwritten, or the file cut short",
    "the sound rows are saved into a new store, and the old one is kept",
)
@pytest.mark.parametrize("damage", ["pages", "cut", "bits"])
def test_intact_replies_are_recovered(path: Path, damage: str, capsys: pytest.CaptureFixture[str]) -> None:
    content = bytearray(path.read_bytes())
    pages = len(content) // 4096
    draw = random.Random(3)
    if damage == "pages":
        for page in draw.sample(range(pages // 2, pages), 3):
            content[4096 * page : 4096 * page + 300] = b"\xff" * 300
    elif damage == "cut":
        del content[4096 * (pages - 4) :]
    else:
        for _ in range(20):
            content[draw.randrange(4096 * (pages // 2), len(content))] ^= 1 << draw.randrange(8)
    path.write_bytes(content)
    assert main(["doctor", str(path)]) == 1
    said = capsys.readouterr().out
    assert "PROBLEM" in said
    assert "--repair" in said
    assert path.read_bytes() == bytes(content), "a check changes nothing"

    assert main(["doctor", str(path), "--repair"]) == 0
    said = capsys.readouterr().out
    (kept,) = path.parent.glob("store.sqlite.damaged-*")
    assert str(kept) in said
    assert kept.read_bytes() == bytes(content)
    assert check(path).is_sound
    with ResponseStore(path) as store:
        found = [store.get(key(number)) for number in range(COUNT)]
        assert store.has_replies_of(MODEL)
    wrong = [one for number, one in enumerate(found) if one not in (None, reply(number))]
    assert wrong == []
    assert COUNT // 2 < sum(one is not None for one in found) < COUNT


@pytest.mark.attack(
    "one page of a store overwritten: a leaf, one above leaves, or the root of all replies",
    "the rows that stood on that page are lost, all others are saved",
)
@pytest.mark.parametrize("lost", ["leaf", "above leaves", "root"])
def test_a_lost_page_takes_its_own_rows_alone(tmp_path: Path, lost: str) -> None:
    path, count = tmp_path / "store.sqlite", 3000
    with ResponseStore(path) as store:
        for number in range(count):
            store.put(key(number), reply(number), store.model_key(MODEL))
        # Longer than a page, so that it lies on a chain of pages.
        store.put(key(count), LONG, store.model_key(MODEL))
    content = bytearray(path.read_bytes())
    connection = sqlite3.connect(path)
    (root,) = connection.execute("SELECT rootpage FROM sqlite_master WHERE name = 'responses'")
    connection.close()
    kinds = content[0::4096]
    inner = [page for page, kind in enumerate(kinds) if kind == 2 and page != root[0] - 1]
    leaves = [page for page, kind in enumerate(kinds) if kind == 10]
    page = {"leaf": leaves[len(leaves) // 2], "above leaves": inner[0], "root": root[0] - 1}[lost]
    rows = int.from_bytes(content[4096 * page + 3 : 4096 * page + 5])
    assert 0 < rows < 100 < len(leaves)
    content[4096 * page : 4096 * (page + 1)] = random.Random(3).randbytes(4096)
    path.write_bytes(content)

    repaired = repair(path)
    assert repaired is not None
    assert repaired.before.replies == count + 1 - rows
    assert check(path) == repaired.before._replace(errors=())
    with ResponseStore(path) as store:
        found = [store.get(key(number)) for number in range(count)]
        assert sum(one is None for one in found) == rows - (store.get(key(count)) is None)
        assert store.get(key(count)) in (LONG, None)
        assert store.reply_origin(key(0)) is None or store.has_replies_of(MODEL)
    assert not [one for at, one in enumerate(found) if one not in (None, reply(at))]


def test_pages_of_garbage_raise_nothing_and_add_nothing(path: Path) -> None:
    content = path.read_bytes()
    draw = random.Random(7)
    whole = [row for row in rows_on_pages(path) if len(row) == 7]
    assert {row[0] for row in whole} >= set(map(key, range(COUNT)))
    for _ in range(40):
        bad = bytearray(content)
        for _ in range(300):
            # The first page has the schema, without which there is no table to ask about.
            bad[draw.randrange(4096, len(bad))] = draw.randrange(256)
        path.write_bytes(bad)
        assert 0 < check(path).replies < COUNT
    path.write_bytes(bytes(16) + draw.randbytes(5000))
    assert list(rows_on_pages(path)) == []
    path.write_bytes(b"")
    assert list(rows_on_pages(path)) == []


def test_file_that_is_not_a_store_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="there is no such file"):
        check(tmp_path / "nothing.sqlite")
    notes = tmp_path / "notes.txt"
    notes.write_text("eggs, milk, flour " * 300)
    for action in (check, repair):
        with pytest.raises(StorageError, match="nothing can be saved"):
            action(notes)
    assert notes.read_text().startswith("eggs")
    assert [one.name for one in tmp_path.iterdir()] == ["notes.txt"]


def test_a_store_in_use_is_not_repaired(path: Path) -> None:
    change(path, "UPDATE responses SET output = x'00' WHERE digest = ?", key(0))
    user = InFlightRequests(path)
    user.enter()
    with pytest.raises(UsageError, match="a run is using the store"):
        repair(path)
    user.leave()
    repaired = repair(path)
    assert repaired is not None
    assert (repaired.before.replies, repaired.before.damaged) == (COUNT, 1)


def test_repair_needs_a_store() -> None:
    done = subprocess.run([sys.executable, "-m", "snellen", "doctor", "--repair"], capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert "name it" in done.stderr
