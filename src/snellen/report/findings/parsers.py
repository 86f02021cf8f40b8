"""Findings about how well replies are parsed."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from snellen.analysis.parsing.labelled_replies import LabelComparison, ParserAgreement
from snellen.analysis.parsing.parsing_quality import (
    LABELS,
    ParsingQuality,
    ReplyShare,
    RuleParseCounts,
    ScoreError,
    extend_interval,
    largest_set,
    run_score_error,
    score_error,
)
from snellen.analysis.parsing.unread_replies import ExtractorAgreement
from snellen.core.run import Report
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.document import Cell, Column, Document, Table, table_of, titled_document
from snellen.report.format import percent, percent_interval


def parser_quality(
    qualities: Sequence[ParsingQuality], agreements: Sequence[ExtractorAgreement] = (), runs: Sequence[str] = ()
) -> Document:
    """Precision and recall of parsing rules and extractors, the error they cause in a score, and
    the agreement of extractors with people, one for each of the `runs`."""
    sets = dict.fromkeys(quality.labelled_by for quality in qualities)
    tables = [_quality_table(qualities)]
    by_system = [quality for quality in qualities if quality.precision.by_system and quality.recall.by_system]
    if by_system:
        tables.append(_systems_table(by_system))
    if agreements:
        tables.append(_agreement_table(agreements, runs))
    notices = [LABELS[name] for name in sets if name in LABELS]
    return titled_document("replies read as they were labelled", tables, notices)


_PARSER_COLUMNS: list[tuple[Column, Callable[[ParsingQuality], Cell]]] = [
    (Column("reader"), lambda quality: quality.reader),
    (Column("kind"), lambda quality: quality.kind.replace("_", "/")),
    (Column("labelled by"), lambda quality: quality.labelled_by),
]


def _quality_table(qualities: Sequence[ParsingQuality]) -> Table:
    return table_of(
        "",
        qualities,
        [
            *_PARSER_COLUMNS,
            (Column("replies", "count"), lambda quality: quality.replies),
            (Column("precision", "points"), lambda quality: percent(quality.precision.value)),
            (Column("of precision, 95 %", "points"), lambda quality: percent_interval(quality.precision.interval)),
            (Column("recall", "points"), lambda quality: percent(quality.recall.value)),
            (Column("of recall, 95 %", "points"), lambda quality: percent_interval(quality.recall.interval)),
            (Column("error down", "signed"), lambda quality: -score_error(quality).down),
            (Column("error up", "signed"), lambda quality: score_error(quality).up),
        ],
    )


def _systems_table(qualities: Sequence[ParsingQuality]) -> Table:
    def end(shares: tuple[float, float] | None, which: int) -> float | None:
        return None if shares is None else 100 * shares[which]

    return table_of(
        "the lowest and the highest of any system",
        qualities,
        [
            *_PARSER_COLUMNS,
            (Column("systems", "count"), lambda quality: len(quality.systems)),
            (Column("precision from", "points"), lambda quality: end(quality.precision.by_system, 0)),
            (Column("precision to", "points"), lambda quality: end(quality.precision.by_system, 1)),
            (Column("recall from", "points"), lambda quality: end(quality.recall.by_system, 0)),
            (Column("recall to", "points"), lambda quality: end(quality.recall.by_system, 1)),
        ],
    )


def _agreement_table(agreements: Sequence[ExtractorAgreement], runs: Sequence[str]) -> Table:
    return table_of(
        "labelled replies that are read as people do",
        zip(agreements, runs, strict=True),
        [
            (Column("reader"), lambda row: row[0].extractor),
            (Column("run", "name"), lambda row: row[1]),
            (Column("labelled", "count"), lambda row: row[0].labelled),
            (Column("as people", "share"), lambda row: row[0].share),
            (Column("95 % interval", "share"), lambda row: row[0].interval),
        ],
    )


def labelled_replies(readings: LabelComparison) -> Document:
    """How each parser read labelled replies: precision, recall and agreement, in all and by
    outcome."""
    answers = readings.meaning == "answer"
    by_outcome = table_of(
        "by outcome",
        readings.by_outcome,
        [
            (Column("reader"), lambda entry: entry.parser),
            (Column("outcome"), lambda entry: entry.outcome),
            (Column("replies", "count"), lambda entry: entry.replies),
            (Column("an answer by label" if answers else "right by label", "count"), lambda entry: entry.with_answer),
            (Column("as labelled", "count"), lambda entry: entry.agreeing),
        ],
    )
    title = "replies read" if answers else "replies counted right or wrong"
    return titled_document(
        f"{title} as they were labelled, {fmt.plural(readings.labelled_count, 'label')}",
        [_measures_table(readings.by_parser), by_outcome],
    )


def _measures_table(parsers: Sequence[ParserAgreement]) -> Table:
    """Precision, recall and agreement of each parser."""
    rows: list[Sequence[Cell]] = []
    for parser in parsers:
        for measure, hits, total, interval in (
            ("precision", parser.correct, parser.parsed, parser.precision),
            ("recall", parser.correct, parser.with_answer, parser.recall),
            ("agreement", parser.agreeing, parser.replies, parser.agreement),
        ):
            share = 100 * hits / total if total else None
            name = (parser.parser, parser.kind.replace("_", "/"), measure)
            rows.append((*name, share, percent_interval(interval), total))
    texts = map(Column, ("reader", "kind", "measure"))
    columns = (*texts, Column("share", "points"), Column("95 %", "points"), Column("replies", "count"))
    return Table("", columns, rows)


class ParsingErrorTerm(NamedTuple):
    """The headline's interval, widened by the possible error of parsing."""

    interval: Interval
    errors: ScoreError


def parsing_error_term(report: Report, replies: RuleParseCounts) -> ParsingErrorTerm | None:
    """None if the headline has no interval in percent, or if the parsing rules were never
    measured."""
    headline = report.summary.headline
    if headline.unit != "percent" or headline.value is None or headline.interval is None:
        return None
    errors = run_score_error(report.run.config.parameters, replies)
    return errors and ParsingErrorTerm(extend_interval(headline.interval, errors), errors)


def quality_lines(parsers: Iterable[str], kinds: Iterable[Kind]) -> Iterator[tuple[str, str]]:
    """Lines for a protocol card: how well the named parsers read questions of these kinds, each on
    the largest set of labelled replies."""
    for reader, kind in product(parsers, tuple(kinds)):
        quality = largest_set(reader, kind)
        if quality is not None:
            errors = score_error(quality)
            text = (
                f"precision {_share_text(quality.precision)}, recall {_share_text(quality.recall)} on "
                f"{fmt.count_text(quality.replies)} replies labelled by {quality.labelled_by}; "
                f"a score over such replies may be off by {fmt.difference_text(-errors.down)} to "
                f"{fmt.difference_text(errors.up)} points"
            )
            yield f"{quality.reader}, {quality.kind.replace('_', '/')}", text


def _share_text(share: ReplyShare) -> str:
    details = [] if share.interval is None else [fmt.interval_text(percent_interval(share.interval))]
    if share.by_system is not None:
        details.append(f"by system {'–'.join(fmt.score_text(100 * end) for end in share.by_system)}")
    return f"{fmt.score_text(percent(share.value))} ({'; '.join(details) or fmt.NONE})"
