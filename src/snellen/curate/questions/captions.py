"""Captions that pictures are drawn of: a data file with a column for them (SEED-Bench-H,
Sec. 3.3.3: CC-500 and ABC-6k)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from msgspec import Struct

from snellen.core.benchmark import Table
from snellen.core.errors import DataError, UsageError
from snellen.curate.questions.sources import CAPTION_COLUMNS, kept_cells, unique_ids
from snellen.curate.step import SourceInfo
from snellen.data.tables.open_table import SUFFIXES, open_table

_COLUMNS = (*CAPTION_COLUMNS, "prompt")


class Caption(Struct, frozen=True, gc=False):
    """A caption, and what its file says of it."""

    id: str
    text: str
    """Empty if the row has none."""
    cells: Mapping[str, str] = {}


@dataclass(frozen=True, slots=True)
class Captions:
    """The captions of a file, read lazily and in order."""

    path: Path
    table: Table

    def __iter__(self) -> Iterator[Caption]:
        for name, row in unique_ids(self.table):
            text = next((row.cells[name] for name in _COLUMNS if row.cells.get(name)), "")
            yield Caption(name, text.strip(), kept_cells(row.cells))

    def __len__(self) -> int:
        return len(self.table)

    def describe(self) -> SourceInfo:
        return SourceInfo(self.path.name, str(self.path), self.table.digest, len(self.table))


def open_captions(path: str | Path) -> Captions:
    """Open a data file with a column `caption`, `text` or `prompt`. Raises UsageError."""
    place = Path(path).expanduser()
    if not place.is_file() or place.suffix.lower() not in SUFFIXES:
        raise UsageError(
            f"{path} is no file of captions: expected one of {', '.join(SUFFIXES)} with a column "
            "`caption`"
        )
    table = open_table(str(place))
    if not {*table.columns} & {*_COLUMNS}:
        raise DataError(
            f"{path} has no column {' or '.join(_COLUMNS)}; it has {', '.join(table.columns)}"
        )
    return Captions(place, table)
