"""A benchmark made of a data file of one's own, with no code.

Any VLMEvalKit-style TSV, CSV, JSONL, Parquet file or Hugging Face data set. What is asked is
inferred row by row from the columns (see `rows`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from snellen.benchmarks.declaration.published import absolute, with_origin
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.declaration.units import (
    column_of_units,
    counted_by_units,
    other_columns,
    shape_by,
)
from snellen.benchmarks.declaration.videos import WORDING, watching_of, with_video
from snellen.benchmarks.protocol.similarity import with_similarity
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.core.errors import SnellenError
from snellen.core.origin import Origin
from snellen.data.columns import is_video_column
from snellen.data.tables.open_table import open_table

VERSION = "3"


def own_benchmark(
    path: str, variant: Variant, make: Callable[..., Benchmark] = question_benchmark
) -> Benchmark:
    """The benchmark of a data file; its name is the file's name without suffixes. `make` is called
    as `question_benchmark` is."""

    named = other_columns(variant.columns)

    def open() -> Table:
        origin = Origin("own", file=absolute(path), columns=dict(variant.columns))
        return with_origin(open_table(path, columns=named), origin)

    made = partial(
        make,
        name=own_name(path),
        version=VERSION,
        title=f"own data: {path}",
        open=open,
    )
    units = column_of_units(variant.columns)
    if units:
        made = partial(made, shape=shape_by(variant.columns))
    if _has_videos(open):
        rest, watching = watching_of(variant)
        asked = with_video(made(rest, wording=WORDING), watching, always=False)
    else:
        asked = made(variant)
    return with_similarity(counted_by_units(asked, variant) if units else asked, variant)


def _has_videos(open: Callable[[], Table]) -> bool:
    """Whether a column names videos: what is shown of them is then part of the run."""
    try:
        return any(map(is_video_column, open().columns))
    except SnellenError:
        return False  # told when the table is opened to be read


def own_name(path: str) -> str:
    name = Path(path.split("://")[-1].split("?")[0]).name
    return (
        re.sub(r"(\.(tsv|csv|jsonl?|parquet|xlsx|txt|eval))?(\.gz)?$", "", name, flags=re.I)
        or "data"
    )
