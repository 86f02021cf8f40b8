"""A published file for each value of an option, and all of them one after the other."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from snellen.benchmarks.declaration.concat_tables import concat_tables
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.declaration.videos import find_videos
from snellen.core.benchmark import DataTable, FetchProgress, Variant

ALL = "all"
"""Value: all files."""


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinedFiles:
    """The data of a benchmark about videos whose option chooses one file, or all of them."""

    name: str
    """Of the benchmark."""
    option: str
    values: Sequence[str]
    """Those of the option, the default first."""
    published: Published
    """The files, whose only option it is, without `ALL`."""
    renumber: bool = False
    """Whether the files have the same ids, so that a row of all of them is called by its place."""

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        return {self.option: self.values}

    def table(self, variant: Variant) -> DataTable:
        """The rows. Raises DataError if they can neither be found nor fetched."""
        value = self._value(variant)
        if value != ALL:
            return self._table_of(variant, value)
        if variant.data is not None:
            return self._table_of(variant, self.values[0])
        tables = [self._table_of(variant, each) for each in self.published.options[self.option]]
        return concat_tables(self.name, tables, renumber=self.renumber)

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        value = self._value(variant)
        return None if value == ALL else self.published.fetcher(self._variant_of(variant, value))

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        return self.published.facts(variant, spec)

    def _value(self, variant: Variant) -> str:
        return variant.options.get(self.option, self.values[0])

    def _variant_of(self, variant: Variant, value: str) -> Variant:
        return replace(variant, options={self.option: value})

    def _table_of(self, variant: Variant, value: str) -> DataTable:
        return find_videos(self.published.table(self._variant_of(variant, value)), variant, self.name)
