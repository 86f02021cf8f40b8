"""LEGO-Puzzles: spatial steps and their order (Tang et al. 2025, https://arxiv.org/abs/2503.19990).

Questions of order are answered with all labels in a row ("BDAC"); the others are multiple choice.
"""

from __future__ import annotations

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration
from snellen.benchmarks.declaration.open_questions import is_gold, own_and_vlmevalkit
from snellen.benchmarks.declaration.published import single_tsv
from snellen.benchmarks.declaration.rows import option_cells
from snellen.benchmarks.declaration.scoring import RuleScoring
from snellen.benchmarks.protocol.flows import OpenScoring
from snellen.core.output import Answer, ParsedAnswer, Unparsed
from snellen.core.sample import Row, Sample
from snellen.data.columns import gold_column
from snellen.extract.open_text import parse_final
from snellen.extract.orders import find_order, find_order_vlmevalkit

ORDER_LABELS = "ABCD"
_ORDER_CLOSING = "Reply with the letters of all options in the right order, such as BDAC."
_IN_ORDER = "sort"


def _ask_for_order(sample: Sample, row: Row) -> Sample:
    """A question of order is open, with its options in the question, and all labels as gold."""
    if row.cells.get("question_type") != _IN_ORDER:
        return sample
    options = "".join(f"\n{label}. {text}" for label, text in option_cells(row.cells).items())
    gold = row.cells.get(gold_column(row.cells) or "", "").strip().upper()
    return structs.replace(
        sample,
        kind="open",
        question=f"{row.cells.get('question', '')}{options}\n{_ORDER_CLOSING}",
        gold=(gold,) if gold else (),
        options={},
    )


def _parse_order(reply: str, stop_reason: str) -> Answer:
    """The order in the marked answer, else the last one in the reply."""
    answer = parse_final(reply, stop_reason)
    if not isinstance(answer, ParsedAnswer):
        return answer
    order = find_order(answer.value, ORDER_LABELS) or find_order(reply, ORDER_LABELS)
    return ParsedAnswer(order, answer.rule) if order else Unparsed()


def _parse_order_vlmevalkit(reply: str, stop_reason: str) -> Answer:
    order = find_order_vlmevalkit(reply)
    return ParsedAnswer(order, "vlmevalkit: order") if order else Unparsed()


BENCHMARK = Declaration(
    name="lego-puzzles",
    version="10",
    title="LEGO-Puzzles, spatial steps and their order",
    paper="https://arxiv.org/abs/2503.19990",
    provenance="LEGO-Puzzles of its authors, as VLMEvalKit's TSV",
    data=single_tsv("https://opencompass.openxlab.space/utils/VLMEval/LEGO.tsv", "cfa845764442ebd54afa369c26011b8e"),
    aliases={"LEGO": {}},
    adjust=_ask_for_order,
    scoring=RuleScoring(
        rules=own_and_vlmevalkit(OpenScoring(_parse_order, is_gold), OpenScoring(_parse_order_vlmevalkit, is_gold))
    ),
)
