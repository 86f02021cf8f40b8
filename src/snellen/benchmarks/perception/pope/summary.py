"""POPE's numbers: F1, precision, recall, accuracy and share of yes, by track and their mean.

Intervals are over images: the tracks ask about the same images, whose questions are drawn
together.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.benchmarks.protocol.reported_rules import YES_VALUE
from snellen.core.record import Record
from snellen.core.summary import Bounds, FailurePolicy, HeadlineSums, Interval, Metric, Summary
from snellen.scoring.accuracy import cluster_samples, count_outcomes, counts_wrong, score_notices
from snellen.scoring.headlines import RatioTerm, mean_of_ratios, sum_of_ratios
from snellen.scoring.yes_no import NO, YES, Confusion, YesNoReply, confusion
from snellen.stats.linearised import interval_of_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MEAN, POOLED = "", "f1_pooled"
"""In place of a track: the mean over tracks. The F1 of all tracks' answers together."""
_CELLS = 5
"""Counts of a `Confusion`."""

AnswerOf = Callable[[Record], YesNoReply | None]
"""What a record answers to its gold; None where it does not count."""

Intervals = Mapping[tuple[str, str], Interval | None]
"""By the number's name and the track."""


def compute_intervals(by_track: Mapping[str, Sequence[Record]], answer_of: AnswerOf) -> Intervals:
    """Of every number of each track that has a sample which counts, of the mean over these tracks,
    and of the pooled F1; None for fewer than two images."""
    import numpy as np

    records = {record.id: record for members in by_track.values() for record in members}
    index_of_id = {name: index for index, name in enumerate(records)}
    cells = np.zeros((len(by_track), len(records), _CELLS))
    for table, members in zip(cells, by_track.values(), strict=True):
        for record in members:
            reply = answer_of(record)
            if reply is not None:
                table[index_of_id[record.id]] += confusion([reply])
    cluster_ids = cluster_samples(list(records.values()))
    tables = {track: _track_ratios(counts) for track, counts in zip(by_track, cells, strict=True) if counts.any()}
    intervals: dict[tuple[str, str], Interval | None] = {}
    for track, numbers in tables.items():
        for name, ratio in numbers.items():
            intervals[name, track] = _ratio_interval([ratio], cluster_ids)
    if tables:
        for name in next(iter(tables.values())):
            intervals[name, MEAN] = _ratio_interval([ratios[name] for ratios in tables.values()], cluster_ids)
        intervals[POOLED, MEAN] = _ratio_interval([_track_ratios(cells.sum(axis=0))["f1"]], cluster_ids)
    return intervals


class _Ratio(NamedTuple):
    """What each sample adds to a numerator and a denominator."""

    numerator: NDArray[float64]
    denominator: NDArray[float64]


def _track_ratios(counts: NDArray[float64]) -> dict[str, _Ratio]:
    """The numbers of a track as ratios, of counts (samples, 5) in the order of `Confusion`."""
    true_yes, false_yes, true_no, missed, _ = counts.T
    total = counts.sum(axis=1)
    return {
        "f1": _Ratio(2 * true_yes, 2 * true_yes + false_yes + missed),
        "accuracy": _Ratio(true_yes + true_no, total),
        "precision": _Ratio(true_yes, true_yes + false_yes),
        "recall": _Ratio(true_yes, true_yes + missed),
        "yes_rate": _Ratio(true_yes + false_yes, total),
    }


def _ratio_interval(ratios: Sequence[_Ratio], cluster_ids: Sequence[str]) -> Interval | None:
    """Of the mean of ratios, in percent."""
    import numpy as np

    rows = np.stack([column for ratio in ratios for column in ratio], axis=1)
    return interval_of_sums(rows, mean_of_ratios, cluster_ids)


TRACK = "category"
TRACKS = ("adversarial", "popular", "random")
HEADLINE = "f1"
_NUMBERS = ("accuracy", "precision", "recall", "yes_rate")


def tracks_of(cell: str) -> list[str]:
    """The tracks of a question: VLMEvalKit joins them by commas."""
    return [name for part in cell.split(",") if (name := part.strip().lower())]


def summarise_pope(
    records: Sequence[Record], *, parsing_rule: str, parsing_rules: Sequence[str], failures: FailurePolicy = "exclude"
) -> Summary:
    """Headline: the mean of the tracks' F1, in percent. A question of several tracks counts once
    in each. Data without tracks are one track."""
    by_track = _group_by_track(records)
    answer_of = _answer_by_rule(parsing_rule, parsing_rule, failures)
    tables = _confusion_tables(by_track, answer_of)
    scored = [record for record in records if answer_of(record) is not None]
    owed = any(record.is_retryable for record in records)
    withheld = failures == "withhold" and owed
    intervals_by_number = compute_intervals(by_track, answer_of)
    metrics = dict(_mean_metrics(tables, len(scored), intervals_by_number))
    headline = Metric(
        HEADLINE,
        None if withheld else metrics[HEADLINE].value,
        len(scored),
        None if withheld else metrics[HEADLINE].interval,
        "withheld: samples failed or are missing" if withheld else _headline_note(tables, parsing_rule),
    )
    others = {
        key: _mean_f1_metric(key, by_track, _answer_by_rule(name, ""), scored)
        for key, name in _other_rules(records, parsing_rule, parsing_rules)
    }
    pooled = _pool_tables(tables)
    pooled_metric = Metric(POOLED, pooled.f1, pooled.n, intervals_by_number.get((POOLED, MEAN)))
    always = _mean_f1_metric(
        "always_yes", by_track, lambda one: YesNoReply(one.gold[0], YES) if one.gold else None, scored
    )
    return Summary(
        headline=headline,
        metrics={
            **({} if withheld else metrics),
            HEADLINE: headline,
            **({} if withheld else others),
            **({} if withheld else {POOLED: pooled_metric}),
            always.name: always,
        },
        groups={} if withheld else _group_metrics(tables, intervals_by_number),
        outcomes=count_outcomes(records),
        n=len(scored),
        total=len(records),
        no_gold=sum(record.unscored == "no_gold" for record in records),
        bounds=_bounds(by_track) if owed else None,
        notices=(*score_notices(records, failures), *_notices(tables)),
        beside=("accuracy", "yes_rate"),
    )


def f1_sums(
    parsing_rule: str, failures: FailurePolicy, records: Sequence[Record], *, pooled: bool = False
) -> HeadlineSums | None:
    """The mean of the tracks' F1 as a function of sums: 2 TP over 2 TP + FP + FN of each, or
    `pooled` of all tracks together."""
    answer_of = _answer_by_rule(parsing_rule, parsing_rule, failures)
    added = []
    for record in records:
        reply = answer_of(record)
        counts = confusion([reply] if reply else [])
        part = 2 * counts.true_positive
        share = (part, part + counts.false_positive + counts.false_negative)
        tracks = _tracks_of_record(record) if reply else []
        added.append([RatioTerm("" if pooled else track, *share) for track in tracks])
    return sum_of_ratios(added)


def _tracks_of_record(record: Record) -> list[str]:
    return tracks_of(record.groups.get(TRACK, "")) or ["all"]


def _group_by_track(records: Sequence[Record]) -> dict[str, list[Record]]:
    by_track: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        for track in _tracks_of_record(record):
            by_track[track].append(record)
    return {name: by_track[name] for name in sorted(by_track)}


def _answer_by_rule(name: str, parsing_rule: str, failures: FailurePolicy = "exclude") -> AnswerOf:
    """By the reading `name`; `parsing_rule` is the one that decided the records' own answers."""

    def reply(record: Record) -> YesNoReply | None:
        if not record.gold:
            return None
        if record.score is None:
            lost = counts_wrong(record.unscored, failures)
            return YesNoReply(record.gold[0], None) if lost else None
        if name == parsing_rule:
            return YesNoReply(record.gold[0], record.answer)
        yes_value = YES_VALUE.format(reading=name)
        if yes_value not in record.values:
            return None
        if record.values[yes_value] == 1.0:
            return YesNoReply(record.gold[0], YES)
        read_no = record.values.get(name) == 1.0 or record.gold[0] == YES
        return YesNoReply(record.gold[0], NO if read_no else None)

    return reply


def _other_rules(
    records: Sequence[Record], parsing_rule: str, parsing_rules: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Name of the metric, and the reading: the others, and with an LLM extractor also what the
    rule alone would give."""
    yield from ((f"f1_{name}", name) for name in parsing_rules if name != parsing_rule)
    if any("by_rules" in record.values for record in records):
        yield "by_rules", parsing_rule


def _confusion_tables(by_track: Mapping[str, Sequence[Record]], answer_of: AnswerOf) -> dict[str, Confusion]:
    return {
        track: confusion(reply for record in members if (reply := answer_of(record)) is not None)
        for track, members in by_track.items()
    }


def _mean_metrics(
    tables: Mapping[str, Confusion], n: int, intervals_by_number: Intervals
) -> Iterator[tuple[str, Metric]]:
    counted = [table for table in tables.values() if table.n]
    for name in (HEADLINE, *_NUMBERS):
        values = [float(getattr(table, name)) for table in counted]
        if values:
            yield (name, Metric(name, sum(values) / len(values), n, intervals_by_number.get((name, MEAN))))
        else:
            yield name, Metric(name, None, 0, note="no sample could be scored")


def _mean_f1_metric(
    name: str, by_track: Mapping[str, Sequence[Record]], answer_of: AnswerOf, scored: Sequence[Record]
) -> Metric:
    tables = _confusion_tables(by_track, answer_of)
    values = [table.f1 for table in tables.values() if table.n]
    spread = compute_intervals(by_track, answer_of).get((HEADLINE, MEAN))
    return Metric(name, sum(values) / len(values) if values else None, len(scored), spread)


def _pool_tables(tables: Mapping[str, Confusion]) -> Confusion:
    if not tables:
        return Confusion(0, 0, 0, 0)
    return Confusion(*(sum(cells) for cells in zip(*tables.values(), strict=True)))


def _group_metrics(tables: Mapping[str, Confusion], intervals_by_number: Intervals) -> dict[str, dict[str, Metric]]:
    """F1 with its counts, and the other numbers, by track."""
    counted = {track: table for track, table in tables.items() if table.n}
    groups = {
        TRACK: {
            track: Metric(HEADLINE, table.f1, table.n, intervals_by_number.get((HEADLINE, track)), _counts_text(table))
            for track, table in counted.items()
        }
    }
    for name in _NUMBERS:
        groups[name] = {
            track: Metric(name, float(getattr(table, name)), table.n, intervals_by_number.get((name, track)))
            for track, table in counted.items()
        }
    return groups if counted else {}


def _counts_text(table: Confusion) -> str:
    tp, fp, tn, fn, unread = table
    return f"TP {tp}, FP {fp}, TN {tn}, FN {fn}" + (f", unread no {unread}" if unread else "")


def _bounds(by_track: Mapping[str, Sequence[Record]]) -> Bounds:
    """The headline if every failed or missing sample were answered wrong, or right."""
    ends = []
    for right in (False, True):

        def answer_of(record: Record, right: bool = right) -> YesNoReply | None:
            if not record.gold:
                return None
            if record.score is not None:
                return YesNoReply(record.gold[0], record.answer)
            if not record.is_retryable:
                return None
            other = NO if record.gold[0] == YES else YES
            return YesNoReply(record.gold[0], record.gold[0] if right else other)

        values = [table.f1 for table in _confusion_tables(by_track, answer_of).values() if table.n]
        ends.append(sum(values) / len(values) if values else 0.0)
    return Bounds(*ends)


def _headline_note(tables: Mapping[str, Confusion], parsing_rule: str) -> str:
    tracks = [track for track, table in tables.items() if table.n]
    over = f"mean over {', '.join(tracks)}; " if len(tracks) > 1 else ""
    return f"{over}replies read by the {parsing_rule} reading"


def _notices(tables: Mapping[str, Confusion]) -> Iterator[str]:
    absent = [track for track in TRACKS if track not in tables or not tables[track].n]
    if 0 < len(absent) < len(TRACKS):
        present = ", ".join(track for track in TRACKS if track not in absent)
        yield f"the mean F1 is over {present} alone: no sample of {', '.join(absent)}"
