"""Differences between a checkpoint's run and those of earlier steps, on the same samples."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from snellen.analysis.comparison.alignment import align_runs
from snellen.analysis.comparison.groups import pair_means
from snellen.analysis.comparison.headlines import headlines
from snellen.core.errors import UsageError
from snellen.stats.alpha_spending import pair_error
from snellen.store.runs import RunFolder, open_run
from snellen.tracking.curve import CurvePoint, StepDifference


def step_differences(
    run: RunFolder, step: int, points: list[CurvePoint], out: Path, families: int
) -> tuple[StepDifference, ...]:
    """The run of `step` minus the run of each point of an earlier step.

    `points` are all points of the benchmark so far, whose run folders are in `out`; `families` is
    the number of benchmarks. A run that was deleted, or shares no scored sample with this one, has
    no difference.
    """
    earlier = {point.step: point for point in points if point.step < step}
    previous = max(earlier, default=None)
    found = []
    for other, point in sorted(earlier.items()):
        error = pair_error(len(points), is_previous=other == previous, families=families)
        try:
            found.append(run_difference(open_run(out / point.run), run, other, 1 - error))
        except UsageError:
            continue
    return tuple(found)


def run_difference(earlier: RunFolder, later: RunFolder, step: int, level: float) -> StepDifference:
    """`later` minus `earlier`, the run of `step`: of the headlines, or of the mean scores if the
    headline cannot be computed on the samples that both scored. Raises UsageError if there are
    none."""
    runs = [earlier, later]
    aligned = align_runs(runs, common=True)
    measure = headlines(runs, aligned)
    if measure is not None:
        mean, scale = measure.differences([(0, 1)], level)[0], 1.0
    else:
        mean, scale = pair_means(aligned.scores, aligned.clusters, [(0, 1)], level)[0], 100.0
    ends: Mapping[str, float] = {}
    if mean.interval is not None:
        ends = {"low": scale * mean.interval.low, "high": scale * mean.interval.high}
    return StepDifference(
        step,
        scale * mean.mean,
        level,
        n=len(aligned.samples),
        changed=int((aligned.scores[:, 0] != aligned.scores[:, 1]).sum()),
        reason=mean.reason,
        **ends,
    )
