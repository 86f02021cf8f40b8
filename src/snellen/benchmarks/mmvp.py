"""MMVP: pairs of images that CLIP takes for alike and people do not, one question about each pair
(Tong et al. 2024, https://arxiv.org/abs/2401.06209).

One example row: index 1, question "Are the butterfly's wings closer to being open or closed?",
A "Open", B "Closed", answer "A", image <base64>; the next row asks the same of the other image of
the pair and has the answer "B".

Oddities: 300 questions make 150 pairs of consecutive rows; a pair is right only if both its answers
are (Sec. 3.1), which is the headline; `accuracy` counts questions. The authors' own file holds the
options in one cell, "(a) Open (b) Closed". Both questions of a pair are kept or dropped by a limit
together.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.questions import failures_of, question_benchmark
from snellen.benchmarks.declaration.units import summarise_units, unit_sums
from snellen.core.benchmark import Benchmark, Variant, requires
from snellen.core.sample import Row, Sample

VERSION = "3"
HEADLINE = "pair_accuracy"
_URL = "https://opencompass.openxlab.space/utils/VLMEval/MMVP.tsv"
DATA = Published({}, {(): published_tsv(_URL, "8cb732b141a0cba5b42159df2839e557")})
_OPTIONS_CELL = re.compile(r"\(a\)\s*(.+?)\s*\(b\)\s*(.+)", re.IGNORECASE | re.DOTALL)


def benchmark(variant: Variant) -> Benchmark:
    asked = question_benchmark(
        variant,
        name="mmvp",
        version=VERSION,
        title="MMVP, pairs of images that CLIP takes for alike",
        open=partial(DATA.table, variant),
        fetch=partial(DATA.fetch, variant),
        requires=requires("text", "image"),
        paper="https://arxiv.org/abs/2401.06209",
        source="MMVP of its authors (MIT, MMVP/MMVP on the hub), as VLMEvalKit's TSV",
    )
    failures = failures_of(variant)
    return replace(
        asked,
        headline=HEADLINE,
        chance=25.0,
        samples=partial(_pair_samples, asked.samples),
        summarise=partial(summarise_units, asked, failures, HEADLINE),
        headline_sums=partial(unit_sums, failures),
    )


def _pair_samples(
    samples_of_rows: Callable[[Iterable[Row]], Iterator[Sample]], rows: Iterable[Row]
) -> Iterator[Sample]:
    """Samples in order, the pair's number as their unit. Where ids are numbers they tell the
    pairs, so that a part of the rows keeps its pairs."""
    sample_list = list(samples_of_rows(_split_options(rows)))
    numbers = (
        [int(one.id) for one in sample_list]
        if all(one.id.isdecimal() for one in sample_list)
        else []
    )
    first = min(numbers, default=0) % 2
    for position, sample in enumerate(sample_list):
        number = numbers[position] - first if numbers else position
        yield structs.replace(sample, unit=f"pair {number // 2 + 1}")


def _split_options(rows: Iterable[Row]) -> Iterator[Row]:
    """Rows of the authors' file in the common layout."""
    for row in rows:
        joined = _OPTIONS_CELL.fullmatch(row.cells.get("options", "").strip())
        if joined and "A" not in row.cells:
            gold = row.cells.get("correct answer", "").strip("() ").upper()
            cells = {**row.cells, "A": joined[1], "B": joined[2], "answer": gold}
            row = structs.replace(row, cells=cells)
        yield row
