"""Findings about how well replies are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import product
from typing import NamedTuple

from snellen.analysis.parsing.labelled_replies import Readings
from snellen.analysis.parsing.parsing_quality import (
    LABELS,
    Quality,
    RuleReadings,
    ScoreError,
    error_in_run,
    largest_set,
    score_error,
    widened,
)
from snellen.core.run import Report
from snellen.core.sample import Kind
from snellen.core.summary import Interval
from snellen.report import format as fmt
from snellen.report.findings.finding import Cell, Column, Finding, Grid, percent


def readers(found: Sequence[Quality]) -> Finding:
    """Precision and recall of readers, and the error they leave in a score."""
    rows: list[Sequence[Cell]] = []
    for one in found:
        errors = score_error(one)
        rows.append(
            (one.reader, one.kind.replace("_", "/"), one.labelled_by, one.replies,
             _hundred(one.precision), percent(one.precision_interval),
             _hundred(one.recall), percent(one.recall_interval),
             -errors.down, errors.up)
        )  # fmt: skip
    columns = (
        Column("reader"), Column("kind"), Column("labelled by"), Column("replies", "count"),
        Column("precision", "points"), Column("of precision, 95 %", "interval"),
        Column("recall", "points"), Column("of recall, 95 %", "interval"),
        Column("error down", "signed"), Column("error up", "signed"),
    )  # fmt: skip
    sets = dict.fromkeys(one.labelled_by for one in found)
    notices = [LABELS[name] for name in sets if name in LABELS]
    grids = [Grid("", columns, rows)]
    by_system = [
        (one.reader, one.kind.replace("_", "/"), one.labelled_by, len(one.systems),
         _hundred(precision[0]), _hundred(precision[1]), _hundred(recall[0]), _hundred(recall[1]))
        for one in found
        if (precision := one.precision_range) and (recall := one.recall_range)
    ]  # fmt: skip
    if by_system:
        heads = (
            Column("reader"), Column("kind"), Column("labelled by"), Column("systems", "count"),
            Column("precision from", "points"), Column("precision to", "points"),
            Column("recall from", "points"), Column("recall to", "points"),
        )  # fmt: skip
        grids.append(Grid("the lowest and the highest of any system", heads, by_system))
    return Finding("replies read as they were labelled", grids, notices)


def labelled(found: Readings) -> Finding:
    """Precision, recall and agreement of whoever read labelled replies, and the same by outcome."""
    answers = found.meaning == "answer"
    rows: list[Sequence[Cell]] = [
        (one.reader, one.kind.replace("_", "/"), measure, _hundred(share), percent(interval), of)
        for one in found.measured
        for measure, share, interval, of in (
            ("precision", one.right / one.read if one.read else None, one.precision, one.read),
            ("recall", one.right / one.meaning if one.meaning else None, one.recall, one.meaning),
            ("agreement", one.alike / one.replies, one.agreement, one.replies),
        )
    ]
    columns = (
        Column("reader"), Column("kind"), Column("measure"), Column("share", "points"),
        Column("95 %", "interval"), Column("replies", "count"),
    )  # fmt: skip
    endings: list[Sequence[Cell]] = [
        (one.reader, one.outcome, one.replies, one.meaning, one.alike) for one in found.endings
    ]
    by_outcome = (
        Column("reader"), Column("outcome"), Column("replies", "count"),
        Column("an answer by label" if answers else "right by label", "count"),
        Column("as labelled", "count"),
    )  # fmt: skip
    title = "replies read" if answers else "replies counted right or wrong"
    return Finding(
        f"{title} as they were labelled, {fmt.plural(found.labelled, 'label')}",
        (Grid("", columns, rows), Grid("by outcome", by_outcome, endings)),
    )


def _range(shares: tuple[float, float] | None) -> str:
    """The lowest and the highest share of any system, in percent."""
    if shares is None:
        return fmt.NONE
    return "–".join(fmt.points(100 * share) for share in shares)


def _hundred(share: float | None) -> float | None:
    return None if share is None else 100 * share


class ReadingTerm(NamedTuple):
    """The headline's interval widened by what the reading of replies may have done to it."""

    interval: Interval
    errors: ScoreError


def reading_term(report: Report, replies: RuleReadings) -> ReadingTerm | None:
    """None where the headline has no interval in percent, or the rules were never measured."""
    headline = report.summary.headline
    if headline.unit != "percent" or headline.value is None or headline.interval is None:
        return None
    errors = error_in_run(report.run.config.parameters, replies)
    return errors and ReadingTerm(widened(headline.interval, errors), errors)


def quality_lines(readers: Iterable[str], kinds: Iterable[Kind]) -> Iterator[tuple[str, str]]:
    """For a card: how well the named readers read questions of these kinds, each on the largest
    set of labelled replies."""
    for reader, kind in product(readers, tuple(kinds)):
        one = largest_set(reader, kind)
        if one is not None:
            errors = score_error(one)
            told = (
                f"precision {_with(one.precision, one.precision_interval, one.precision_range)}, "
                f"recall {_with(one.recall, one.recall_interval, one.recall_range)} on "
                f"{fmt.number(one.replies)} replies labelled by {one.labelled_by}; "
                f"a score over such replies may be off by {fmt.signed(-errors.down)} to "
                f"{fmt.signed(errors.up)} points"
            )
            yield f"{one.reader}, {one.kind.replace('_', '/')}", told


def _with(
    share: float | None, interval: Interval | None, systems: tuple[float, float] | None
) -> str:
    beside = [] if interval is None else [fmt.span(percent(interval))]
    if systems is not None:
        beside.append(f"by system {_range(systems)}")
    return f"{fmt.points(_hundred(share))} ({'; '.join(beside) or fmt.NONE})"
