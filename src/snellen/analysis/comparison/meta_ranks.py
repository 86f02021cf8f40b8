"""Mean ranks of MMT-Bench runs over meta-tasks, with what another draw of the questions could make
of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

from snellen.analysis.comparison.aligned import Aligned, aligned
from snellen.benchmarks.mmt_bench.summary import SUBTASK
from snellen.benchmarks.mmt_bench.tasks import meta_task_named, subtask_named
from snellen.core.summary import Interval
from snellen.scoring.mmt_bench import PRINTED_DIGITS
from snellen.stats.rank_intervals import mean_rank_intervals
from snellen.stats.resampling import DEFAULT_DRAWS, seeded, stacked_sums
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
        """For each run the 95 % interval of its mean rank over the meta-tasks (abbreviations) among
        the runs and other rows of a table whose scores are fixed. Ranks are taken on values as
        printed. None where a meta-task has no question that all runs scored."""
        import numpy as np

        if not metas or any(meta not in self._metas for meta in metas):
            return [None] * self._runs
        observed = np.array(
            [[*self._metas[meta].observed, *(one[meta] for one in others)] for meta in metas]
        )
        drawn = np.repeat(observed[None], DEFAULT_DRAWS, axis=0)
        for at, meta in enumerate(metas):
            drawn[:, at, : self._runs] = self._metas[meta].drawn
        found = mean_rank_intervals(
            np.round(observed, PRINTED_DIGITS), np.round(drawn, PRINTED_DIGITS)
        )
        return [Interval(one.low, one.high, "bootstrap", one.level) for one in found[: self._runs]]


class _Scores(NamedTuple):
    """Of one meta-task, in percent: plain means of the accuracies of its subtasks."""

    observed: NDArray[float64]
    """Of each run."""
    drawn: NDArray[float64]
    """(draws, runs)."""


def _drawn(together: Aligned) -> dict[str, _Scores]:
    """Scores by meta-task."""
    import numpy as np

    rows: dict[str, list[int]] = {}
    for at, sample in enumerate(together.samples):
        rows.setdefault(sample.groups.get(SUBTASK, ""), []).append(at)
    members: dict[str, list[_Scores]] = {}
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
        shares = _Scores(100 * scores.mean(axis=0), 100 * drawn[:, :-1] / drawn[:, -1:])
        members.setdefault(meta.abbreviation, []).append(shares)
    return {
        meta: _Scores(*(np.mean(part, axis=0) for part in zip(*found, strict=True)))
        for meta, found in members.items()
    }
