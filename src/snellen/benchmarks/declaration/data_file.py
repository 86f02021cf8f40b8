"""A benchmark made of a data file of one's own, with no code.

Any VLMEvalKit-style TSV, CSV, JSONL, Parquet file or Hugging Face data set. What is asked is
inferred row by row from the columns (see `rows`).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from snellen.benchmarks.declaration.published import absolute_path, with_origin
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.benchmarks.declaration.units import (
    add_units,
    count_by_units,
    renamed_columns,
    unit_column,
)
from snellen.benchmarks.declaration.videos import VIDEO_TEMPLATE, split_video_options, with_video
from snellen.benchmarks.protocol.similarity import with_similarity
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.core.errors import SnellenError
from snellen.core.origin import Origin
from snellen.data.columns import is_video_column
from snellen.data.tables.open_table import open_table

VERSION = "3"


def data_file_benchmark(
    path: str, variant: Variant, build: Callable[..., Benchmark] = question_benchmark
) -> Benchmark:
    """The benchmark of a data file; its name is the file's name without suffixes. `build` is called
    as `question_benchmark` is."""

    columns = renamed_columns(variant.columns)

    def open() -> Table:
        origin = Origin("own", file=absolute_path(path), columns=dict(variant.columns))
        return with_origin(open_table(path, columns=columns), origin)

    partial_build = partial(
        build,
        name=data_file_name(path),
        version=VERSION,
        title=f"own data: {path}",
        open=open,
    )
    units = unit_column(variant.columns)
    if units:
        partial_build = partial(partial_build, adjust=add_units(variant.columns))
    if _has_videos(open):
        rest, watching = split_video_options(variant)
        benchmark = with_video(
            partial_build(rest, template=VIDEO_TEMPLATE), watching, in_every_question=False
        )
    else:
        benchmark = partial_build(variant)
    return with_similarity(count_by_units(benchmark, variant) if units else benchmark, variant)


def _has_videos(open: Callable[[], Table]) -> bool:
    """Whether a column names videos: what is shown of them is then part of the run."""
    try:
        return any(map(is_video_column, open().columns))
    except SnellenError:
        return False  # told when the table is opened to be read


def data_file_name(path: str) -> str:
    name = Path(path.split("://")[-1].split("?")[0]).name
    return (
        re.sub(r"(\.(tsv|csv|jsonl?|parquet|xlsx|txt|eval))?(\.gz)?$", "", name, flags=re.I)
        or "data"
    )
