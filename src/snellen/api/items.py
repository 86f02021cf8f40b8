"""`items`: what only a benchmark's data can add to the view of its samples."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.analysis.data_check import find_similar_images
from snellen.data.columns import row_id
from snellen.store.runs import RunFolder


class SimilarPair(NamedTuple):
    """Two samples whose pictures have other bytes and look alike."""

    first: str
    second: str


def similar_images(run: RunFolder, moved: Sequence[str] = ()) -> list[SimilarPair]:
    """Near-duplicate pictures in the data of a run, which may be in the files `moved` now. Raises
    UsageError subclasses where the data are not there any more."""
    rows = list(benchmark_with_data(run, moved).open())
    ids = {row.index + 1: row_id(row) for row in rows}
    return [SimilarPair(*(ids[number] for number in one.rows)) for one in find_similar_images(rows)]
