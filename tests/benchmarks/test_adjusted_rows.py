"""Rows that a benchmark brings into the common layout: named, streamed, and read twice."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.core.sample import Row
from snellen.data.tables.cells import INDEXED_ANSWER

ROWS = (
    Row(0, {"index": "0", "question": "How many?", "A": "1", "B": "2", "answer": "1", INDEXED_ANSWER: "B"}),
    Row(1, {"index": "1", "question": "How many?", "A": "3", "B": "4", "answer": "0", INDEXED_ANSWER: "A"}),
)


class Streamed:
    """Rows with ids, which are read late; it counts how many were."""

    def __init__(self) -> None:
        self.read = 0

    def ids(self, at_least: int = 0) -> Iterator[str]:
        return iter(["0", "1"])

    def __iter__(self) -> Iterator[Row]:
        for row in ROWS:
            self.read += 1
            yield row


def test_adjusted_rows_may_be_read_twice() -> None:
    samples = list(rows_to_samples(ROWS, adjust_row=lambda row: row))
    assert [sample.gold for sample in samples] == [("B",), ("A",)]


def test_adjusted_rows_are_streamed() -> None:
    rows = Streamed()
    drop = {"question": "Which?", "index": "0"}
    next(rows_to_samples(rows, adjust_row=lambda row: Row(row.index, drop)))
    assert rows.read == 1


@pytest.mark.parametrize(
    ("name", "cells", "told"),
    [
        ("screenspot", {"question": "q", "bbox": "[1,2]", "img_size": "[9,9]"}, "bbox is '.1,2.'"),
        ("cc-ocr:part=kie", {"question": "q", "answer": "x", "category": "y"}, "column category"),
        ("a-okvqa", {"question": "q", "A": "x", "B": "y", "correct_choice_idx": "x"}, "correct_choice_idx is 'x'"),
        ("a-okvqa", {"question": "q", "A": "x", "B": "y", "correct_choice_idx": "-1"}, "correct_choice_idx is '-1'"),
    ],
)
def test_a_bad_row_is_named_with_its_file(tmp_path: Path, name: str, cells: dict[str, str], told: str) -> None:
    path = tmp_path / "rows.tsv"
    path.write_text("\t".join(["index", *cells]) + "\n" + "\t".join(["7", *cells.values()]) + "\n")
    benchmark = open_benchmark(name, Variant(data=str(path)))
    with pytest.raises(DataError, match=rf"rows\.tsv, row 1: .*{told}"):
        list(benchmark.samples(benchmark.open()))
