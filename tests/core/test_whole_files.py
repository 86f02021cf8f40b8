"""Files that are whole or not there."""

from __future__ import annotations

import os
import threading
from pathlib import Path

import pytest

from snellen.core.atomic_write import atomic_file, save
from snellen.core.errors import StorageError


@pytest.mark.parametrize("synced", [False, True])
def test_a_file_appears_when_it_is_whole(tmp_path: Path, synced: bool) -> None:
    target = tmp_path / "file.tsv"
    with atomic_file(target, sync=synced) as part:
        part.write_text("half")
        assert not target.exists()
        assert part.parent == tmp_path
    assert target.read_text() == "half"
    assert list(tmp_path.iterdir()) == [target]


def test_interrupted_writing_keeps_the_old_file(tmp_path: Path) -> None:
    target = tmp_path / "file.tsv"
    target.write_text("old")

    def broken_off() -> None:
        with atomic_file(target) as part:
            part.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        broken_off()
    assert target.read_text() == "old"
    assert list(tmp_path.iterdir()) == [target]


def test_remains_of_a_killed_process_are_ignored(tmp_path: Path) -> None:
    target = tmp_path / "file.tsv"
    with atomic_file(target) as part:
        left = part
        part.touch()
    left.write_text("of another time")
    with atomic_file(target) as part, part.open("a") as file:
        file.write("new")
    assert target.read_text() == "new"


def test_threads_do_not_write_into_each_others_part(tmp_path: Path) -> None:
    target, both = tmp_path / "file", threading.Barrier(2, timeout=10)

    def write(word: str) -> None:
        with atomic_file(target) as part:
            part.write_text(word)
            both.wait()
            assert part.read_text() == word
            both.wait()

    threads = [threading.Thread(target=write, args=(word,)) for word in ("one", "two")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert target.read_text() in ("one", "two")
    assert list(tmp_path.iterdir()) == [target]


def test_a_link_stays_a_link(tmp_path: Path) -> None:
    there = tmp_path / "elsewhere"
    there.mkdir()
    link = tmp_path / "latest.md"
    link.symlink_to(there / "report.md")
    for text in ("one", "two"):
        save(link, text)
        assert link.is_symlink()
        assert (there / "report.md").read_text() == text


def test_a_pipe_is_written_straight(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reading = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        save(pipe, "text")
        assert os.read(reading, 100) == b"text"
    finally:
        os.close(reading)
    assert pipe.is_fifo()


def test_text_is_utf8_and_bytes_are_bytes(tmp_path: Path) -> None:
    save(tmp_path / "text", "é\r\n")
    save(tmp_path / "bytes", b"\xff\x00")
    assert (tmp_path / "text").read_bytes() == b"\xc3\xa9\r\n"
    assert (tmp_path / "bytes").read_bytes() == b"\xff\x00"


def test_unwritable_path_gives_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match=r"cannot write .*nowhere/file: No such file"):
        save(tmp_path / "nowhere" / "file", "text")
    with pytest.raises(StorageError, match=f"cannot write {tmp_path}: Is a directory"):
        save(tmp_path, "text")
