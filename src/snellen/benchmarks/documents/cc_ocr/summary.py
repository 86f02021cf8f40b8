"""The mean of CC-OCR's four tracks, each the mean of its subsets (Yang et al. 2024, Table 3)."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence

from msgspec import structs

from snellen.benchmarks.documents.cc_ocr.grading import compare_fields, compare_tokens
from snellen.benchmarks.documents.cc_ocr.subsets import DOCUMENTS, FIELDS, SUBSET, SUBSET_COUNT, TASK, TRACK
from snellen.benchmarks.protocol.parsers import VLMEVALKIT
from snellen.benchmarks.protocol.summary_context import SummaryContext
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Metric, Summary
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import RatioTerm, metric_of_sums, sum_of_ratios

HEADLINE = "mean_of_tracks"
MICRO_F1 = "micro_f1"
"""Grouping: F1 over all words or fields of a subset rather than the mean over pictures."""

Terms = Sequence[Sequence[RatioTerm]]
Weights = Callable[[Sequence[str]], Mapping[str, float]]


def summarise_tracks(context: SummaryContext, records: Sequence[Record]) -> Summary:
    """The mean of the tracks, with the tracks and subsets as groups."""
    summary = context.plain(records)
    if summary.headline.value is None:
        headline = structs.replace(summary.headline, name=HEADLINE)
        return structs.replace(summary, headline=headline)
    terms = _terms(context, records)
    subsets = _metrics_by(_subset, terms, records)
    groups = {
        TRACK: _metrics_by(_track, terms, records),
        SUBSET: subsets,
        MICRO_F1: _metrics_by(_subset, _micro_terms(context, records), records),
    }
    note = f"of {len(subsets)} of {SUBSET_COUNT} subsets" if len(subsets) < SUBSET_COUNT else ""
    headline = structs.replace(_metric(HEADLINE, terms, records), note=note)
    kept = {name: cells for name, cells in summary.groups.items() if name not in (TASK, *groups)}
    return structs.replace(
        summary,
        headline=headline,
        metrics={HEADLINE: headline, **summary.metrics},
        groups={**kept, **{name: cells for name, cells in groups.items() if cells}},
        bounds=None,
    )


def track_sums(context: SummaryContext, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of the tracks as a function of sums over the subsets' pictures or fields."""
    return _sums(_terms(context, records), records)


def _terms(context: SummaryContext, records: Sequence[Record]) -> Terms:
    """What each picture adds to its subset: its score; its fields where F1 counts all fields."""
    return [
        []
        if (score := counted_score(record, context.failures)) is None
        else [
            _field_term(record)
            if context.rule != VLMEVALKIT and _track(record) == FIELDS
            else RatioTerm(_subset(record), score)
        ]
        for record in records
    ]


def _micro_terms(context: SummaryContext, records: Sequence[Record]) -> Terms:
    """What each picture adds to the F1 over all words or fields of its subset."""
    return [
        []
        if counted_score(record, context.failures) is None or _track(record) == DOCUMENTS
        else [_field_term(record) if _track(record) == FIELDS else _word_term(record)]
        for record in records
    ]


def _field_term(record: Record) -> RatioTerm:
    right, wrong = compare_fields(record.answer or "", record.gold[0])
    return RatioTerm(_subset(record), right, right + wrong / 2)


def _word_term(record: Record) -> RatioTerm:
    common, in_reply, gold = compare_tokens(record.answer or "", record.gold[0], _subset(record))
    return RatioTerm(_subset(record), 2 * common, in_reply + gold)


def _sums(terms: Terms, records: Sequence[Record]) -> HeadlineSums | None:
    """The mean of tracks' means of subsets, over the tracks and subsets that have terms."""
    subsets: dict[str, set[str]] = defaultdict(set)
    for record, of_record in zip(records, terms, strict=True):
        for term in of_record:
            subsets[_track(record)].add(term.ratio)
    weights = {name: 100 / len(subsets) / len(names) for names in subsets.values() for name in names}
    return sum_of_ratios(terms, weights, strata=[_subset(record) for record in records])


def _metric(name: str, terms: Terms, records: Sequence[Record]) -> Metric:
    return metric_of_sums(name, _sums(terms, records), sum(map(bool, terms)), records)


def _metrics_by(label: Callable[[Record], str], terms: Terms, records: Sequence[Record]) -> dict[str, Metric]:
    """The metric of the records of each label that have terms."""
    cells: dict[str, list[int]] = defaultdict(list)
    for index, record in enumerate(records):
        if terms[index]:
            cells[label(record)].append(index)
    return {
        name: _metric(HEADLINE, [terms[index] for index in rows], [records[index] for index in rows])
        for name, rows in sorted(cells.items())
    }


def _track(record: Record) -> str:
    return record.groups[TRACK]


def _subset(record: Record) -> str:
    return record.groups[SUBSET]
