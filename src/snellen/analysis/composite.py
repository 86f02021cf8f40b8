"""Headlines that are sums of shares and no means over samples: resampled image by image, for all
runs alike (MME, Sec. 2.2: accuracy plus accuracy+ of each subtask)."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.aligned import Aligned
from snellen.benchmarks.mme_subtasks import SUBTASK, SUBTASKS
from snellen.core.summary import Unit
from snellen.scoring.yes_no import Judged, images
from snellen.stats.paired import Resampled
from snellen.stats.resampling import percentile_interval, seeded, stacked_sums
from snellen.stats.standing import Standing, ranks, standing_of

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

_MME = "mme"
_DRAWS = 5_000


class Composite(NamedTuple):
    """`columns` holds, for each subtask, rows (images, 4 * runs): of each run the questions it has
    right, the questions, the images with both right, and the images with two questions."""

    name: str
    unit: Unit
    runs: int
    columns: tuple[NDArray[float64], ...]

    def values(self) -> list[float]:
        """The headline of each run over the aligned samples."""
        found: list[float] = self._headlines([one.sum(axis=0, keepdims=True) for one in
                                              self.columns])[0].tolist()  # fmt: skip
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

    def _drawn(self, seed: str) -> NDArray[float64]:
        return self._headlines(
            [
                stacked_sums(one, seeded(f"{seed} {at}"), _DRAWS)
                for at, one in enumerate(self.columns)
            ]
        )

    def _headlines(self, sums: list[NDArray[float64]]) -> NDArray[float64]:
        """Sums (draws, 4 * runs) of each subtask, to headlines (draws, runs)."""
        import numpy as np

        with np.errstate(invalid="ignore", divide="ignore"):
            shares = [one[:, 0::2] / one[:, 1::2] for one in sums]
        total: NDArray[float64] = 100 * np.sum(
            [one[:, 0::2] + one[:, 1::2] for one in shares], axis=0
        )
        return total


def composite(together: Aligned) -> Composite | None:
    """The runs' composite headline, or None where it is the mean over samples, or where the
    samples do not hold what it needs (a subtask is missing, or has no whole image)."""
    import numpy as np

    if any(info.benchmark != _MME for info in together.infos):
        return None
    found: dict[str, list[int]] = defaultdict(list)
    for at, sample in enumerate(together.samples):
        found[sample.groups.get(SUBTASK, "")].append(at)
    if set(found) != set(SUBTASKS):
        return None
    columns = []
    for rows in found.values():
        per_run = [
            images(
                Judged(
                    together.samples[at].unit or together.samples[at].id,
                    bool(together.scores[at, run] == 1.0),
                )
                for at in rows
            )
            for run in range(together.scores.shape[1])
        ]
        columns.append(np.concatenate([np.asarray(one, dtype=np.float64) for one in per_run], 1))
    if any(not one[:, 3].any() for one in columns):
        return None
    return Composite("total", "points", together.scores.shape[1], tuple(columns))
