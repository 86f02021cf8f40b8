"""Published files that are one table, one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from snellen.benchmarks.declaration.concat_tables import concat_tables
from snellen.benchmarks.declaration.published import Published
from snellen.core.benchmark import DataTable, FetchProgress, HasIds, Variant


@dataclass(frozen=True, slots=True, kw_only=True)
class PublishedParts:
    """The parts of a data set. Rows are called by their running index where two parts have an id in
    common; the user's own file stands for all parts."""

    name: str
    """Of the benchmark."""
    parts: Sequence[Published]
    options: Mapping[str, Sequence[str]] = field(default_factory=dict)

    def table(self, variant: Variant) -> DataTable:
        """The rows. Raises DataError if they can neither be found nor fetched."""
        if variant.data is not None:
            return self.parts[0].table(variant)
        tables = [part.table(variant) for part in self.parts]
        ids = [name for table in tables if isinstance(table, HasIds) for name in table.ids()]
        return concat_tables(self.name, tables, renumber=len(set(ids)) < len(ids))

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        """Brings all parts to this machine."""
        return partial(self._fetch, variant)

    def _fetch(self, variant: Variant, progress: FetchProgress | None = None) -> Path:
        return [part.fetch(variant, progress) for part in self.parts][-1]

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        """What `snellen info` prints about the data: that of the first part, and how many there are."""
        facts = self.parts[0].facts(variant, spec)
        return {**facts, "data": f"{facts['data']}, the first of {len(self.parts)} parts that are read as one"}
