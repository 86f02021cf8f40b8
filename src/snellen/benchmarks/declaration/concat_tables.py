"""Several tables read as one, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import count

from msgspec import structs
from msgspec.structs import replace

from snellen.core.benchmark import DataTable
from snellen.core.media import digest_bytes
from snellen.core.sample import Origin, Row, origin_of


@dataclass(frozen=True, slots=True)
class ConcatTable:
    """Rows of all tables, with indices that run on from table to table."""

    path: str
    tables: Sequence[DataTable]
    renumber: bool = False
    """Whether rows are called by their running index, since ids of the tables are the same."""

    @property
    def columns(self) -> Sequence[str]:
        return tuple(dict.fromkeys(name for table in self.tables for name in table.columns))

    @property
    def digest(self) -> str:
        return digest_bytes("\n".join(table.digest for table in self.tables).encode())

    @property
    def origin(self) -> Origin | None:
        """The origin of the first table that is not the published one, else of the first table."""
        origins = [origin for origin in map(origin_of, self.tables) if origin is not None]
        changed = next((origin for origin in origins if origin.note), origins[0] if origins else None)
        return None if changed is None else structs.replace(changed, file="")

    def __len__(self) -> int:
        return sum(map(len, self.tables))

    def __iter__(self) -> Iterator[Row]:
        numbers = count()
        for table in self.tables:
            for row in table:
                number = next(numbers)
                row = replace(row, index=number)
                yield (replace(row, cells={**row.cells, "index": str(number)}) if self.renumber else row)


def concat_tables(path: str, tables: Sequence[DataTable], *, renumber: bool = False) -> DataTable:
    """One table of all rows; `renumber` as `ConcatTable.renumber`."""
    return tables[0] if len(tables) == 1 else ConcatTable(path, tuple(tables), renumber)
