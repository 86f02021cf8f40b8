"""Headlines that are sums of shares and no means over samples: resampled image by image, for all
runs alike (MME, Sec. 2.2: accuracy plus accuracy+ of each subtask).

Subtasks are resampled apart, because their sizes are part of the benchmark's design; those that
have images in common are resampled together, an image with its questions in all of them.
"""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.aligned import Aligned
from snellen.benchmarks.mme_subtasks import SUBTASK, SUBTASKS
from snellen.core.summary import Interval, Unit
from snellen.scoring.yes_no import Judged, images
from snellen.stats.resampling import percentile_interval, seeded, stacked_sums
from snellen.stats.standing import Standing, ranks, standing_of

if TYPE_CHECKING:
    from numpy import float64, int64
    from numpy.typing import NDArray

_MME = "mme"
_DRAWS = 5_000


class Resampled(NamedTuple):
    """A percentile interval and a two-sided p-value of `value` being 0."""

    value: float
    interval: Interval | None
    p: float


class Composite(NamedTuple):
    """`strata` holds, for subtasks that share images, an array (clusters, subtasks, 4 * runs): of
    each run the questions it has right, the questions, the images with both right, and the images
    with two questions."""

    name: str
    unit: Unit
    runs: int
    strata: tuple[NDArray[float64], ...]

    def values(self) -> list[float]:
        """The headline of each run over the aligned samples."""
        found: list[float] = self._headlines(self._observed())[0].tolist()
        return found

    def difference(self, one: int, other: int, seed: str, level: float) -> Resampled:
        """Of the headlines, `other` less `one`, by a bootstrap over the images of each subtask."""
        import numpy as np

        values = self.values()
        observed = values[other] - values[one]
        drawn = self._drawn(seed)
        found = drawn[:, other] - drawn[:, one]
        as_far = int((np.abs(found - observed) >= abs(observed) - 1e-9).sum())
        interval = percentile_interval(found, level)
        return Resampled(observed, interval, (1 + as_far) / (1 + len(found)))

    def standings(self, seed: str, level: float) -> list[Standing]:
        import numpy as np

        return standing_of(ranks(np.array([self.values()]))[0], ranks(self._drawn(seed)), level)

    def _observed(self) -> list[NDArray[float64]]:
        return [one.sum(axis=0, keepdims=True) for one in self.strata]

    def _drawn(self, seed: str) -> NDArray[float64]:
        sums = []
        for at, one in enumerate(self.strata):
            drawn = stacked_sums(one.reshape(len(one), -1), seeded(f"{seed} {at}"), _DRAWS)
            sums.append(drawn.reshape(_DRAWS, *one.shape[1:]))
        return self._headlines(sums)

    def _headlines(self, sums: list[NDArray[float64]]) -> NDArray[float64]:
        """Sums (draws, subtasks, 4 * runs) of each stratum, to headlines (draws, runs). A subtask
        of which a draw has no image keeps its share of all."""
        import numpy as np

        total: NDArray[float64] = np.zeros((len(sums[0]), self.runs))
        for one, every in zip(sums, self._observed(), strict=True):
            there = one[..., 1::2] > 0
            parts = np.where(there, one[..., 0::2], every[..., 0::2])
            shares = parts / np.where(there, one[..., 1::2], every[..., 1::2])
            total += 100 * (shares[..., 0::2] + shares[..., 1::2]).sum(axis=1)
        return total


def composite(together: Aligned) -> Composite | None:
    """The runs' composite headline, or None where it is the mean over samples, or where the
    samples do not hold what it needs (a subtask is missing, or has no whole image)."""
    if any(info.benchmark != _MME for info in together.infos):
        return None
    found: dict[str, list[int]] = defaultdict(list)
    for at, sample in enumerate(together.samples):
        found[sample.groups.get(SUBTASK, "")].append(at)
    if set(found) != set(SUBTASKS):
        return None
    tables = [_by_cluster(together, rows) for rows in found.values()]
    if any(not table.sums[:, 3].any() for table in tables):
        return None
    strata = tuple(map(_stacked, _linked(tables)))
    return Composite("total", "points", together.scores.shape[1], strata)


class _Subtask(NamedTuple):
    """`sums` (clusters, 4 * runs) as in `Composite`, of the clusters with these numbers."""

    clusters: NDArray[int64]
    sums: NDArray[float64]


def _by_cluster(together: Aligned, rows: list[int]) -> _Subtask:
    import numpy as np

    units = [together.samples[at].unit or together.samples[at].id for at in rows]
    of_unit = dict(zip(units, together.clusters[rows].tolist(), strict=True))
    counts = np.concatenate(
        [
            np.asarray(
                images(
                    Judged(unit, bool(together.scores[at, run] == 1.0))
                    for unit, at in zip(units, rows, strict=True)
                ),
                dtype=np.float64,
            )
            for run in range(together.scores.shape[1])
        ],
        axis=1,
    )
    numbers, places = np.unique(list(of_unit.values()), return_inverse=True)
    sums = np.zeros((len(numbers), counts.shape[1]))
    np.add.at(sums, places, counts)
    return _Subtask(numbers, sums)


def _linked(tables: list[_Subtask]) -> list[list[_Subtask]]:
    """Subtasks by which of them have clusters in common, also through others."""
    strata: list[tuple[set[int], list[_Subtask]]] = []
    for table in tables:
        clusters, members = set(table.clusters.tolist()), [table]
        apart = []
        for other in strata:
            if clusters.isdisjoint(other[0]):
                apart.append(other)
            else:
                clusters, members = clusters | other[0], [*other[1], *members]
        strata = [*apart, (clusters, members)]
    return [members for _, members in strata]


def _stacked(tables: list[_Subtask]) -> NDArray[float64]:
    """One array (clusters, subtasks, 4 * runs) of subtasks that are resampled together."""
    import numpy as np

    numbers = np.unique(np.concatenate([table.clusters for table in tables]))
    found = np.zeros((len(numbers), len(tables), tables[0].sums.shape[1]))
    for at, table in enumerate(tables):
        found[np.searchsorted(numbers, table.clusters), at] = table.sums
    return found
