"""CV-Bench: counting, relation, depth and distance as multiple choice (Tong et al. 2024,
https://arxiv.org/abs/2406.16860, Appendix C).

One example row: index 0, question "How many organs are in the image?", A "3", B "2", C "1", D "0",
answer "C", split "2D", task "Count", source "ADE20K", image <base64>.

Oddities: 2D questions come from ADE20K and COCO, 3D ones from Omni3D. The headline is the authors':
accuracy by source, averaged over the sources of a dimension, then over the dimensions that were
asked: half of CV-Bench is Omni3D. VLMEvalKit keeps 2D and 3D as two benchmarks; `dimension=2D`
gives its number. The authors' file writes options as a list and answers as "(C)". Their
script takes the first letter of the reply, or of what follows "answer is" or "answer:" (`--rule
official`), so that "Between" is B.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import HubSplit, Published, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.video_questions import group_mean, nested_weights
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.sample import Row
from snellen.extract.published.official import parse_cvbench

HEADLINE = "mean_of_sources"
_HOME = "https://opencompass.openxlab.space/utils/VLMEval"
_DIMENSION_COLUMNS = ("split", "type")
"""Columns that may name a question's dimension: VLMEvalKit's and the authors'."""
_DIMENSION_OF_SOURCE = {"ADE20K": "2D", "COCO": "2D", "Omni3D": "3D"}


def _is_in_dimension(row: Row, options: Mapping[str, str]) -> bool:
    """Whether the row is of the chosen dimension; a row that names none always is."""
    chosen = options["dimension"]
    return chosen == "all" or _dimension_of_row(row) in (chosen, "")


def _dimension_of_row(row: Row) -> str:
    named = next((row.cells[name] for name in _DIMENSION_COLUMNS if row.cells.get(name)), "")
    return _DIMENSION_OF_SOURCE.get(row.cells.get("source", ""), named)


def _weights(sources: Sequence[str]) -> dict[str, float]:
    """What each source weighs: an equal part of its dimension, which is an equal part of all."""
    return nested_weights(lambda name: _DIMENSION_OF_SOURCE.get(name, name), sources)


BENCHMARK = Declaration(
    name="cvbench",
    version="5",
    title="CV-Bench, vision in two and three dimensions",
    paper="https://arxiv.org/abs/2406.16860",
    provenance="CV-Bench of its authors (Apache-2.0), VLMEvalKit's TSV for a single dimension",
    data=Published(
        {"dimension": ("all", "2D", "3D")},
        {
            ("all",): HubSplit("hf://nyu-visionx/CV-Bench?split=test"),
            ("2D",): published_tsv(f"{_HOME}/CV-Bench-2D.tsv", "a7cff4cc2857cc237ee2b89e62bccb2d"),
            ("3D",): published_tsv(f"{_HOME}/CV-Bench-3D.tsv", "bb94c0d568d652d15b60e001ac40a170"),
        },
    ),
    aliases={
        "CV-Bench": {},
        "CV-Bench-2D": {"dimension": "2D"},
        "CV-Bench-3D": {"dimension": "3D"},
        "cv_bench": {},
        "cv_bench_2d": {"dimension": "2D"},
        "cv_bench_3d": {"dimension": "3D"},
    },
    group_by=(*_DIMENSION_COLUMNS, "source", "task", "category"),
    scoring=choices(official=ParserSet(parse_cvbench)),
    keep=_is_in_dimension,
    headline=replace(group_mean(HEADLINE, "source", weights=_weights), in_circular=True),
)
