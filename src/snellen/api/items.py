"""`items`: near-duplicate images, which only the data of a benchmark can show."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from snellen.analysis.comparison.reopened_data import benchmark_with_data
from snellen.analysis.data_check import find_similar_images
from snellen.data.columns import row_id
from snellen.store.runs import RunFolder


class SimilarPair(NamedTuple):
    """Two samples whose images differ in bytes and look alike."""

    first: str
    second: str


def similar_images(run: RunFolder, moved: Sequence[str] = ()) -> list[SimilarPair]:
    """Pairs of samples with near-duplicate images in the data of a run.

    The data may have been `moved` to one of these files. Raises UsageError subclasses if they are
    not found."""
    rows = list(benchmark_with_data(run, moved).open())
    ids = {row.index + 1: row_id(row) for row in rows}
    return [SimilarPair(*(ids[index] for index in pair.rows)) for pair in find_similar_images(rows)]
