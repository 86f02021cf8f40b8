"""Eyechart: the bundled benchmark, drawn by `training/tiny` with seeds no training picture uses.

One example row: index 12, question "What color is the circle?", A "red", B "green", C "blue",
D "white", answer "C", type "mcq", l2-category "perception", category "colour", split "test",
image <base64 PNG, 128 px>.

Oddities: rows that ask about the same picture name an earlier row's index in `image`; yes/no
questions come in pairs on one picture, one yes and one no; some questions show several pictures.
The `photos` split asks about a few real photographs, far outside what `snellen/tiny` was trained
on.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import packaged_origin, with_origin
from snellen.benchmarks.declaration.rows import add_yes_no_pair
from snellen.benchmarks.declaration.scoring import choices
from snellen.core.benchmark import DataTable, FetchProgress, Variant, requires
from snellen.data.tables.open_table import open_table

_FILES = {"test": "eyechart.tsv", "photos": "eyechart_photos.tsv"}


@dataclass(frozen=True, slots=True)
class PackagedFiles:
    """Data files of this package, by the value of the option `split`."""

    files: Mapping[str, str]

    @property
    def options(self) -> Mapping[str, Sequence[str]]:
        return {"split": tuple(self.files)}

    def table(self, variant: Variant) -> DataTable:
        name = self.files[variant.options.get("split", next(iter(self.files)))]
        packaged = str(files("snellen.benchmarks") / "data" / name)
        table = open_table(variant.data or packaged, columns=variant.columns)
        return with_origin(table, packaged_origin(name, table, variant))

    def fetcher(self, variant: Variant) -> Callable[[FetchProgress | None], Path] | None:
        return None

    def few_shot_source(self, variant: Variant) -> str:
        return ""

    def facts(self, variant: Variant, spec: str) -> Mapping[str, str]:
        return {}


BENCHMARK = Declaration(
    name="eyechart",
    version="4",
    title="Eyechart: coloured shapes, counting, places, words and several pictures",
    provenance="drawn by this repository (Apache-2.0); photographs: see benchmarks/data/README.md",
    data=PackagedFiles(_FILES),
    adjust=add_yes_no_pair,
    requires=requires("text", "image"),
    scoring=choices(),
)
