"""Mean ranks of MMT-Bench runs over meta-tasks, with their uncertainty from resampling the
questions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from snellen.analysis.comparison.alignment import AlignedRuns, align_runs
from snellen.benchmarks.abilities.mmt_bench.summary import SUBTASK
from snellen.benchmarks.abilities.mmt_bench.tasks import find_meta_task, find_subtask
from snellen.core.arrays import Floats, np
from snellen.core.grouping import group_by
from snellen.core.summary import Interval
from snellen.scoring.mmt_bench import PRINTED_DIGITS
from snellen.stats.rank_intervals import mean_rank_intervals
from snellen.stats.resampling import DEFAULT_DRAWS, bootstrap_sums, seeded_generator
from snellen.store.runs import RunFolder


class MetaTaskDraws:
    """Meta-task scores, in percent, of comparable runs over resampled questions.

    Questions are resampled within each subtask, by cluster and identically for all runs; only those
    that all runs scored are used. Raises UsageError if there is none.
    """

    def __init__(self, runs: Sequence[RunFolder]) -> None:
        self._runs = len(runs)
        self._metas = _meta_task_scores(align_runs(runs, common=True))

    def mean_rank_intervals(self, metas: Sequence[str], others: Sequence[Mapping[str, float]]) -> list[Interval | None]:
        """For each run the 95 % interval of its mean rank over the meta-tasks (abbreviations),
        among the runs and other rows of a table whose scores are fixed. Ranks are computed on
        values as printed. None if a meta-task has no question that all runs scored, or a subtask
        one cluster alone, which shows nothing of how questions vary."""
        if not metas or any(meta not in self._metas or np.isnan(self._metas[meta].resampled).any() for meta in metas):
            return [None] * self._runs
        observed = np.array([[*self._metas[meta].observed, *(scores[meta] for scores in others)] for meta in metas])
        # (draws, meta-tasks, rows): only the runs vary, other rows keep their printed scores.
        drawn = np.repeat(observed[None], DEFAULT_DRAWS, axis=0)
        for index, meta in enumerate(metas):
            drawn[:, index, : self._runs] = self._metas[meta].resampled
        intervals = mean_rank_intervals(np.round(observed, PRINTED_DIGITS), np.round(drawn, PRINTED_DIGITS))
        return [*intervals[: self._runs]]


class _MetaTaskScores(NamedTuple):
    """Scores of one meta-task in percent: plain means of the accuracies of its subtasks."""

    observed: Floats
    """Shape (runs,)."""
    resampled: Floats
    """Shape (draws, runs); not a number if a subtask has one cluster alone."""


def _meta_task_scores(aligned_runs: AlignedRuns) -> dict[str, _MetaTaskScores]:
    """Scores by meta-task."""
    samples = aligned_runs.samples
    rows = group_by(range(len(samples)), lambda index: samples[index].groups.get(SUBTASK, ""))
    members: dict[str, list[_MetaTaskScores]] = {}
    for name in sorted(rows):
        task = find_subtask(name)
        meta = task and find_meta_task(task.meta_task)
        if not meta:
            continue
        scores, clusters = aligned_runs.part(rows[name])
        # Sums of scores per run and the number of samples, by cluster: a resampled mean is the
        # ratio of two resampled sums, since clusters differ in size.
        columns = np.concatenate([scores, np.ones((len(scores), 1))], axis=1)
        sums = np.zeros((int(clusters.max()) + 1, columns.shape[1]))
        np.add.at(sums, clusters, columns)
        drawn = bootstrap_sums(sums, seeded_generator(f"meta-tasks {name}"), DEFAULT_DRAWS)
        if len(sums) == 1:
            drawn[:] = np.nan
        accuracies = _MetaTaskScores(100 * scores.mean(axis=0), 100 * drawn[:, :-1] / drawn[:, -1:])
        members.setdefault(meta.abbreviation, []).append(accuracies)
    return {
        meta: _MetaTaskScores(*(np.mean(part, axis=0) for part in zip(*tasks, strict=True)))
        for meta, tasks in members.items()
    }
