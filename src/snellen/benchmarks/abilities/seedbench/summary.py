"""SEED-Bench's numbers: accuracy per dimension, and the averages of subparts, parts and levels.

A dimension that the model cannot take has no value, and neither has any average it belongs to.
A dimension of which at most half the answers are valid is marked `*` (SEED-Bench-H, Sec. 4.1).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from functools import cache, partial

from msgspec import structs

from snellen.benchmarks.abilities.seedbench.image_answers import TEXT_ACCURACY
from snellen.benchmarks.abilities.seedbench.levels import (
    ASSUMED_FORM,
    CapabilityLevel,
    DimensionGroup,
    Version,
    dimension_by_name,
    dimensions_of_version,
    group_by_level,
    group_by_part,
    group_by_subpart,
)
from snellen.benchmarks.abilities.seedbench.rows import DIMENSION, DRAWN, MEDIA, PART, SUBPART
from snellen.benchmarks.declaration.hierarchy import Hierarchy
from snellen.benchmarks.protocol.ranking import SUM
from snellen.core.record import Record
from snellen.core.summary import Bounds, FailurePolicy, HeadlineSums, Metric, Summary, SumsOf
from snellen.scoring.accuracy import cluster_samples, summarise
from snellen.scoring.grouped import interval_of_mean, mean_of_all, small_group_notice, sums_by_label
from snellen.scoring.headlines import mean_of_groups
from snellen.stats.stratified import GroupSums

LEVEL = "level"
_NO_VALUE = "no value"
MARK = "*"
"""At most half of a dimension's answers are valid."""


def headline_name(version: Version, level: CapabilityLevel) -> str:
    """Versions H and 2 are headed by a level's average over dimensions, as the paper ranks them;
    version 1 and 2-plus by accuracy over all questions, as their scores are published."""
    return level if version in ("H", "2") else "accuracy"


def summarise_seed(
    records: Sequence[Record], *, version: Version, level: CapabilityLevel, ranking: bool, failures: FailurePolicy
) -> Summary:
    """Accuracy over questions, each dimension's accuracy, and the averages over dimensions.

    `ranking` says that answers were to be ranked: recorded letters are then named as what they
    are, since nobody knows how they were obtained.
    """
    cluster_ids = cluster_samples(records)
    base = summarise(records, failures=failures, cluster_ids=cluster_ids)
    dimensions = dimensions_of_version(version)
    metrics_by_dimension = _dimension_metrics(records, base, version)
    sums = sums_by_label(records, DIMENSION, failures, cluster_ids)
    averages = {
        LEVEL: [group for group in group_by_level(dimensions) if group.name <= level],
        PART: group_by_part([dimension for dimension in dimensions if dimension.level <= level]),
        SUBPART: group_by_subpart([dimension for dimension in dimensions if dimension.level <= level]),
    }
    groups = {
        column: {group.name: _group_mean(group, metrics_by_dimension, sums) for group in groups_of_column}
        for column, groups_of_column in averages.items()
    }
    has_dimensions = bool(metrics_by_dimension)
    metrics = dict(base.metrics)
    if has_dimensions:
        metrics |= groups[LEVEL]
        metrics |= {name: metric for name, metric in groups[PART].items() if name != "part-1"}
    metrics |= base.groups.get(MEDIA, {})
    head = headline_name(version, level)
    headline = metrics.get(head) or Metric(head, None, 0, note="the questions' dimensions are unknown")
    other_groups = {
        column: labels for column, labels in base.groups.items() if column not in (DIMENSION, PART, SUBPART)
    }
    known_groups = {**groups, DIMENSION: metrics_by_dimension} if has_dimensions else {}
    level_group = next((group for group in averages[LEVEL] if group.name == head), None)
    absent = (f"{head} has {headline.note}",) if headline.note.startswith(_NO_VALUE) else ()
    members = level_group.members if level_group and headline.value is not None else ()
    tiny = small_group_notice({name: sums[name] for name in members})
    return structs.replace(
        base,
        headline=headline,
        metrics={head: headline, **metrics},
        groups={**known_groups, **other_groups},
        bounds=_level_bounds(records, level_group) if level_group and base.bounds else base.bounds,
        notices=(
            *base.notices,
            *absent,
            *tiny,
            *(f"{name} {cell.note}" for name, cell in metrics_by_dimension.items() if cell.note.startswith(MARK)),
            *_form_notices(metrics_by_dimension),
            *(_letter_notices(records) if ranking else ()),
        ),
    )


def headline_sums(version: Version, level: CapabilityLevel, failures: FailurePolicy) -> SumsOf | None:
    """The level's average as a function of sums; None for the versions headed by accuracy."""
    head = headline_name(version, level)
    group = next(
        (dimension for dimension in group_by_level(dimensions_of_version(version)) if dimension.name == head), None
    )
    return group and partial(_level_sums, group, failures)


def _level_sums(group: DimensionGroup, failures: FailurePolicy, records: Sequence[Record]) -> HeadlineSums | None:
    def dimension(record: Record) -> str | None:
        name = record.groups.get(DIMENSION)
        return name if name in group.members else None

    sums = mean_of_groups(records, dimension, failures)
    return sums if sums and sums.rows.shape[1] == 2 * len(group.members) else None


def _dimension_metrics(records: Sequence[Record], base: Summary, version: Version) -> dict[str, Metric]:
    """Every dimension that was asked, in the paper's order, with what was not valid in it."""
    by_name: dict[str, list[Record]] = {}
    for record in records:
        if DIMENSION in record.groups:
            by_name.setdefault(record.groups[DIMENSION], []).append(record)
    scored = base.groups.get(DIMENSION, {})
    cells = {}
    for dimension in dimensions_of_version(version):
        if dimension.name in by_name:
            metric = scored.get(dimension.name) or Metric(base.headline.name, None, 0)
            cells[dimension.name] = structs.replace(metric, note=validity_note(by_name[dimension.name]))
    return cells


def validity_note(records: Sequence[Record]) -> str:
    """How many answers are valid and why the others are not; "" if all are.

    Begins with `*` where some are valid, but at most half.
    """
    valid = sum(record.outcome == "answered" for record in records)
    if valid == len(records):
        return ""
    reasons = Counter(record.failure or record.outcome for record in records if record.outcome != "answered")
    listed = ", ".join(f"{count} {reason.replace('_', ' ')}" for reason, count in reasons.items())
    mark = f"{MARK} " if 0 < 2 * valid <= len(records) else ""
    return f"{mark}{valid} of {len(records)} answers valid: {listed}"


def has_valid_answers(note: str) -> bool:
    """Whether a note of `validity_note` counts any valid answer."""
    return not note.startswith("0 of ")


def _group_mean(
    group: DimensionGroup, metrics_by_dimension: Mapping[str, Metric], sums: Mapping[str, GroupSums]
) -> Metric:
    """The mean over the dimensions of a group; without a value, and with a note, if a dimension has
    none."""
    values = {name: cell.value for name, cell in metrics_by_dimension.items()}
    value = mean_of_all(values, group.members)
    scored = sum(metrics_by_dimension[name].n for name in group.members if name in metrics_by_dimension)
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


def _level_bounds(records: Sequence[Record], group: DimensionGroup) -> Bounds | None:
    """The level's average if what failed were wrong, and if it were right."""
    averages = [_average_with_failures(records, group, right) for right in (0.0, 1.0)]
    if averages[0] is None or averages[1] is None:
        return None
    return Bounds(averages[0], averages[1])


def _average_with_failures(records: Sequence[Record], group: DimensionGroup, failed_score: float) -> float | None:
    scores: dict[str, list[float]] = {}
    for record in records:
        if record.is_retryable:
            scores.setdefault(record.groups.get(DIMENSION, ""), []).append(failed_score)
        elif record.score is not None:
            scores.setdefault(record.groups.get(DIMENSION, ""), []).append(record.score)
    means = {name: 100 * sum(values) / len(values) for name, values in scores.items()}
    return mean_of_all(means, group.members)


def _form_notices(metrics_by_dimension: Mapping[str, Metric]) -> list[str]:
    """A notice on the dimensions whose files had to be read without knowing their form."""
    names = [name for name in ASSUMED_FORM if name in metrics_by_dimension]
    if not names:
        return []
    return [
        f"{' and '.join(names)}: the form of the authors' files is not documented, they were read "
        "as those of the other dimensions; compare with the paper with care"
    ]


def _letter_notices(records: Sequence[Record]) -> list[str]:
    answered = [record for record in records if record.outcome == "answered"]
    if not answered or any({SUM, TEXT_ACCURACY} & set(record.values) for record in answered):
        return []
    if any(record.groups.get(SUBPART) == DRAWN for record in answered):
        return []
    return ["scored from recorded letters: whether they were ranked or generated is not known"]


@cache
def hierarchy() -> Hierarchy:
    """Levels, parts and subparts are plain means of dimensions, whose sizes the paper prints in a
    picture alone."""
    every = dimensions_of_version("H")
    larger = {LEVEL: group_by_level(every), PART: group_by_part(every), SUBPART: group_by_subpart(every)}
    return Hierarchy(
        DIMENSION,
        {dimension.name: 0 for dimension in every},
        {column: {group.name: group.members for group in groups} for column, groups in larger.items()},
        lambda name: found.name if (found := dimension_by_name(name)) else name,
    )
