"""Intervals of POPE's numbers: images are resampled with all their questions, because the tracks
ask about the same images."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.scoring.yes_no import Reply, confusion
from snellen.stats.resampling import percentile_interval, resampled_sums

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

MEAN, POOLED = "", "f1_pooled"
"""In place of a track: the mean over tracks. The F1 of all tracks' answers together."""
_CELLS = 5
"""Counts of a `Confusion`."""

Answering = Callable[[Record], Reply | None]
"""What a record answers to its gold; None where it does not count."""

Intervals = Mapping[tuple[str, str], Interval | None]
"""By the number's name and the track."""


def intervals(by_track: Mapping[str, Sequence[Record]], answering: Answering) -> Intervals:
    """Of every number of each track that has a sample which counts, of the mean over these tracks,
    and of the pooled F1; none for fewer than two images."""
    import numpy as np

    by_track = {
        track: counted
        for track, records in by_track.items()
        if (counted := [one for one in records if answering(one) is not None])
    }
    tracks = list(by_track)
    rows: dict[str, list[float]] = {}
    for at, track in enumerate(tracks):
        for record in by_track[track]:
            reply = answering(record)
            if reply is None:
                continue
            row = rows.setdefault(record.unit or record.id, [0.0] * (_CELLS * len(tracks)))
            for cell, count in enumerate(confusion([reply])):
                row[_CELLS * at + cell] += count
    if len(rows) < 2:
        return {}
    sums = resampled_sums(list(rows.values()), seed="pope")
    parts = [sums[:, _CELLS * at : _CELLS * (at + 1)] for at in range(len(tracks))]
    found = {(name, track): draws for track, part in zip(tracks, parts, strict=True)
             for name, draws in _numbers(part)}  # fmt: skip
    # A draw of images that a track does not ask about says nothing about that track.
    held = np.array([part.sum(axis=1) > 0 for part in parts], dtype=np.float64)
    for name, _ in _numbers(parts[0]):
        draws = np.array([found[name, track] for track in tracks])
        found[name, MEAN] = (draws * held).sum(axis=0) / np.maximum(held.sum(axis=0), 1)
    pooled: NDArray[float64] = np.sum(parts, axis=0)
    found[POOLED, MEAN] = dict(_numbers(pooled))["f1"]
    return {key: percentile_interval(draws) for key, draws in found.items()}


def _numbers(counts: NDArray[float64]) -> Iterator[tuple[str, NDArray[float64]]]:
    """Counts (draws, 5) in the order of `Confusion`, to its numbers in percent, (draws,)."""
    true_yes, false_yes, true_no, missed, _ = counts.T
    yes, every = true_yes + false_yes, counts.sum(axis=1)
    yield "f1", _share(2 * true_yes, 2 * true_yes + false_yes + missed)
    yield "accuracy", _share(true_yes + true_no, every)
    yield "precision", _share(true_yes, yes)
    yield "recall", _share(true_yes, true_yes + missed)
    yield "yes_rate", _share(yes, every)


def _share(part: NDArray[float64], whole: NDArray[float64]) -> NDArray[float64]:
    """0 where there is nothing to divide by, as in `Confusion`."""
    import numpy as np

    share: NDArray[float64] = np.where(whole > 0, 100 * part / np.maximum(whole, 1), 0.0)
    return share
