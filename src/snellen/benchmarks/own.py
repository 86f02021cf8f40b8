"""A benchmark made of a data file of one's own, with no code.

Any VLMEvalKit-style TSV, CSV, JSONL, Parquet file or Hugging Face data set. What is asked is
inferred row by row from the columns (see `rows`).
"""

from __future__ import annotations

import re
from pathlib import Path

from snellen.benchmarks.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Table, Variant
from snellen.data.table import open_table

VERSION = "1"


def own_benchmark(path: str, variant: Variant) -> Benchmark:
    """The benchmark of a data file; its name is the file's name without suffixes."""

    def open() -> Table:
        return open_table(path, columns=variant.columns)

    return question_benchmark(
        variant, name=own_name(path), version=VERSION, title=f"own data: {path}", open=open
    )


def own_name(path: str) -> str:
    name = Path(path.split("://")[-1].split("?")[0]).name
    return (
        re.sub(r"(\.(tsv|csv|jsonl?|parquet|xlsx|txt|eval))?(\.gz)?$", "", name, flags=re.I)
        or "data"
    )
