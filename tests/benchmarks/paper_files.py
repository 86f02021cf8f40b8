"""Where the numbers printed in papers lie: those that a hub imports are part of the package."""

from __future__ import annotations

import csv
from pathlib import Path

import snellen_hub

TEST_TABLES = Path(__file__).parents[1] / "paper_tables"
PACKAGE_TABLES = Path(snellen_hub.__file__).parent / "reported_numbers" / "tables"


def paper_table(name: str) -> Path:
    """The file of a table."""
    path = PACKAGE_TABLES / name
    return path if path.is_file() else TEST_TABLES / name


def paper_rows(name: str) -> list[dict[str, str]]:
    """The rows of a table."""
    return list(csv.DictReader(paper_table(name).read_text(encoding="utf-8").splitlines()))


def mmt_accuracies() -> list[dict[str, str]]:
    """Tables A18 to A36 with a row for each accuracy: model, subtask, accuracy."""
    return [
        {"model": model, "subtask": row["subtask"], "accuracy": accuracy}
        for row in paper_rows("mmt_subtask_scores.csv")
        for model, accuracy in row.items()
        if model not in ("subtask", "table", "column")
    ]


def write_mmt_accuracies(path: Path) -> Path:
    """The same as a CSV file."""
    with path.open("w", encoding="utf-8", newline="") as out:
        writer = csv.DictWriter(out, ("model", "subtask", "accuracy"))
        writer.writeheader()
        writer.writerows(mmt_accuracies())
    return path
