"""Findings about how well replies are read."""

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
    """Precision and recall of readers, and the error they leave in a score."""
    rows: list[Sequence[Cell]] = []
    for one in qualities:
        errors = score_error(one)
        rows.append(
            (one.reader, one.kind.replace("_", "/"), one.labelled_by, one.replies,
             _as_percent(one.precision), percent_interval(one.precision_interval),
             _as_percent(one.recall), percent_interval(one.recall_interval),
             -errors.down, errors.up)
        )  # fmt: skip
    columns = (
        TableColumn("reader"), TableColumn("kind"), TableColumn("labelled by"), TableColumn("replies", "count"),
        TableColumn("precision", "points"), TableColumn("of precision, 95 %", "interval"),
        TableColumn("recall", "points"), TableColumn("of recall, 95 %", "interval"),
        TableColumn("error down", "signed"), TableColumn("error up", "signed"),
    )  # fmt: skip
    sets = dict.fromkeys(one.labelled_by for one in qualities)
    notices = [LABELS[name] for name in sets if name in LABELS]
    grids = [FindingTable("", columns, rows)]
    by_system = [
        (one.reader, one.kind.replace("_", "/"), one.labelled_by, len(one.systems),
         _as_percent(precision[0]), _as_percent(precision[1]), _as_percent(recall[0]), _as_percent(recall[1]))
        for one in qualities
        if (precision := one.precision_range) and (recall := one.recall_range)
    ]  # fmt: skip
    if by_system:
        heads = (
            TableColumn("reader"), TableColumn("kind"), TableColumn("labelled by"), TableColumn("systems", "count"),
            TableColumn("precision from", "points"), TableColumn("precision to", "points"),
            TableColumn("recall from", "points"), TableColumn("recall to", "points"),
        )  # fmt: skip
        grids.append(FindingTable("the lowest and the highest of any system", heads, by_system))
    return Finding("replies read as they were labelled", grids, notices)


def labelled_replies(readings: LabelComparison) -> Finding:
    """Precision, recall and agreement of whoever read labelled replies, and the same by outcome."""
    answers = readings.meaning == "answer"
    rows: list[Sequence[Cell]] = [
        (
            one.parser,
            one.kind.replace("_", "/"),
            measure,
            _as_percent(share),
            percent_interval(interval),
            of,
        )
        for one in readings.by_parser
        for measure, share, interval, of in (
            (
                "precision",
                one.correct / one.parsed if one.parsed else None,
                one.precision,
                one.parsed,
            ),
            (
                "recall",
                one.correct / one.with_answer if one.with_answer else None,
                one.recall,
                one.with_answer,
            ),
            ("agreement", one.agreeing / one.replies, one.agreement, one.replies),
        )
    ]
    columns = (
        TableColumn("reader"), TableColumn("kind"), TableColumn("measure"), TableColumn("share", "points"),
        TableColumn("95 %", "interval"), TableColumn("replies", "count"),
    )  # fmt: skip
    endings: list[Sequence[Cell]] = [
        (one.parser, one.outcome, one.replies, one.with_answer, one.agreeing)
        for one in readings.by_outcome
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
    """The lowest and the highest share of any system, in percent."""
    if shares is None:
        return fmt.NONE
    return "–".join(fmt.score_text(100 * share) for share in shares)


def _as_percent(fraction: float | None) -> float | None:
    return None if fraction is None else 100 * fraction


class ParsingErrorTerm(NamedTuple):
    """The headline's interval widened by what the reading of replies may have done to it."""

    interval: Interval
    errors: ScoreError


def parsing_error_term(report: Report, replies: RuleParseCounts) -> ParsingErrorTerm | None:
    """None where the headline has no interval in percent, or the rules were never measured."""
    headline = report.summary.headline
    if headline.unit != "percent" or headline.value is None or headline.interval is None:
        return None
    errors = run_score_error(report.run.config.parameters, replies)
    return errors and ParsingErrorTerm(extend_interval(headline.interval, errors), errors)


def quality_lines(parsers: Iterable[str], kinds: Iterable[Kind]) -> Iterator[tuple[str, str]]:
    """For a card: how well the named readers read questions of these kinds, each on the largest
    set of labelled replies."""
    for reader, kind in product(parsers, tuple(kinds)):
        one = largest_set(reader, kind)
        if one is not None:
            errors = score_error(one)
            told = (
                f"precision {_with_interval(one.precision, one.precision_interval, one.precision_range)}, "
                f"recall {_with_interval(one.recall, one.recall_interval, one.recall_range)} on "
                f"{fmt.count_text(one.replies)} replies labelled by {one.labelled_by}; "
                f"a score over such replies may be off by {fmt.difference_text(-errors.down)} to "
                f"{fmt.difference_text(errors.up)} points"
            )
            yield f"{one.reader}, {one.kind.replace('_', '/')}", told


def _with_interval(
    share: float | None, interval: Interval | None, systems: tuple[float, float] | None
) -> str:
    beside = [] if interval is None else [fmt.interval_text(percent_interval(interval))]
    if systems is not None:
        beside.append(f"by system {_range(systems)}")
    return f"{fmt.score_text(_as_percent(share))} ({'; '.join(beside) or fmt.NONE})"
