"""SEED-Bench's numbers: accuracy per dimension, and the averages of subparts, parts and levels.

A dimension that the model cannot take has no value, and neither has any average it belongs to.
A dimension of which at most half the answers are valid is marked `*` (SEED-Bench-H, Sec. 4.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import partial

from msgspec import structs

from snellen.benchmarks.protocol.ranking import SUM
from snellen.benchmarks.seedbench.image_answers import TEXT
from snellen.benchmarks.seedbench.levels import (
    Group,
    Level,
    Version,
    average,
    levels,
    of_version,
    parts,
    subparts,
)
from snellen.benchmarks.seedbench.rows import DIMENSION, DRAWN, MEDIA, PART, SUBPART
from snellen.core.headline import HeadlineSums, SumsOf
from snellen.core.record import Record
from snellen.core.summary import Bounds, Metric, Summary
from snellen.scoring.accuracy import FailurePolicy, summarise
from snellen.scoring.clusters import clusters
from snellen.scoring.grouped import interval_of_mean, tallies, tiny_group
from snellen.scoring.headlines import mean_of_groups
from snellen.stats.stratified import Tally

LEVEL = "level"
_NO_VALUE = "no value"
MARK = "*"
"""At most half of a dimension's answers are valid."""


def headline_of(version: Version, level: Level) -> str:
    """Versions H and 2 are headed by a level's average over dimensions, as the paper ranks them;
    version 1 and 2-plus by accuracy over all questions, as their scores are published."""
    return level if version in ("H", "2") else "accuracy"


def summarise_seed(
    records: Sequence[Record],
    *,
    version: Version,
    level: Level,
    ranking: bool,
    failures: FailurePolicy,
) -> Summary:
    """Accuracy over questions, each dimension's accuracy, and the averages over dimensions.

    `ranking` says that answers were to be ranked: recorded letters are then named as what they
    are, since nobody knows how they were obtained.
    """
    linked = clusters(records)
    base = summarise(records, failures=failures, held=linked)
    asked = of_version(version)
    cells = _dimensions(records, base, version)
    sums = tallies(records, DIMENSION, failures, linked)
    averages = {
        LEVEL: [group for group in levels(asked) if group.name <= level],
        PART: parts([one for one in asked if one.level <= level]),
        SUBPART: subparts([one for one in asked if one.level <= level]),
    }
    groups = {
        column: {group.name: _mean(group, cells, sums) for group in found}
        for column, found in averages.items()
    }
    known = bool(cells)
    metrics = dict(base.metrics)
    if known:
        metrics |= groups[LEVEL]
        metrics |= {name: one for name, one in groups[PART].items() if name != "part-1"}
    metrics |= base.groups.get(MEDIA, {})
    head = headline_of(version, level)
    headline = metrics.get(head) or Metric(
        head, None, 0, note="the questions' dimensions are unknown"
    )
    rest = {
        column: labels
        for column, labels in base.groups.items()
        if column not in (DIMENSION, PART, SUBPART)
    }
    shown = {**groups, DIMENSION: cells} if known else {}
    level_group = next((one for one in averages[LEVEL] if one.name == head), None)
    absent = (f"{head} has {headline.note}",) if headline.note.startswith(_NO_VALUE) else ()
    members = level_group.members if level_group and headline.value is not None else ()
    tiny = tiny_group({name: sums[name] for name in members})
    return structs.replace(
        base,
        headline=headline,
        metrics={head: headline, **metrics},
        groups={**shown, **rest},
        bounds=_bounds(records, level_group) if level_group and base.bounds else base.bounds,
        notices=(
            *base.notices,
            *absent,
            *tiny,
            *_marked(cells),
            *(_letters(records) if ranking else ()),
        ),
    )


def headline_sums(version: Version, level: Level, failures: FailurePolicy) -> SumsOf | None:
    """The level's average as a function of sums; None for the versions headed by accuracy."""
    head = headline_of(version, level)
    group = next((one for one in levels(of_version(version)) if one.name == head), None)
    return group and partial(_sums, group, failures)


def _sums(group: Group, failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    def dimension(record: Record) -> str | None:
        name = record.groups.get(DIMENSION)
        return name if name in group.members else None

    found = mean_of_groups(records, dimension, failures)
    return found if found and found.rows.shape[1] == 2 * len(group.members) else None


def _dimensions(records: Sequence[Record], base: Summary, version: Version) -> dict[str, Metric]:
    """Every dimension that was asked, in the paper's order, with what was not valid in it."""
    by_name: dict[str, list[Record]] = {}
    for record in records:
        if DIMENSION in record.groups:
            by_name.setdefault(record.groups[DIMENSION], []).append(record)
    scored = base.groups.get(DIMENSION, {})
    cells = {}
    for one in of_version(version):
        if one.name in by_name:
            metric = scored.get(one.name) or Metric(base.headline.name, None, 0)
            cells[one.name] = structs.replace(metric, note=validity(by_name[one.name]))
    return cells


def validity(records: Sequence[Record]) -> str:
    """How many answers are valid and why the others are not; "" if all are.

    Begins with `*` where some are valid, but at most half.
    """
    valid = sum(record.outcome == "answered" for record in records)
    if valid == len(records):
        return ""
    reasons = Counter(
        record.failure or record.outcome for record in records if record.outcome != "answered"
    )
    listed = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in reasons.items())
    mark = f"{MARK} " if 0 < 2 * valid <= len(records) else ""
    return f"{mark}{valid} of {len(records)} answers valid: {listed}"


def _mean(group: Group, cells: Mapping[str, Metric], sums: Mapping[str, Tally]) -> Metric:
    values = {name: cell.value for name, cell in cells.items()}
    value = average(values, group.members)
    scored = sum(cells[name].n for name in group.members if name in cells)
    if value is None:
        absent = [name for name in group.members if values.get(name) is None]
        more = f" and {len(absent) - 1} more" if len(absent) > 1 else ""
        note = f"{_NO_VALUE}: none for {absent[0]}{more} of its {len(group.members)} dimensions"
        return Metric(group.name, None, scored, note=note)
    return Metric(
        group.name,
        value,
        scored,
        interval_of_mean([sums[name] for name in group.members]),
        note=f"mean of {len(group.members)} dimensions",
    )


def _bounds(records: Sequence[Record], group: Group) -> Bounds | None:
    """The level's average if what failed were wrong, and if it were right."""
    found = [_with_owed(records, group, right) for right in (0.0, 1.0)]
    if found[0] is None or found[1] is None:
        return None
    return Bounds(found[0], found[1])


def _with_owed(records: Sequence[Record], group: Group, owed: float) -> float | None:
    scores: dict[str, list[float]] = {}
    for record in records:
        if record.owed:
            scores.setdefault(record.groups.get(DIMENSION, ""), []).append(owed)
        elif record.score is not None:
            scores.setdefault(record.groups.get(DIMENSION, ""), []).append(record.score)
    means = {name: 100 * sum(found) / len(found) for name, found in scores.items()}
    return average(means, group.members)


def _marked(cells: Mapping[str, Metric]) -> list[str]:
    return [
        f"{name} {metric.note}" for name, metric in cells.items() if metric.note.startswith(MARK)
    ]


def _letters(records: Sequence[Record]) -> list[str]:
    answered = [record for record in records if record.outcome == "answered"]
    if not answered or any({SUM, TEXT} & set(record.values) for record in answered):
        return []
    if any(record.groups.get(SUBPART) == DRAWN for record in answered):
        return []
    return ["scored from recorded letters: whether they were ranked or generated is not known"]
