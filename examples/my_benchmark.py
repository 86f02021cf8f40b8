"""A benchmark in code: the questions about animals among those of a data file."""

from pathlib import Path

from snellen import Benchmark, Variant
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.data.tables.open_table import open_table

DATA = Path(__file__).with_name("my_questions.tsv")


def animals(variant: Variant) -> Benchmark:
    return question_benchmark(
        variant,
        name="animals",
        version="1",
        title="Questions about animals",
        open=lambda: open_table(variant.data or str(DATA)),
        keep=lambda row: row.cells.get("category") == "animals",
        source="examples of this repository (Apache-2.0)",
    )
