"""Disks that are full, folders without rights, stores that are damaged: one sentence, and
nothing that was answered is lost."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from drill import AS_A_USER, Drill, files_of_at_most

SAMPLES = 600


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Callable[[str], Path]]:
    """A file system of its own; called again with another size, it grows."""
    disk = tmp_path / "disk"
    disk.mkdir()

    def sized(size: str) -> Path:
        again = "remount," if disk.is_mount() else ""
        mount = ["mount", "-t", "tmpfs", "-o", f"{again}size={size}", "tmpfs", str(disk)]
        done = subprocess.run(mount, capture_output=True, text=True)
        if done.returncode:
            pytest.skip(f"a disk cannot be mounted here: {done.stderr.strip()}")
        return disk

    yield sized
    if disk.is_mount():
        subprocess.run(["umount", str(disk)], check=True)


@pytest.fixture
def as_a_user() -> tuple[str, ...]:
    """What to put before a command so that files without rights are closed to it."""
    return AS_A_USER if os.geteuid() == 0 else ()


def all_answered_once(drill: Drill, out: Path) -> None:
    assert sorted(int(record.id) for record in drill.records(out)) == list(range(SAMPLES))
    # One answer found no room, and the model was at work on the next.
    assert len(drill.sent()) <= SAMPLES + 2


@pytest.mark.parametrize("size", ["160k", "1m"])
@pytest.mark.attack("a disk that fills up", "one sentence, nothing computed is lost")
def test_a_disk_that_fills_up(tmp_path: Path, small_disk: Callable[[str], Path], size: str) -> None:
    drill = Drill(tmp_path, SAMPLES)
    out = small_disk(size) / "out"
    said = drill.run("right", out=out).sentence()
    assert "full" in said or "No space left" in said
    assert "the same command continues from there" in said
    kept = len(drill.records(out))
    assert 0 < kept < SAMPLES
    small_disk("20m")
    assert drill.run("right", out=out).code == 0
    all_answered_once(drill, out)


def test_files_that_may_not_grow(tmp_path: Path) -> None:
    """What a quota does: it stops a file in the middle of a line."""
    drill = Drill(tmp_path, SAMPLES)
    ended = drill.run("right", limit=files_of_at_most(100_000))
    assert "the same command continues from there" in ended.sentence()
    assert drill.run("right").code == 0
    all_answered_once(drill, Path("out"))


def test_a_disk_that_is_full_from_the_start(drill: Drill, small_disk: Callable[[str], Path]) -> None:
    disk = small_disk("40k")
    assert "disk is full" in drill.run("right", out=disk / "out").sentence()
    assert not drill.sent()


@pytest.mark.attack(
    "a run is started again while the disk of its store is still full", "one sentence, and nothing is asked"
)
def test_a_disk_that_is_still_full(tmp_path: Path, small_disk: Callable[[str], Path]) -> None:
    """The run folder lies elsewhere, where there is room."""
    drill = Drill(tmp_path, SAMPLES)
    store = small_disk("1m") / "store.sqlite"
    assert "the same command continues" in drill.run("right", "--store", str(store)).sentence()
    sent, kept = len(drill.sent()), len(drill.records())
    for _ in range(2):
        said = drill.run("right", "--store", str(store)).sentence()
        assert f"no room for replies in the response store {store}" in said
    assert (len(drill.sent()), len(drill.records())) == (sent, kept)
    assert sorted(one.name for one in store.parent.glob("*.room")) == []
    small_disk("20m")
    assert drill.run("right", "--store", str(store)).code == 0
    all_answered_once(drill, drill.home / "out")


@pytest.mark.attack("a folder without the right to write", "one sentence, exit code 2")
def test_a_folder_that_cannot_be_written(drill: Drill, as_a_user: tuple[str, ...]) -> None:
    closed = drill.home / "closed"
    closed.mkdir(mode=0o555)
    said = drill.run("right", out=closed, before=as_a_user).sentence()
    assert str(closed) in said
    assert "fix the folder's rights" in said
    store = str(closed / "store.sqlite")
    said = drill.run("right", "--store", store, before=as_a_user).said
    assert "choose another place with --out or --store" in said
    assert not drill.sent()


def test_a_run_that_cannot_be_written_any_more(drill: Drill, as_a_user: tuple[str, ...]) -> None:
    assert drill.run("right", "--limit", "10").code == 0
    folder = drill.only_run().path
    for file in folder.iterdir():
        file.chmod(0o444)
    folder.chmod(0o555)
    said = drill.run("right", "--limit", "10", before=as_a_user).sentence()
    assert f"{folder.relative_to(drill.home)}: Permission denied" in said
    assert len(drill.records()) == 10


def test_a_folder_that_cannot_be_read(drill: Drill, as_a_user: tuple[str, ...]) -> None:
    closed = drill.home / "closed"
    closed.mkdir(mode=0o000)
    for benchmark in (str(closed), str(closed / "questions.tsv")):
        said = drill.run("right", benchmark=benchmark, before=as_a_user).sentence()
        assert "cannot be read: Permission denied" in said
    report = subprocess.run(
        [*as_a_user, *drill.words("right")[:3], "report", str(closed)], capture_output=True, text=True
    )
    assert (report.returncode, report.stderr.count("\n")) == (2, 1), report.stderr
    assert f"cannot read {closed}: Permission denied" in report.stderr


def cut(content: bytes) -> bytes:
    return content[: len(content) // 2]


def cut_in_the_first_page(content: bytes) -> bytes:
    return content[:100]


def overwritten(content: bytes) -> bytes:
    """Every page after the tables' descriptions begins with rubbish."""
    pages = [content[start : start + 4096] for start in range(0, len(content), 4096)]
    return b"".join(pages[:3] + [b"\xff" * 200 + page[200:] for page in pages[3:]])


@pytest.mark.parametrize(
    "damage",
    [
        cut,
        pytest.param(cut_in_the_first_page, marks=pytest.mark.release),
        pytest.param(overwritten, marks=pytest.mark.release),
    ],
)
@pytest.mark.attack("a store with flipped bits, cut or emptied", "a sentence, or asked again; no wrong number")
def test_a_damaged_store(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    """The user is told, and need not pay again for what a run folder holds."""
    drill = Drill(tmp_path, 200)
    store = drill.home / "out" / "store.sqlite"
    assert drill.run("right").code == 0
    content = store.read_bytes()
    store.write_bytes(damage(content))
    assert store.read_bytes() != content
    samples = drill.only_run().path / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-10])
    said = drill.run("right").sentence()
    assert "out/store.sqlite is damaged" in said
    assert "move it away" in said
    store.rename(store.with_suffix(".old"))
    assert drill.run("right").code == 0
    assert len(drill.records()) == 200
    assert len(drill.sent()) == 201


@pytest.mark.attack("damaged rows in the store", "they alone are asked again")
def test_garbled_replies_are_asked_for_again(tmp_path: Path) -> None:
    """Those that are needed; the store keeps the rest."""
    drill = Drill(tmp_path, 200)
    store = drill.home / "out" / "store.sqlite"
    assert drill.run("right").code == 0
    whole, garbled = b'"type":"generated"', b'"type":"gen\x00\x00\x00\x00ed"'
    store.write_bytes(store.read_bytes().replace(whole, garbled))
    samples = drill.only_run().path / "samples.jsonl"
    samples.write_bytes(samples.read_bytes()[:-10])
    again = drill.run("right")
    assert (again.code, len(drill.records()), len(drill.sent())) == (0, 200, 201)
    assert "1 stored reply could not be read" in again.out


def test_an_empty_store_is_a_new_one(drill: Drill) -> None:
    store = drill.home / "out" / "store.sqlite"
    assert drill.run("right").code == 0
    store.write_bytes(b"")
    assert drill.run("right").code == 0
    assert len(drill.sent()) == drill.samples


def test_a_store_that_is_something_else(drill: Drill) -> None:
    (drill.home / "notes.txt").write_text("eggs, milk, flour " * 300)
    said = drill.run("right", "--store", "notes.txt").sentence()
    assert "file is not a database" in said
    assert (drill.home / "notes.txt").read_text().startswith("eggs")


def test_a_store_on_another_path_serves_any_out_folder(drill: Drill) -> None:
    store = str(drill.home / "elsewhere" / "answers.sqlite")
    assert drill.run("right", "--store", store, out="one").code == 0
    assert drill.run("right", "--store", store, out="two").code == 0
    assert len(drill.sent()) == drill.samples
    assert drill.only_run("two").info.counts.reused == drill.samples
    assert not (drill.home / "two" / "store.sqlite").exists()
