"""Accuracy and F1 of MMLongBench-Doc (Ma et al. 2024, https://arxiv.org/abs/2407.01523, Sec. 3.1)
as sums over documents: a questions' score counts towards precision where the model answered, and
towards recall where there is an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec

from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.scoring.accuracy import counted_score, mean_metric
from snellen.scoring.document import NOT_ANSWERABLE
from snellen.scoring.headlines import headline_interval

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

FORMAT = "answer_format"
EVIDENCE = "evidence"
PAGE_COUNT = "pages"
F1 = "f1"
_COLUMN_COUNT = 4


def summarise_documents(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """F1 as headline, accuracy beside it; a question counts under each of its sources.

    By the authors' script (`--rule official`) an answer to an unanswerable question adds nothing
    to precision, whatever its similarity to "Not answerable" earned.
    """
    summary, by_script = context.plain(records), context.rule == "official"
    if summary.headline.value is None:
        headline = msgspec.structs.replace(summary.headline, name=F1)
        return msgspec.structs.replace(summary, headline=headline)
    counted = [(record, counted_score(record, context.failures)) for record in records]
    scored = [(record, score) for record, score in counted if score is not None]
    headline = Metric(
        F1,
        100 * f1([_counts(*one, by_script) for one in scored]),
        len(scored),
        headline_interval(f1_sums(context, records), records),
    )
    groups = {name: cells for name, cells in summary.groups.items() if name != EVIDENCE}
    by_source = _metrics_by_source(scored)
    return msgspec.structs.replace(
        summary,
        headline=headline,
        metrics={F1: headline, **summary.metrics},
        groups={**groups, **({EVIDENCE: by_source} if by_source else {})},
        bounds=None,
        beside=("accuracy", *summary.beside),
    )


def f1(rows: Sequence[Sequence[float]]) -> float:
    """Harmonic mean of precision and recall, 0..1, of rows of `_counts`."""
    sums = [sum(column) for column in zip(*rows, strict=True)] if rows else [0.0] * _COLUMN_COUNT
    precise, answered, recalled, answerable = sums
    precision = precise / answered if answered else 0.0
    recall = recalled / answerable if answerable else 0.0
    total = precision + recall
    return 2 * precision * recall / total if total else 0.0


def _counts(record: Record, score: float, by_script: bool) -> tuple[float, float, float, float]:
    """Score and count if the model answered, score and count if there is an answer."""
    answered = float(record.answer != NOT_ANSWERABLE)
    answerable = float(record.gold != (NOT_ANSWERABLE,))
    precise = answerable if by_script else answered
    return score * precise, answered, score * answerable, answerable


def f1_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """F1 as a function of sums, whose columns are those of `_counts`."""
    import numpy as np

    rows = np.zeros((len(records), _COLUMN_COUNT))
    for row, record in zip(rows, records, strict=True):
        score = counted_score(record, context.failures)
        if score is not None:
            row[:] = _counts(record, score, context.rule == "official")
    return HeadlineSums(rows, _f1_of_sums) if rows.any() else None


def _f1_of_sums(sums: NDArray[float64]) -> NDArray[float64]:
    """In percent, of sums (draws, 4): (draws,)."""
    import numpy as np

    wholes = sums[:, 1::2]
    shares = sums[:, 0::2] / np.where(wholes > 0, wholes, 1.0)
    total = shares.sum(axis=1)
    scores: NDArray[float64] = 200 * shares.prod(axis=1) / np.where(total > 0, total, 1.0)
    return scores


def _metrics_by_source(scored: Sequence[tuple[Record, float]]) -> dict[str, Metric]:
    cells: dict[str, list[tuple[float, str]]] = defaultdict(list)
    for record, score in scored:
        for source in filter(None, record.groups.get(EVIDENCE, "").split(",")):
            cells[source].append((score, record.unit))
    return {
        source: mean_metric("accuracy", [score for score, _ in cells[source]], [unit for _, unit in cells[source]])
        for source in sorted(cells)
    }
