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
from collections.abc import Iterable, Iterator
from functools import partial

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import rows_to_samples
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.units import summarise_units, unit_sums
from snellen.core.sample import Row, Sample

HEADLINE = "pair_accuracy"
_URL = "https://opencompass.openxlab.space/utils/VLMEval/MMVP.tsv"
_OPTIONS_CELL = re.compile(r"\(a\)\s*(.+?)\s*\(b\)\s*(.+)", re.IGNORECASE | re.DOTALL)


def pair_samples(rows: Iterable[Row]) -> Iterator[Sample]:
    """Samples in order, with the pair's number as their unit.

    Numeric ids identify the pairs, so that a part of the rows keeps its pairs; otherwise
    consecutive rows are a pair.
    """
    path = str(getattr(rows, "path", "mmvp"))
    sample_list = list(rows_to_samples(_split_options(rows), path=path))
    numbers = [int(sample.id) for sample in sample_list] if all(sample.id.isdecimal() for sample in sample_list) else []
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


BENCHMARK = Declaration(
    name="mmvp",
    version="4",
    title="MMVP, pairs of images that CLIP takes for alike",
    paper="https://arxiv.org/abs/2401.06209",
    provenance="MMVP of its authors (MIT, MMVP/MMVP on the hub), as VLMEvalKit's TSV",
    data=single_tsv(_URL, "8cb732b141a0cba5b42159df2839e557"),
    scoring=choices(),
    samples=pair_samples,
    headline=Headline(name=HEADLINE, summarise=partial(summarise_units, HEADLINE), sums=unit_sums),
    chance=25.0,
)
