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
from snellen.core.run import Report
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.findings.finding import (
    Cell,
    Finding,
    FindingTable,
    TableColumn,
    percent_interval,
)


def parser_quality(qualities: Sequence[ParsingQuality]) -> Finding:
    """Precision and recall of parsing rules and extractors, and the error they cause in a score."""
    rows: list[Sequence[Cell]] = []
    for quality in qualities:
        errors = score_error(quality)
        rows.append(
            (quality.reader, quality.kind.replace("_", "/"), quality.labelled_by, quality.replies,
             _as_percent(quality.precision), percent_interval(quality.precision_interval),
             _as_percent(quality.recall), percent_interval(quality.recall_interval),
             -errors.down, errors.up)
        )  # fmt: skip
    columns = (
        TableColumn("reader"),
        TableColumn("kind"),
        TableColumn("labelled by"),
        TableColumn("replies", "count"),
        TableColumn("precision", "points"),
        TableColumn("of precision, 95 %", "interval"),
        TableColumn("recall", "points"),
        TableColumn("of recall, 95 %", "interval"),
        TableColumn("error down", "signed"),
        TableColumn("error up", "signed"),
    )
    sets = dict.fromkeys(quality.labelled_by for quality in qualities)
    notices = [LABELS[name] for name in sets if name in LABELS]
    tables = [FindingTable("", columns, rows)]
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
            TableColumn("reader"),
            TableColumn("kind"),
            TableColumn("labelled by"),
            TableColumn("systems", "count"),
            TableColumn("precision from", "points"),
            TableColumn("precision to", "points"),
            TableColumn("recall from", "points"),
            TableColumn("recall to", "points"),
        )
        tables.append(FindingTable("the lowest and the highest of any system", heads, by_system))
    return Finding("replies read as they were labelled", tables, notices)


def labelled_replies(readings: LabelComparison) -> Finding:
    """How each parser read labelled replies: precision, recall and agreement, in all and by
    outcome."""
    answers = readings.meaning == "answer"
    rows: list[Sequence[Cell]] = [
        (
            parser.parser,
            parser.kind.replace("_", "/"),
            measure,
            _as_percent(share),
            percent_interval(interval),
            of,
        )
        for parser in readings.by_parser
        for measure, share, interval, of in (
            (
                "precision",
                parser.correct / parser.parsed if parser.parsed else None,
                parser.precision,
                parser.parsed,
            ),
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
        TableColumn("reader"),
        TableColumn("kind"),
        TableColumn("measure"),
        TableColumn("share", "points"),
        TableColumn("95 %", "interval"),
        TableColumn("replies", "count"),
    )
    endings: list[Sequence[Cell]] = [
        (entry.parser, entry.outcome, entry.replies, entry.with_answer, entry.agreeing)
        for entry in readings.by_outcome
    ]
    by_outcome = (
        TableColumn("reader"), TableColumn("outcome"), TableColumn("replies", "count"),
        TableColumn("an answer by label" if answers else "right by label", "count"),
        TableColumn("as labelled", "count"),
    )  # fmt: skip
    title = "replies read" if answers else "replies counted right or wrong"
    return Finding(
        f"{title} as they were labelled, {fmt.plural(readings.labelled_count, 'label')}",
        (FindingTable("", columns, rows), FindingTable("by outcome", by_outcome, endings)),
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
            precision = _with_interval(
                quality.precision, quality.precision_interval, quality.precision_range
            )
            recall = _with_interval(quality.recall, quality.recall_interval, quality.recall_range)
            text = (
                f"precision {precision}, recall {recall} on "
                f"{fmt.count_text(quality.replies)} replies labelled by {quality.labelled_by}; "
                f"a score over such replies may be off by {fmt.difference_text(-errors.down)} to "
                f"{fmt.difference_text(errors.up)} points"
            )
            yield f"{quality.reader}, {quality.kind.replace('_', '/')}", text


def _with_interval(
    share: float | None, interval: Interval | None, systems: tuple[float, float] | None
) -> str:
    details = [] if interval is None else [fmt.interval_text(percent_interval(interval))]
    if systems is not None:
        details.append(f"by system {_range(systems)}")
    return f"{fmt.score_text(_as_percent(share))} ({'; '.join(details) or fmt.NONE})"
