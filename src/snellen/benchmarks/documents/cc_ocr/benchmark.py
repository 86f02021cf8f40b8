"""CC-OCR: reading texts, documents and forms, in 39 subsets of four tracks (Yang et al. 2024,
https://arxiv.org/abs/2412.02210).

A row of this form (made up): index 0, question "Please output only the text content from the
image ...", answer "OPEN 24 HOURS", category "multi_scene_ocr", l2-category "scene_text", split
"IC15", image_name "img_1.jpg", image <base64>. The tracks: scene text, texts in ten languages,
documents (as LaTeX, HTML tables, formulas, SMILES) and key information (as JSON).

Texts are compared as multisets of words, or of characters where words are not parted by blanks:
the mean F1 over pictures, with the F1 over all words beside it (`micro_f1`). Documents, formulas
and molecules count by edit distance, tables by TEDS, key information by the F1 of all fields of a
subset. The headline is the mean of the tracks, each the plain mean of its subsets, as the authors
report it; of a part alone it is the mean of what is there.

The authors changed how documents and tables are taken out of a reply in April 2025; VLMEvalKit has
the earlier rules, by which all blanks are dropped, also in tags, and compares key information as
trees (`--rule vlmevalkit`). Snellen's rule is the authors' of today, without what a model thinks
first. Tables and trees need the packages of the extra `documents`.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from msgspec import structs

from snellen.benchmarks.declaration.declaration import Declaration, Headline
from snellen.benchmarks.declaration.open_questions import BARE, open_answers, open_rules
from snellen.benchmarks.declaration.published import Published
from snellen.benchmarks.documents.cc_ocr.grading import (
    DOCUMENT_TASKS,
    compare_fields,
    compare_tokens,
    grade_as_vlmevalkit,
    grade_transcript,
)
from snellen.benchmarks.documents.cc_ocr.subsets import (
    ALL,
    DOCUMENTS,
    FIELDS,
    PART,
    PARTS,
    SUBSET,
    SUBSET_COUNT,
    TASK,
    TRACK,
    TRACKS,
    names_elsewhere,
    subset_files,
)
from snellen.benchmarks.protocol.parsers import OFFICIAL, VLMEVALKIT
from snellen.core.benchmark import Variant
from snellen.core.errors import DataError
from snellen.core.record import Record
from snellen.core.sample import Row, Sample
from snellen.core.summary import HeadlineSums, Metric, Summary, SummaryContext
from snellen.data.columns import gold_column
from snellen.extract.open_text import parse_whole
from snellen.scoring.accuracy import counted_score
from snellen.scoring.headlines import RatioTerm, metric_of_sums, sum_of_ratios
from snellen.scoring.pages.teds import check_tree_packages

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


_MAX_NEW_TOKENS = 4096
"""Pages of dense text are long."""
_TABLES = f"{DOCUMENTS}/table/"


def _adjust(sample: Sample, row: Row) -> Sample:
    """Group by track, task and subset, and keep the gold as one text, whatever it looks like.
    Raises DataError for a row of no known track or task."""
    track, task = sample.groups.get(TRACK, ""), sample.groups.get(TASK, "")
    if track not in TRACKS or (track == DOCUMENTS and task not in DOCUMENT_TASKS):
        known = (TASK, task, DOCUMENT_TASKS) if track == DOCUMENTS else (TRACK, track, TRACKS)
        column, value, values = known
        raise DataError(f"the column {column} is {value!r}; expected one of {', '.join(values)}, as in CCOCR.tsv")
    subset = f"{track}/{sample.groups.get('split', '')}"
    column = gold_column(row.cells) or ""
    gold = row.cells.get(column, "")
    return structs.replace(
        sample,
        gold=(gold,) if gold else (),
        groups={TRACK: track, TASK: task, SUBSET: subset},
        unit=f"{subset}/{row.cells.get('image_name', sample.id)}",
    )


def _check_packages(declaration: Declaration, variant: Variant) -> Declaration:
    """Without the check for packages where the part and the rule compare no trees."""
    part = variant.options.get(PART, ALL)
    fields = variant.rule == VLMEVALKIT and part.startswith(FIELDS)
    needed = fields or part in (ALL, DOCUMENTS) or part.startswith(_TABLES)
    return declaration if needed else replace(declaration, check=None)


BENCHMARK = Declaration(
    name="cc-ocr",
    version="1",
    title="CC-OCR, texts, documents and forms",
    paper="https://arxiv.org/abs/2412.02210",
    provenance="CC-OCR (MIT), its authors' and VLMEvalKit's TSV files",
    data=Published({PART: PARTS}, subset_files()),
    aliases=names_elsewhere(),
    group_by=(TRACK, TASK, "split"),
    adjust=_adjust,
    template=BARE,
    max_new_tokens=_MAX_NEW_TOKENS,
    scoring=open_answers("score", open_rules(grade_transcript, vlmevalkit=grade_as_vlmevalkit, parse=parse_whole)),
    headline=Headline(name=HEADLINE, summarise=summarise_tracks, sums=track_sums),
    counts_missing=(OFFICIAL,),
    for_variant=_check_packages,
    check=check_tree_packages,
)
