"""NaturalBench: two questions about two natural images each, whose answers alternate (Li et al. 2024,
https://arxiv.org/abs/2410.14669).

A row of this form (made up): index 0, question "Is the dog on the sofa?", type "yes_no" (or
"multiple_choice", with the options A and B in the question), answer "Yes", image <base64>.

Oddities: four consecutive rows are a group: the first question about both images, then the second,
with the answers yes, no, no, yes. 7,600 rows make 1,900 groups. The headline is the authors' group
accuracy: all four right; a question or an image is right if both its rows are. They are found by
the index, and not counted without one. `--rule official` is the authors' `extract_answer`, which
VLMEvalKit and lmms-eval copy.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.scoring import choices
from snellen.benchmarks.declaration.units import further_units, summarise_units, unit_sums
from snellen.benchmarks.protocol.parsers import ParserSet
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import Summary, SummaryContext
from snellen.extract.published.quoted_images import parse_naturalbench, parse_naturalbench_yes_no
from snellen.prompts.choice import PromptTemplate

HEADLINE = "group_accuracy"
_GROUP = 4
_URL = "https://huggingface.co/datasets/BaiqiL/NaturalBench/resolve/main/NaturalBenchDataset.tsv"
_HALVES: Mapping[str, Callable[[Record], str]] = {
    "question_accuracy": lambda record: str(int(record.id) // 2),
    "image_accuracy": lambda record: f"{int(record.id) // _GROUP}/{int(record.id) % 2}",
}


def _add_group(sample: Sample, row: Row) -> Sample:
    return structs.replace(sample, unit=f"group {int(sample.id) // _GROUP}" if sample.id.isdecimal() else "")


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    summary = summarise_units(HEADLINE, context, records)
    numbered = all(record.id.isdecimal() for record in records)
    return further_units(summary, _HALVES, context, records) if numbered else summary


_PARSERS = ParserSet(parse_naturalbench, parse_naturalbench_yes_no)

BENCHMARK = Declaration(
    name="naturalbench",
    version="1",
    title="NaturalBench, pairs of questions about pairs of images",
    paper="https://arxiv.org/abs/2410.14669",
    provenance="BaiqiL/NaturalBench on the hub, the authors' TSV for VLMEvalKit",
    data=single_tsv(_URL, "e5f724932972eaeb8a9099e6979606ec"),
    aliases={"NaturalBenchDataset": {}},
    group_by=("type",),
    adjust=_add_group,
    template=PromptTemplate(
        question="{question} Please output the letter corresponding to the correct option.",
        yes_no="Please answer Yes or No.",
    ),
    scoring=choices(official=_PARSERS, vlmevalkit=_PARSERS),
    headline=Headline(name=HEADLINE, summarise=_summarise, sums=unit_sums),
    chance=6.25,
)
