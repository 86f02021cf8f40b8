"""Several tables read as one, one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial
from itertools import chain

from msgspec import structs

from snellen.core.benchmark import DataTable
from snellen.core.media import digest_bytes
from snellen.core.sample import Origin, Row, origin_of
from snellen.data.tables.derived import DerivedTable


def concat_tables(path: str, tables: Sequence[DataTable], *, renumber: bool = False) -> DataTable:
    """One table of all rows, with indices that run on from table to table. With `renumber` rows are
    called by their running index, since ids of the tables are the same."""
    if len(tables) == 1:
        return tables[0]
    columns = tuple(dict.fromkeys(name for table in tables for name in table.columns))
    digest = digest_bytes("\n".join(table.digest for table in tables).encode())
    rows = partial(_all_rows, tables, renumber)
    return DerivedTable(path, columns, digest, sum(map(len, tables)), rows, _joint_origin(tables))


def _all_rows(tables: Sequence[DataTable], renumber: bool) -> Iterator[Row]:
    for number, row in enumerate(chain.from_iterable(tables)):
        cells = {**row.cells, "index": str(number)} if renumber else row.cells
        yield structs.replace(row, index=number, cells=cells)


def _joint_origin(tables: Sequence[DataTable]) -> Origin | None:
    """The origin of the first table that is not the published one, else of the first table."""
    origins = [origin for origin in map(origin_of, tables) if origin is not None]
    changed = next((origin for origin in origins if origin.note), origins[0] if origins else None)
    return None if changed is None else structs.replace(changed, file="")
