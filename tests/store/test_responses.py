from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from snellen.core.errors import StorageError
from snellen.core.model import Identity
from snellen.core.output import CandidateScore, Failure, Generated, Ranked, Usage
from snellen.store.responses import ResponseStore

MODEL = Identity("test", "model", {"revision": "1"})
OUTPUTS = [
    Generated("B"),
    Generated("", stop_reason="length"),
    Generated("x" * 5000, reasoning="because", usage=Usage(12, 3), seconds=0.5),
    Ranked((CandidateScore(-1.5, 2), CandidateScore(-0.25, 1))),
]


@pytest.mark.parametrize("output", OUTPUTS)
def test_stored_output_is_read_again(tmp_path: Path, output) -> None:
    digest = b"d" * 32
    with ResponseStore(tmp_path / "store.sqlite") as store:
        store.put(digest, output, store.model_key(MODEL))
    with ResponseStore(tmp_path / "store.sqlite") as again:
        assert again.get(digest) == output
        assert again.get(b"e" * 32) is None


def test_a_failure_is_refused(tmp_path: Path) -> None:
    with ResponseStore(None) as store, pytest.raises(TypeError, match="never stored"):
        store.put(b"d" * 32, Failure("request", "gone"), 1)


def test_two_connections_share_a_store(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as one, ResponseStore(path) as two:
        one.put(b"1" * 32, OUTPUTS[0], one.model_key(MODEL))
        two.put(b"2" * 32, OUTPUTS[1], two.model_key(MODEL))
        assert one.get(b"2" * 32) == OUTPUTS[1]
        assert two.get(b"1" * 32) == OUTPUTS[0]


def test_a_store_is_made_by_its_first_write(tmp_path: Path) -> None:
    path = tmp_path / "out" / "store.sqlite"
    with ResponseStore(path) as store:
        assert store.get(b"1" * 32) is None
        assert not store.has_replies_of(MODEL)
        assert len(store) == 0
    assert not path.parent.exists()
    with ResponseStore(path) as store:
        store.put(b"1" * 32, OUTPUTS[0], store.model_key(MODEL))
        with ResponseStore(path) as other:
            assert other.get(b"1" * 32) == OUTPUTS[0]


def test_reports_unusable_store_path_at_once(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(StorageError, match="choose another place"):
        ResponseStore(tmp_path / "file" / "store.sqlite")


def test_file_that_is_not_a_store_gives_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "notes.txt"
    path.write_text("these are not responses " * 100)
    with pytest.raises(StorageError, match="choose another file with --store"):
        ResponseStore(path)


def test_a_newer_schema_gives_a_sentence(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA user_version = 99")
    connection.close()
    with pytest.raises(StorageError, match="newer Snellen"):
        ResponseStore(path)
