"""A benchmark in code: the questions about animals among those of a data file."""

from pathlib import Path

from snellen.benchmarks.declaration.data_file import UserFile
from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.scoring import choices

BENCHMARK = Declaration(
    name="animals",
    version="1",
    title="Questions about animals",
    provenance="examples of this repository (Apache-2.0)",
    data=UserFile(str(Path(__file__).with_name("my_questions.tsv"))),
    keep=lambda row, options: row.cells.get("category") == "animals",
    scoring=choices(),
)
