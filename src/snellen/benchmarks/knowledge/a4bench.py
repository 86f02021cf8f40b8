"""A4Bench: what things can be used for (Wang et al. 2025, https://arxiv.org/abs/2506.00893).

Questions have several right options, all of which and no others must be named.
"""

from __future__ import annotations

from string import ascii_uppercase

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import is_gold, own_and_vlmevalkit
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import list_options, option_cells
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.core.literals import parse_literal
from snellen.core.output import Answer
from snellen.core.sample import Row, Sample
from snellen.extract.multi_label import SEPARATOR, parse_multi_label
from snellen.extract.open_text import parse_raw

_MAX_OPTIONS = 8


def _merge_labels(sample: Sample, row: Row) -> Sample:
    """Make one gold answer of the labels of all right options; the options move into the
    question."""
    labels = SEPARATOR.join(sorted(gold.strip().upper() for gold in sample.gold))
    return structs.replace(
        sample,
        question=list_options(sample.question, option_cells(row.cells)),
        gold=(labels,) if labels else (),
        options={},
    )


def _parse_letters(reply: str, stop_reason: str) -> Answer:
    return parse_multi_label(reply, ascii_uppercase[:_MAX_OPTIONS], stop_reason=stop_reason)


def _same_list_vlmevalkit(reply: str, sample: Sample) -> float:
    """Whether the reply is a Python list, or another literal, of the same letters in any order.
    VLMEvalKit's evaluation ends with an error where a reply is none; here that is wrong."""
    try:
        items = parse_literal(reply)
        return float(sorted(items) == sample.gold[0].split(SEPARATOR))
    except (ValueError, TypeError):
        return 0.0


BENCHMARK = Declaration(
    name="a4bench",
    version="10",
    title="A4Bench, what things can be used for",
    paper="https://arxiv.org/abs/2506.00893",
    provenance="A4Bench of its authors, as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/A4Bench.tsv", "7c0dc90e8c03e67ff937f3abb4a3fffb"),
    kind="open",
    adjust=_merge_labels,
    scoring=RuleScoring(
        rules=own_and_vlmevalkit(OpenScoring(_parse_letters, is_gold), OpenScoring(parse_raw, _same_list_vlmevalkit))
    ),
)
