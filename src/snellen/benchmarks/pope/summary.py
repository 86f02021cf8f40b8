"""POPE's numbers: F1, precision, recall, accuracy and share of yes, by track and their mean."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from snellen.benchmarks.pope.intervals import MEAN, POOLED, Answering, Intervals, intervals
from snellen.benchmarks.protocol.reported_rules import SAYS_YES
from snellen.core.headline import HeadlineSums
from snellen.core.record import Record
from snellen.core.summary import Bounds, Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, count_outcomes, notices
from snellen.scoring.headlines import Share, sum_of_ratios
from snellen.scoring.yes_no import NO, YES, Confusion, Reply, confusion

TRACK = "category"
TRACKS = ("adversarial", "popular", "random")
HEADLINE = "f1"
_PARTS = ("accuracy", "precision", "recall", "yes_rate")


def tracks_of(cell: str) -> list[str]:
    """The tracks of a question: VLMEvalKit joins them by commas."""
    return [name for part in cell.split(",") if (name := part.strip().lower())]


def summarise_pope(
    records: Sequence[Record],
    *,
    reading: str,
    readings: Sequence[str],
    failures: FailurePolicy = "exclude",
) -> Summary:
    """Headline: the mean of the tracks' F1, in percent. A question of several tracks counts once
    in each. Data without tracks are one track."""
    by_track = _by_track(records)
    answering = _answers(reading, reading, failures)
    tables = _confusions(by_track, answering)
    scored = [record for record in records if answering(record) is not None]
    owed = any(record.owed for record in records)
    withheld = failures == "withhold" and owed
    spread = intervals(by_track, answering)
    metrics = dict(_means(tables, len(scored), spread))
    headline = Metric(
        HEADLINE,
        None if withheld else metrics[HEADLINE].value,
        len(scored),
        None if withheld else metrics[HEADLINE].interval,
        "withheld: samples failed or are missing" if withheld else _said(tables, reading),
    )
    others = {
        key: _mean_f1(key, by_track, _answers(name, ""), scored)
        for key, name in _other_readings(records, reading, readings)
    }
    pooled = _pooled(tables)
    told = Metric(POOLED, pooled.f1, pooled.n, spread.get((POOLED, MEAN)))
    always = _mean_f1(
        "always_yes", by_track, lambda one: Reply(one.gold[0], YES) if one.gold else None, scored
    )
    return Summary(
        headline=headline,
        metrics={
            **({} if withheld else metrics),
            HEADLINE: headline,
            **({} if withheld else others),
            **({} if withheld else {POOLED: told}),
            always.name: always,
        },
        groups={} if withheld else _groups(tables, spread),
        outcomes=count_outcomes(records),
        n=len(scored),
        total=len(records),
        no_gold=sum(record.unscored == "no_gold" for record in records),
        bounds=_bounds(by_track) if owed else None,
        notices=(*notices(records, failures), *_remarks(tables)),
        beside=("accuracy", "yes_rate"),
    )


def f1_sums(
    reading: str, failures: FailurePolicy, records: Sequence[Record]
) -> HeadlineSums | None:
    """The mean of the tracks' F1 as a function of sums: 2 TP over 2 TP + FP + FN of each."""
    answering = _answers(reading, reading, failures)
    added = []
    for record in records:
        reply = answering(record)
        one = confusion([reply] if reply else [])
        part = 2 * one.true_positive
        share = (part, part + one.false_positive + one.false_negative)
        added.append([Share(track, *share) for track in _tracks(record) if reply])
    return sum_of_ratios(added)


def _tracks(record: Record) -> list[str]:
    return tracks_of(record.groups.get(TRACK, "")) or ["all"]


def _by_track(records: Sequence[Record]) -> dict[str, list[Record]]:
    found: dict[str, list[Record]] = defaultdict(list)
    for record in records:
        for track in _tracks(record):
            found[track].append(record)
    return {name: found[name] for name in sorted(found)}


def _answers(name: str, reading: str, failures: FailurePolicy = "exclude") -> Answering:
    """By the reading `name`; `reading` is the one that decided the records' own answers."""

    def reply(record: Record) -> Reply | None:
        if not record.gold:
            return None
        if record.score is None:
            lost = record.owed and failures == "count-wrong"
            return Reply(record.gold[0], None) if lost else None
        if name == reading:
            return Reply(record.gold[0], record.answer)
        said = SAYS_YES.format(reading=name)
        if said not in record.values:
            return None
        if record.values[said] == 1.0:
            return Reply(record.gold[0], YES)
        read_no = record.values.get(name) == 1.0 or record.gold[0] == YES
        return Reply(record.gold[0], NO if read_no else None)

    return reply


def _other_readings(
    records: Sequence[Record], reading: str, readings: Sequence[str]
) -> Iterator[tuple[str, str]]:
    """Name of the metric, and the reading: the others, and with an LLM extractor also what the
    rule alone would give."""
    yield from ((f"f1_{name}", name) for name in readings if name != reading)
    if any("by_rules" in record.values for record in records):
        yield "by_rules", reading


def _confusions(
    by_track: Mapping[str, Sequence[Record]], answering: Answering
) -> dict[str, Confusion]:
    return {
        track: confusion(reply for one in members if (reply := answering(one)) is not None)
        for track, members in by_track.items()
    }


def _means(
    tables: Mapping[str, Confusion], n: int, spread: Intervals
) -> Iterator[tuple[str, Metric]]:
    counted = [table for table in tables.values() if table.n]
    for name in (HEADLINE, *_PARTS):
        values = [float(getattr(table, name)) for table in counted]
        if values:
            yield name, Metric(name, sum(values) / len(values), n, spread.get((name, MEAN)))
        else:
            yield name, Metric(name, None, 0, note="no sample could be scored")


def _mean_f1(
    name: str,
    by_track: Mapping[str, Sequence[Record]],
    answering: Answering,
    scored: Sequence[Record],
) -> Metric:
    tables = _confusions(by_track, answering)
    values = [table.f1 for table in tables.values() if table.n]
    spread = intervals(by_track, answering).get((HEADLINE, MEAN))
    return Metric(name, sum(values) / len(values) if values else None, len(scored), spread)


def _pooled(tables: Mapping[str, Confusion]) -> Confusion:
    return Confusion(*(sum(cells) for cells in zip(*tables.values(), strict=True)))


def _groups(tables: Mapping[str, Confusion], spread: Intervals) -> dict[str, dict[str, Metric]]:
    counted = {track: table for track, table in tables.items() if table.n}
    groups = {
        TRACK: {
            track: Metric(
                HEADLINE, table.f1, table.n, spread.get((HEADLINE, track)), _counts(table)
            )
            for track, table in counted.items()
        }
    }
    for name in _PARTS:
        groups[name] = {
            track: Metric(name, float(getattr(table, name)), table.n, spread.get((name, track)))
            for track, table in counted.items()
        }
    return groups if counted else {}


def _counts(table: Confusion) -> str:
    tp, fp, tn, fn, unread = table
    return f"TP {tp}, FP {fp}, TN {tn}, FN {fn}" + (f", unread no {unread}" if unread else "")


def _bounds(by_track: Mapping[str, Sequence[Record]]) -> Bounds:
    """The headline if every failed or missing sample were answered wrong, or right."""
    ends = []
    for right in (False, True):

        def answering(record: Record, right: bool = right) -> Reply | None:
            if not record.gold:
                return None
            if record.score is not None:
                return Reply(record.gold[0], record.answer)
            if not record.owed:
                return None
            other = NO if record.gold[0] == YES else YES
            return Reply(record.gold[0], record.gold[0] if right else other)

        values = [table.f1 for table in _confusions(by_track, answering).values() if table.n]
        ends.append(sum(values) / len(values) if values else 0.0)
    return Bounds(*ends)


def _said(tables: Mapping[str, Confusion], reading: str) -> str:
    tracks = [track for track, table in tables.items() if table.n]
    over = f"mean over {', '.join(tracks)}; " if len(tracks) > 1 else ""
    return f"{over}replies read by the {reading} reading"


def _remarks(tables: Mapping[str, Confusion]) -> Iterator[str]:
    absent = [track for track in TRACKS if track not in tables or not tables[track].n]
    if 0 < len(absent) < len(TRACKS):
        given = ", ".join(track for track in TRACKS if track not in absent)
        yield f"the mean F1 is over {given} alone: no sample of {', '.join(absent)}"
