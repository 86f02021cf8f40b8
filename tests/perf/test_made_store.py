"""Made-up stores hold what a run would have written."""

from __future__ import annotations

import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.perf.made_store import BLOCK, key, outputs, put_replies, write_store

from snellen.store.repair import check
from snellen.store.responses import ResponseStore

ALL = (
    "SELECT responses.digest, models.digest, identity, packed, output, checksum, folder FROM responses "
    "JOIN models ON models.id = model LEFT JOIN runs ON runs.id = run ORDER BY responses.digest"
)


def test_rows_are_those_that_a_run_writes(tmp_path: Path) -> None:
    count = 2 * BLOCK - 1
    made, put = tmp_path / "made.sqlite", tmp_path / "put.sqlite"
    write_store(made, count)
    put_replies(put, range(count), count)
    with closing(sqlite3.connect(made)) as first, closing(sqlite3.connect(put)) as second:
        assert first.execute(ALL).fetchall() == second.execute(ALL).fetchall()


@pytest.mark.parametrize("blocks", [2, 21, 101])
def test_a_tree_of_any_height_is_sound(tmp_path: Path, blocks: int) -> None:
    count = blocks * BLOCK - 1
    path = tmp_path / "made.sqlite"
    write_store(path, count)
    found = check(path)
    assert (found.replies, found.errors, found.damaged) == (count, (), 0)
    replies = outputs()
    with ResponseStore(path) as store:
        for number in (0, 1, BLOCK - 1, BLOCK, count // 2, count - 1):
            assert store.get(key(number, count)) == replies[number % BLOCK]
            assert store.get(key(number, count, 1)) is None
