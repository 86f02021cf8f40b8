"""Scores of a run's questions in groups, and the share of each outcome."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec import Struct

from snellen.core.output import OUTCOMES, Outcome
from snellen.core.sample import Kind
from snellen.core.summary import Metric
from snellen.scoring.accuracy import mean_metric
from snellen.stats.intervals import wilson


class GroupedRecord(Struct, frozen=True, gc=False):
    """The fields of a record that are grouped."""

    kind: Kind
    outcome: Outcome
    score: float | None = None
    answer: str | None = None
    gold: tuple[str, ...] = ()
    groups: dict[str, str] = {}
    media: tuple[str, ...] = ()
    values: dict[str, float] = {}
    unit: str = ""


class ScoreGroups(NamedTuple):
    """The score of each group of a grouping, or with `is_share` the share of questions in it."""

    title: str
    rows: tuple[tuple[str, Metric], ...]
    is_share: bool = False


GroupOrder = Sequence[str] | int | None
"""The labels of a grouping in their order; how many of the most frequent ones it has; or None: sorted."""


def grouped_scores(
    name: str,
    records: Sequence[GroupedRecord],
    clusters: Sequence[str],
    labels: Iterable[Iterable[tuple[str, str]]],
    groupings: Mapping[str, GroupOrder],
) -> list[ScoreGroups]:
    """The mean scores of the groups of each grouping that has several; `labels` are, for each record,
    the titles of the groupings that it is in, each with its label there."""
    members: dict[str, dict[str, list[int]]] = defaultdict(lambda: defaultdict(list))
    for index, of_record in enumerate(labels):
        for title, label in of_record:
            members[title][label].append(index)

    def mean(indices: Sequence[int]) -> Metric:
        scores = [records[index].score or 0.0 for index in indices]
        return mean_metric(name, scores, [clusters[index] for index in indices])

    found = []
    for title, order in groupings.items():
        groups = members[title]
        if isinstance(order, int):
            order = sorted(groups, key=lambda label: (-len(groups[label]), label))[:order]
        if len(groups) > 1:
            shown = [label for label in order or sorted(groups) if label in groups]
            found.append(ScoreGroups(title, tuple((label, mean(groups[label])) for label in shown)))
    return found


def quarter_label(value: float, cuts: Sequence[float], bounds: Sequence[str]) -> str:
    """The quarter that a value is in, by the three cuts between quarters, which are called `bounds`."""
    number = sum(value > cut for cut in cuts)
    return f"quarter {number + 1}, {f'up to {bounds[number]}' if number < len(bounds) else f'above {bounds[-1]}'}"


def outcome_shares(records: Sequence[GroupedRecord]) -> ScoreGroups:
    """How the questions ended, in percent."""
    counts, n = Counter(each.outcome for each in records), len(records)
    rows = [
        (outcome, Metric("share", 100 * counts[outcome] / n, counts[outcome], wilson(counts[outcome], n).scale()))
        for outcome in OUTCOMES
        if counts[outcome]
    ]
    return ScoreGroups("outcome", tuple(rows), is_share=True)
