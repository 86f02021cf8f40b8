"""Intervals of POPE's numbers. The tracks ask about the same images, whose questions are drawn
together."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.scoring.accuracy import cluster_samples
from snellen.scoring.headlines import mean_of_ratios
from snellen.scoring.yes_no import YesNoReply, confusion
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
