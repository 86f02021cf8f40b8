"""A-OKVQA, multiple choice: questions that need knowledge of the world (Schwenk et al. 2022,
https://arxiv.org/abs/2206.01718).

One example row: index 0, question "What is the man by the bags awaiting?", A "skateboarder",
B "train", C "delivery", D "cab", answer "D", image <base64>.

Oddities: the data set also has ten direct answers a question, which are another task and not asked
here. No checksum is published for the TSV, which holds the validation split; examples come from
the training split of the authors' data.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.published import Published, published_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.core.sample import Row, Sample

_URL = "https://huggingface.co/datasets/Allen8/A-OKVQA/resolve/main/a-okvqa.tsv"
_GOLD_INDEX = "correct_choice_idx"
"""Column of the authors' own data: the place of the right choice, from 0."""


def _gold_from_index(sample: Sample, row: Row) -> Sample:
    """A row of the authors' data names the right choice by its place."""
    index = row.cells.get(_GOLD_INDEX, "")
    if not index.isdecimal() or int(index) >= len(sample.options):
        return sample
    return structs.replace(sample, kind="choice", gold=(list(sample.options)[int(index)],))


BENCHMARK = Declaration(
    name="a-okvqa",
    version="4",
    title="A-OKVQA, questions that need knowledge of the world",
    paper="https://arxiv.org/abs/2206.01718",
    provenance="A-OKVQA (Apache-2.0) over COCO images, as VLMEvalKit's TSV",
    data=Published(
        {}, {(): published_tsv(_URL, name="A-OKVQA.tsv")}, held_out={"": "hf://HuggingFaceM4/A-OKVQA?split=train"}
    ),
    adjust=_gold_from_index,
    scoring=choices(),
)
