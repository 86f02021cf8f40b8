"""Mean ranks of MMT-Bench runs over meta-tasks, with what another draw of the questions could make
of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from snellen.analysis.aligned import Aligned, aligned
from snellen.benchmarks.mmt_summary import SUBTASK
from snellen.benchmarks.mmt_tasks import meta_task_named, subtask_named
from snellen.core.summary import Interval
from snellen.scoring.mmt import PRINTED_DIGITS
from snellen.stats.intervals import DEFAULT_LEVEL
from snellen.stats.resampling import DEFAULT_DRAWS, seeded, stacked_sums
from snellen.stats.standing import ranks
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray


class MetaTaskDraws:
    """Meta-task scores, in percent, of comparable runs over resampled questions.

    Questions are drawn anew within each subtask, clusters of them together and for all runs alike;
    they are those that all runs scored. Raises UsageError where there is none.
    """

    def __init__(self, runs: Sequence[RunFolder]) -> None:
        self._runs = len(runs)
        self._metas = _drawn(aligned(runs, common=True))

    def mean_rank_intervals(
        self, metas: Sequence[str], others: Sequence[Mapping[str, float]]
    ) -> list[Interval | None]:
        """For each run the middle 95 % of its mean rank over the meta-tasks (abbreviations), among
        the runs and other rows of a table whose scores are fixed. Ranks are taken on values as
        printed. None where a meta-task has no question that all runs scored."""
        import numpy as np

        if not metas or any(meta not in self._metas for meta in metas):
            return [None] * self._runs
        total: NDArray[float64] = np.zeros((DEFAULT_DRAWS, self._runs + len(others)))
        for meta in metas:
            fixed = np.array([[one[meta] for one in others]]).repeat(DEFAULT_DRAWS, axis=0)
            values = np.concatenate([self._metas[meta], fixed], axis=1)
            total += ranks(np.round(values, PRINTED_DIGITS))
        means = total[:, : self._runs] / len(metas)
        tail = (1 - DEFAULT_LEVEL) / 2
        low, high = np.quantile(means, (tail, 1 - tail), axis=0).tolist()
        return [Interval(*ends, "bootstrap", DEFAULT_LEVEL) for ends in zip(low, high, strict=True)]


def _drawn(together: Aligned) -> dict[str, NDArray[float64]]:
    """Scores (draws, runs) by meta-task: plain means of the accuracies of its subtasks."""
    import numpy as np

    rows: dict[str, list[int]] = {}
    for at, sample in enumerate(together.samples):
        rows.setdefault(sample.groups.get(SUBTASK, ""), []).append(at)
    members: dict[str, list[NDArray[float64]]] = {}
    for name in sorted(rows):
        task = subtask_named(name)
        meta = task and meta_task_named(task.meta_task)
        if not meta:
            continue
        scores = together.scores[rows[name]]
        clusters = np.unique(together.clusters[rows[name]], return_inverse=True)[1]
        columns = np.concatenate([scores, np.ones((len(scores), 1))], axis=1)
        sums = np.zeros((int(clusters.max()) + 1, columns.shape[1]))
        np.add.at(sums, clusters, columns)
        drawn = stacked_sums(sums, seeded(f"meta-tasks {name}"), DEFAULT_DRAWS)
        members.setdefault(meta.abbreviation, []).append(100 * drawn[:, :-1] / drawn[:, -1:])
    return {meta: np.mean(found, axis=0) for meta, found in members.items()}
