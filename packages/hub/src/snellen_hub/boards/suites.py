"""The board of a suite: models by benchmarks, their average and average rank.

As the OpenVLM leaderboard (VLMEvalKit, arXiv:2407.11691, Sec. 4), with weights where a suite has
them. A model without a number in some member has no average; the mean of what it has stands in a
column of its own, with a mark. Averages, ranks and tiers are computed from the displayed numbers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any, NamedTuple

from snellen.core.summary import Interval
from snellen.scoring.suites import SuiteRow, suite_rows, weighted_mean
from snellen.stats.averages import difference_of_averages
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.paired import PairedMean
from snellen_hub.boards.columns import (
    MODEL_COLUMNS,
    RANK,
    TIER,
    digits_of,
    mark_of,
    model_cells,
    number_cell,
    rank_rows,
)
from snellen_hub.boards.paired_scores import paired_tests
from snellen_hub.boards.published import PublishedScore
from snellen_hub.boards.suite_members import MemberColumn
from snellen_hub.boards.tables import EVIDENCE, BoardCell, BoardColumn, BoardTable, TableRow
from snellen_hub.boards.tiers import MOST_ROWS, table_with_tiers
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.public_scores import PublicNumber, PublicScore
from snellen_hub.storage import Storage

_ALL_MODEL_COLUMNS = tuple(column for column in MODEL_COLUMNS if column.key not in ("account", "published", "version"))


class SuiteColumn(NamedTuple):
    """A member with its benchmark and what is published there."""

    member: MemberColumn
    benchmark: HostedBenchmark
    published: Sequence[PublishedScore]


class _MemberNumber(NamedTuple):
    """The number of a model in a member, with the submission that it is of."""

    one: PublishedScore
    number: PublicNumber
    scale: float

    @property
    def percent(self) -> float | None:
        return None if self.number.value is None else self.scale * self.number.value

    @property
    def interval(self) -> Interval | None:
        low, high = self.number.low, self.number.high
        if low is None or high is None:
            return None
        return Interval(self.scale * low, self.scale * high, "displayed", DEFAULT_LEVEL)


Entries = Mapping[str, Mapping[str, _MemberNumber]]
"""By the model's name in lower case, then by the key of the member."""


def suite_table(title: str, columns: Sequence[SuiteColumn], storage: Storage) -> BoardTable:
    """The main table of a suite."""
    entries = _entries(columns)
    weights = {column.member.key: column.member.weight for column in columns}
    plain = {name: own for name, own in entries.items() if not _marked_keys(own)}
    # Marked models have averages, but no rank among the others.
    averages = _averages({name: own for name, own in entries.items() if name not in plain}, weights)
    averages = {name: row._replace(average_rank=None) for name, row in averages.items()} | _averages(plain, weights)
    rows = [_row(columns, own, averages.get(name)) for name, own in entries.items()]
    table = BoardTable(
        name="main",
        title=title,
        section="",
        columns=(RANK, *_average_columns(columns), TIER, *map(_member_column, columns), *_ALL_MODEL_COLUMNS),
        rows=tuple(rank_rows(rows, "average")),
        main="average",
        notices=tuple(_notices(columns, entries)),
        models=len(rows),
    )
    p_values, why = _paired_p_values(columns, plain, storage)
    return table_with_tiers(table, p_values, why=why)


def _entries(columns: Sequence[SuiteColumn]) -> Entries:
    entries: dict[str, dict[str, _MemberNumber]] = {}
    for column in columns:
        for one in sorted(column.published, key=_preference):
            number = metric_number(one.score, column.member.metric)
            if number is None or number.value is None:
                continue
            scale = column.member.scale
            if scale is None:
                scale = 100.0 / number.top
            own = entries.setdefault(" ".join(one.row.model.casefold().split()), {})
            own.setdefault(column.member.key, _MemberNumber(one, number, scale))
    return entries


def _preference(one: PublishedScore) -> tuple[bool, int, tuple[int, ...]]:
    """Of several submissions of a model: of the benchmark's protocol and version before others,
    then by evidence, then the latest."""
    latest_first = tuple(-ord(letter) for letter in one.row.published)
    return (bool(mark_of(one)), EVIDENCE.index(one.row.evidence), latest_first)


def metric_number(score: PublicScore, metric: str) -> PublicNumber | None:
    """The headline, or the metric or group of a name, as readers see it."""
    if not metric or metric == score.name:
        return score.headline
    if metric in score.metrics:
        return score.metrics[metric]
    return next((labels[metric] for labels in score.groups.values() if metric in labels), None)


def _row(columns: Sequence[SuiteColumn], own: Mapping[str, _MemberNumber], average: SuiteRow | None) -> TableRow:
    """The row of a model."""
    first = next(iter(own.values())).one.row
    facts: dict[str, Any] = {}
    for entry in own.values():
        for name, value in entry.one.row.facts.items():
            facts.setdefault(name, value)
    evidence = {entry.one.row.evidence for entry in own.values()}
    kind = evidence.pop() if len(evidence) == 1 else "mixed"
    cells = {key: number_cell(entry.number, mark_of(entry.one)) for key, entry in own.items()}
    described = model_cells(facts, evidence=kind)
    if average is not None and average.average is not None:
        described["average"] = _average_cell(average, own)
    if len(own) < len(columns):
        described["average-available"] = _available(own, columns)
    if average is not None and average.average_rank is not None:
        described["average-rank"] = BoardCell(average.average_rank)
    submissions = {
        column.member.benchmark: own[column.member.key].one.row.submission
        for column in columns
        if column.member.key in own
    }
    return TableRow(model=first.model, cells=cells | described, evidence=kind, facts=facts, submissions=submissions)


def _marked_keys(own: Mapping[str, _MemberNumber]) -> list[str]:
    return [key for key, entry in own.items() if mark_of(entry.one)]


def _averages(entries: Entries, weights: Mapping[str, float]) -> dict[str, SuiteRow]:
    """The averages of models, and their mean ranks among those that have every member."""
    intervals = {
        name: {key: ends for key, entry in own.items() if (ends := entry.interval) is not None}
        for name, own in entries.items()
    }
    values = {name: {key: entry.percent for key, entry in own.items()} for name, own in entries.items()}
    rows = suite_rows(list(weights), values, intervals=intervals, weights=weights)
    return {row.model: row for row in rows}


def _average_cell(row: SuiteRow, own: Mapping[str, _MemberNumber]) -> BoardCell:
    ends, marked = row.interval, ", ".join(_marked_keys(own))
    mark = f"holds numbers of another protocol or version: {marked}" if marked else ""
    if ends is None:
        return BoardCell(row.average, mark=mark)
    return BoardCell(row.average, ends.low, ends.high, mark=mark)


def _available(own: Mapping[str, _MemberNumber], columns: Sequence[SuiteColumn]) -> BoardCell:
    """The mean of the members that a model has, with a mark that says so."""
    weights = {column.member.key: column.member.weight for column in columns}
    values = {key: value for key, entry in own.items() if (value := entry.percent) is not None}
    missing = [column.benchmark.title for column in columns if column.member.key not in own]
    mark = f"mean of {len(values)} of {len(columns)} benchmarks; without {', '.join(missing)}"
    return BoardCell(weighted_mean(values, weights), mark=mark)


def _average_columns(columns: Sequence[SuiteColumn]) -> tuple[BoardColumn, ...]:
    weights = {column.member.weight for column in columns}
    what = "plain mean" if len(weights) == 1 else "weighted mean"
    return (
        BoardColumn(
            "average", "Average", unit="percent", note=f"{what} of all {len(columns)} benchmarks, each from 0 to 100"
        ),
        BoardColumn(
            "average-rank", "Average rank", "rank", note="mean of the ranks among the models that have every benchmark"
        ),
        BoardColumn(
            "average-available",
            "Average of what there is",
            unit="percent",
            note="of models that lack a benchmark; no two need be of the same ones",
            is_default=False,
        ),
    )


def member_scale(column: SuiteColumn) -> float:
    """What the numbers of a member are multiplied by to run from 0 to 100."""
    first = _first_number(column)
    return column.member.scale or (100.0 / first.top if first is not None else 1.0)


def _first_number(column: SuiteColumn) -> PublicNumber | None:
    numbers = (metric_number(one.score, column.member.metric) for one in column.published)
    return next((number for number in numbers if number is not None), None)


def _member_column(column: SuiteColumn) -> BoardColumn:
    member, first, scale = column.member, _first_number(column), member_scale(column)
    notes = [f"weight {member.weight:g}"] if member.weight != 1 else []
    if abs(scale - 1) > 1e-9:
        notes.append(f"counts times {scale:.4g} in the average")
    if member.metric:
        notes.append(member.metric)
    return BoardColumn(
        member.key,
        f"{column.benchmark.title} {member.metric}".strip(),
        unit=first.unit if first is not None else "percent",
        note="; ".join(notes),
        top=100.0 / scale,
        digits=digits_of(100.0 / scale),
    )


def _notices(columns: Sequence[SuiteColumn], entries: Entries) -> list[str]:
    notices = []
    incomplete = sum(len(own) < len(columns) for own in entries.values())
    if incomplete:
        notices.append(f"{incomplete} of {len(entries)} models lack a benchmark and have no average")
    numbers = sum(
        metric_number(one.score, column.member.metric) is not None
        for column in columns
        for one in column.published
        if one.score.headline.value is not None
    )
    if numbers > sum(map(len, entries.values())):
        notices.append(
            "of several submissions of a model to a benchmark, the latest counts; verified ones "
            "before submitted ones, and these before reported ones"
        )
    return notices


def _paired_p_values(
    columns: Sequence[SuiteColumn], entries: Entries, storage: Storage
) -> tuple[dict[tuple[str, str], float], str]:
    """p of the difference of the averages of two models, by their names in lower case; without
    any, why."""
    names = [name for name, own in entries.items() if len(own) == len(columns)][:MOST_ROWS]
    if any(column.member.metric for column in columns):
        return {}, "a benchmark counts by a metric that samples are not kept for"
    tested: list[Mapping[tuple[int, int], PairedMean]] = [
        paired_tests(storage, [entries[name][column.member.key].one for name in names]) for column in columns
    ]
    p_values = {}
    for first, second in combinations(range(len(names)), 2):
        parts = [tests.get((first, second)) for tests in tested]
        present = [part for part in parts if part is not None]
        if len(present) < len(columns):
            continue
        own = entries[names[first]]
        points = [
            column.member.weight * own[column.member.key].scale * own[column.member.key].number.top
            for column in columns
        ]
        p = difference_of_averages(present, points).p
        if p is not None:
            p_values[names[first], names[second]] = p
    return p_values, ""
