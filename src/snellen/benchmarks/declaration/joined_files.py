"""Published files that are the parts of one table: all of them, or one for each value of an option."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import chain
from pathlib import Path

from msgspec import structs

from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.videos import find_videos
from snellen.core.benchmark import DataTable, FetchProgress, HasIds, Variant
from snellen.core.media import digest_bytes
from snellen.core.sample import Origin, Row, origin_of
from snellen.data.tables.derived import DerivedTable

ALL = "all"
"""Value: all files, one after the other."""
PART = "part"
"""The option of `published` where users choose none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedFiles:
    """The data of a benchmark whose option chooses one file, or all of them, or that always has all.
    Of all files, rows are called by their place where two have an id in common; the user's own file
    stands for all."""

    name: str
    """Of the benchmark."""
    option: str = PART
    values: Sequence[str] = ()
    """Those of the option, the default first; without any, users have no such option."""
    published: Published
    """The files, whose only option it is, without `ALL`."""

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        return {self.option: self.values} if self.values else {}

    def table(self, variant: Variant) -> DataTable:
        """The rows. Raises DataError if they can neither be found nor fetched."""
        tables = [self._table_of(variant, value) for value in self._values(variant)]
        ids = [name for table in tables if isinstance(table, HasIds) for name in table.ids()] if tables[1:] else []
        return concat_tables(self.name, tables, renumber=len(set(ids)) < len(ids))

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        """Brings the files to this machine."""
        return partial(self._fetch, variant)

    def _fetch(self, variant: Variant, progress: FetchProgress | None = None) -> Path:
        values = self._values(variant)
        return [self.published.fetch(self._variant_of(variant, value), progress) for value in values][-1]

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        """What `snellen info` prints about the data; without an option, of the first file."""
        if self.values:
            return self.published.facts(variant, spec)
        parts = self.published.options[self.option]
        facts = self.published.facts(self._variant_of(variant, parts[0]), spec)
        return {**facts, "data": f"{facts['data']}, the first of {len(parts)} parts that are read as one"}

    def _values(self, variant: Variant) -> Sequence[str]:
        """Of the files that make up the table."""
        value = variant.options.get(self.option, self.values[0]) if self.values else ALL
        if value != ALL:
            return (value,)
        files = self.published.options[self.option]
        return files if variant.data is None else (ALL,)

    def _variant_of(self, variant: Variant, value: str) -> Variant:
        return replace(variant, options={self.option: value})

    def _table_of(self, variant: Variant, value: str) -> DataTable:
        table = self.published.table(self._variant_of(variant, value))
        return find_videos(table, variant, self.name) if self.values else table


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
