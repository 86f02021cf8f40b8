"""Samples are made one by one where no row can be the rotation of another."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.core.errors import DataError
from snellen.core.sample import Row


class Numbered:
    """Rows that know their ids, and how many of them were read."""

    def __init__(self, *ids: str) -> None:
        self._ids = ids
        self.read = 0

    def ids(self, at_least: int = 0) -> Iterator[str]:
        return iter(self._ids)

    def __iter__(self) -> Iterator[Row]:
        for number, name in enumerate(self._ids):
            self.read += 1
            yield Row(number, {"index": name, "question": "q", "A": "x", "B": "y", "answer": "A"})


@pytest.mark.parametrize("last", ["2", "word", "1000009", "0000001", "3" * 40])
def test_the_first_sample_does_not_wait_for_the_last_row(last: str) -> None:
    rows = Numbered("0", "1", last)
    made = rows_to_samples(rows)
    assert next(made).id == "0"
    assert rows.read == 1
    assert [one.id for one in made] == ["1", last]


def test_rows_that_may_be_rotations_are_joined() -> None:
    rows = Numbered("1000001", "0", "1", "2000001")
    zero, one = rows_to_samples(rows)
    assert (zero.id, one.id) == ("0", "1")
    assert [turn.row for turn in one.rotations] == ["1000001", "2000001"]


def test_duplicate_id_is_reported_when_read() -> None:
    made = rows_to_samples(Numbered("0", "1", "0"), path="mine.tsv")
    assert [next(made).id, next(made).id] == ["0", "1"]
    with pytest.raises(DataError, match=r"mine\.tsv: rows 1 and 3 have the same id '0'"):
        next(made)


def test_rows_that_are_not_kept_are_not_read() -> None:
    rows = Numbered("0", "1", "2")
    assert [one.id for one in rows_to_samples(rows, keep=lambda row: row.index != 1)] == ["0", "2"]
