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

from dataclasses import replace
from importlib.resources import files

from snellen.benchmarks.declaration.image_pairs import with_yes_no_pairs
from snellen.benchmarks.declaration.published import packaged_origin, with_origin
from snellen.benchmarks.declaration.questions import question_benchmark
from snellen.core.benchmark import Benchmark, Table, Variant, requires
from snellen.data.tables.open_table import open_table

VERSION = "3"
_FILES = {"test": "eyechart.tsv", "photos": "eyechart_photos.tsv"}


def benchmark(variant: Variant) -> Benchmark:
    split = variant.options.get("split", "test")

    def open() -> Table:
        shipped = str(files("snellen.benchmarks") / "data" / _FILES[split])
        table = open_table(variant.data or shipped, columns=variant.columns)
        return with_origin(table, packaged_origin(_FILES[split], table, variant))

    asked = question_benchmark(
        variant,
        name="eyechart",
        version=VERSION,
        title="Eyechart: coloured shapes, counting, places, words and several pictures",
        open=open,
        options={"split": tuple(_FILES)},
        requires=requires("text", "image", many_images=True),
        source="drawn by this repository (Apache-2.0); photographs: see benchmarks/data/README.md",
    )
    return replace(asked, samples=lambda rows: with_yes_no_pairs(asked.samples(rows)))
