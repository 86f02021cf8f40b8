"""Pictures that models drew, kept beside the outputs that name them."""

from __future__ import annotations

import hashlib
import sqlite3
from pathlib import Path

from snellen.core.model import Identity
from snellen.core.output import Drawn, Generated
from snellen.store.responses import MIGRATIONS, ResponseStore

DATA = b"\x89PNG not decoded here"
NAME = hashlib.sha256(DATA).hexdigest()
KEY = b"k" * 32


def test_a_drawing_comes_back_with_its_bytes(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    with ResponseStore(path) as store:
        model = store.model_key(Identity("test", "a"))
        store.put(KEY, Drawn((NAME,), "there", {NAME: DATA}), model)
        store.put(b"l" * 32, Drawn((NAME,), data={NAME: DATA}), model)
    with ResponseStore(path) as store:
        assert store.get(KEY) == Drawn((NAME,), "there", {NAME: DATA})
        assert store.medium(NAME) == DATA
        assert store.medium("0" * 64) is None
    kept = sqlite3.connect(path)
    assert kept.execute("SELECT count(*) FROM media").fetchone() == (1,)
    kept.execute("DELETE FROM media")
    kept.commit()
    kept.close()
    with ResponseStore(path) as store:
        assert store.get(KEY) is None, "a reply without its picture is owed again"


def test_an_older_store_is_brought_up(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    old = sqlite3.connect(path)
    old.executescript(MIGRATIONS[0])
    old.execute("PRAGMA user_version = 1")
    old.execute("INSERT INTO models VALUES (1, 'd', '{}')")
    text = b'{"type":"generated","text":"kept"}'
    old.execute("INSERT INTO responses VALUES (?, 1, 0, ?)", (KEY, text))
    old.commit()
    old.close()
    with ResponseStore(path) as store:
        assert store.get(KEY) == Generated("kept")
        store.put(b"m" * 32, Drawn((NAME,), data={NAME: DATA}), 1)
        assert store.medium(NAME) == DATA
