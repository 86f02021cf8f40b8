"""Findings about how well replies are parsed."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from snellen.analysis.parsing.labelled_replies import LabelComparison
from snellen.analysis.parsing.parsing_quality import (
    LABELS,
    ParsingQuality,
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
from snellen.report.document import Document, titled_document
from snellen.report.format import percent_interval
from snellen.report.table import Cell, Column, Table


def parser_quality(
    qualities: Sequence[ParsingQuality], agreements: Sequence[ExtractorAgreement] = (), runs: Sequence[str] = ()
) -> Document:
    """Precision and recall of parsing rules and extractors, the error they cause in a score, and
    the agreement of extractors with people, one for each of the `runs`."""
    rows: list[Sequence[Cell]] = []
    for quality in qualities:
        errors = score_error(quality)
        rows.append(
            (
                quality.reader,
                quality.kind.replace("_", "/"),
                quality.labelled_by,
                quality.replies,
                _as_percent(quality.precision),
                percent_interval(quality.precision_interval),
                _as_percent(quality.recall),
                percent_interval(quality.recall_interval),
                -errors.down,
                errors.up,
            )
        )
    columns = (
        Column("reader"),
        Column("kind"),
        Column("labelled by"),
        Column("replies", "count"),
        Column("precision", "points"),
        Column("of precision, 95 %", "points"),
        Column("recall", "points"),
        Column("of recall, 95 %", "points"),
        Column("error down", "signed"),
        Column("error up", "signed"),
    )
    sets = dict.fromkeys(quality.labelled_by for quality in qualities)
    notices = [LABELS[name] for name in sets if name in LABELS]
    tables = [Table("", columns, rows)]
    by_system = [
        (
            quality.reader,
            quality.kind.replace("_", "/"),
            quality.labelled_by,
            len(quality.systems),
            _as_percent(precision[0]),
            _as_percent(precision[1]),
            _as_percent(recall[0]),
            _as_percent(recall[1]),
        )
        for quality in qualities
        if (precision := quality.precision_range) and (recall := quality.recall_range)
    ]
    if by_system:
        heads = (
            Column("reader"),
            Column("kind"),
            Column("labelled by"),
            Column("systems", "count"),
            Column("precision from", "points"),
            Column("precision to", "points"),
            Column("recall from", "points"),
            Column("recall to", "points"),
        )
        tables.append(Table("the lowest and the highest of any system", heads, by_system))
    if agreements:
        tables.append(_agreement_table(agreements, runs))
    return titled_document("replies read as they were labelled", tables, notices)


def _agreement_table(agreements: Sequence[ExtractorAgreement], runs: Sequence[str]) -> Table:
    columns = (
        Column("reader"),
        Column("run", "name"),
        Column("labelled", "count"),
        Column("as people", "share"),
        Column("95 % interval", "share"),
    )
    rows = [
        (one.extractor, run, one.labelled, one.share, one.interval) for one, run in zip(agreements, runs, strict=True)
    ]
    return Table("labelled replies that are read as people do", columns, rows)


def labelled_replies(readings: LabelComparison) -> Document:
    """How each parser read labelled replies: precision, recall and agreement, in all and by
    outcome."""
    answers = readings.meaning == "answer"
    rows: list[Sequence[Cell]] = [
        (parser.parser, parser.kind.replace("_", "/"), measure, _as_percent(share), percent_interval(interval), of)
        for parser in readings.by_parser
        for measure, share, interval, of in (
            ("precision", parser.correct / parser.parsed if parser.parsed else None, parser.precision, parser.parsed),
            (
                "recall",
                parser.correct / parser.with_answer if parser.with_answer else None,
                parser.recall,
                parser.with_answer,
            ),
            ("agreement", parser.agreeing / parser.replies, parser.agreement, parser.replies),
        )
    ]
    columns = (
        Column("reader"),
        Column("kind"),
        Column("measure"),
        Column("share", "points"),
        Column("95 %", "points"),
        Column("replies", "count"),
    )
    endings: list[Sequence[Cell]] = [
        (entry.parser, entry.outcome, entry.replies, entry.with_answer, entry.agreeing) for entry in readings.by_outcome
    ]
    by_outcome = (
        Column("reader"),
        Column("outcome"),
        Column("replies", "count"),
        Column("an answer by label" if answers else "right by label", "count"),
        Column("as labelled", "count"),
    )
    title = "replies read" if answers else "replies counted right or wrong"
    return titled_document(
        f"{title} as they were labelled, {fmt.plural(readings.labelled_count, 'label')}",
        (Table("", columns, rows), Table("by outcome", by_outcome, endings)),
    )


def _range(shares: tuple[float, float] | None) -> str:
    """The lowest and the highest value of any system, in percent."""
    if shares is None:
        return fmt.NONE
    return "–".join(fmt.score_text(100 * share) for share in shares)


def _as_percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


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
            precision = _with_interval(quality.precision, quality.precision_interval, quality.precision_range)
            recall = _with_interval(quality.recall, quality.recall_interval, quality.recall_range)
            text = (
                f"precision {precision}, recall {recall} on "
                f"{fmt.count_text(quality.replies)} replies labelled by {quality.labelled_by}; "
                f"a score over such replies may be off by {fmt.difference_text(-errors.down)} to "
                f"{fmt.difference_text(errors.up)} points"
            )
            yield f"{quality.reader}, {quality.kind.replace('_', '/')}", text


def _with_interval(share: float | None, interval: Interval | None, systems: tuple[float, float] | None) -> str:
    details = [] if interval is None else [fmt.interval_text(percent_interval(interval))]
    if systems is not None:
        details.append(f"by system {_range(systems)}")
    return f"{fmt.score_text(_as_percent(share))} ({'; '.join(details) or fmt.NONE})"
