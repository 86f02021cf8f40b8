"""OCRBench: reading text of ten kinds (Liu et al. 2023, https://arxiv.org/abs/2305.07895).

One example row: index 0, question "what is written in the image?", answer "['CENTRE']", category
"Regular Text Recognition", image <base64>. The authors' JSON calls the columns answers and type.

Oddities: 1,000 questions, so that the number of right answers is the published score of 0 to 1000
(`final_score`; the headline is the same in percent). 300 are of six kinds of recognition, 200 each
of scene text, documents and key information, 100 are handwritten expressions.

Our rule is the authors' (Sec. 3): the gold must stand in the reply. Text is compared in lower case
with line breaks as blanks; mathematical expressions in their own case without blanks. So long
replies are favoured, and one that transcribes the whole picture is right. lmms-eval folds
full-width letters besides.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.published import single_tsv
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.core.summary import Metric, Summary, SummaryContext
from snellen.extract.open_text import parse_whole

EXPRESSIONS = "Handwritten Mathematical Expression Recognition"
"""The category whose golds are LaTeX; the authors' file calls the data set `HME100k`."""
FINAL = "final_score"
_KIND_COLUMNS = ("category", "type", "question_type", "dataset")
_EXPRESSIONS = frozenset({EXPRESSIONS, "HME100k"})
"""What the handwritten expressions are called as a kind, and as the data set they come from."""
_QUESTION_COUNT = 1000


def contains_a_gold(answer: str, golds: Sequence[str], *, expression: bool = False) -> bool:
    """Whether the answer contains a gold. An empty gold never matches."""
    form = _normalise_expression if expression else _normalise_text
    normalised = form(answer)
    return any(gold in normalised for gold in map(form, golds) if gold)


def _normalise_text(text: str) -> str:
    return text.lower().strip().replace("\n", " ")


def _normalise_expression(text: str) -> str:
    return text.strip().replace("\n", " ").replace(" ", "")


def _grade(answer: str, sample: Sample) -> float:
    kinds = [sample.groups[name] for name in _KIND_COLUMNS if name in sample.groups]
    return float(contains_a_gold(answer, sample.gold, expression=not _EXPRESSIONS.isdisjoint(kinds)))


def _summarise(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The number of right answers beside the accuracy, if all 1,000 were scored."""
    summary = context.plain(records)
    if summary.headline.value is None:
        return summary
    right = summary.headline.value / 100 * summary.n
    note = "" if summary.n == _QUESTION_COUNT else f"of {summary.n} questions, not {_QUESTION_COUNT}"
    spread = summary.headline.interval
    spread = spread and spread.scale(summary.n / 100)
    final = Metric(FINAL, right, summary.n, spread, note, "points", float(summary.n))
    return msgspec.structs.replace(summary, metrics={**summary.metrics, FINAL: final}, beside=(FINAL, *summary.beside))


BENCHMARK = Declaration(
    name="ocrbench",
    version="3",
    title="OCRBench, text of ten kinds",
    paper="https://arxiv.org/abs/2305.07895",
    provenance="OCRBench (MIT), as VLMEvalKit's TSV",
    data=single_tsv(
        "https://opencompass.openxlab.space/utils/VLMEval/OCRBench.tsv", "e953d98a987cc6e26ef717b61260b778"
    ),
    group_by=_KIND_COLUMNS,
    template=BARE,
    scoring=open_answers("accuracy", open_rules(_grade, parse=parse_whole)),
    headline=Headline(summarise=_summarise),
)
