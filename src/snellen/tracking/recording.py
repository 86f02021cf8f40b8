"""Finished runs become points of a curve: score, differences, sentence, page, trackers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from snellen.analysis.comparison.alignment import align_runs
from snellen.analysis.comparison.groups import pair_means
from snellen.analysis.comparison.headlines import headlines
from snellen.api.options import RunOptions, variant_with_roles
from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.benchmarks.declaration.registry import expand_suites
from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.request import Sampling
from snellen.models.naming.custom import load_files
from snellen.stats.alpha_spending import pair_error
from snellen.store.runs import RunFolder, open_run
from snellen.tracking.curve import Curve, CurveHead, CurvePoint, CurveWriter, StepDifference, now
from snellen.tracking.curve_page import write_curve_page
from snellen.tracking.statements import classify_change, sentence
from snellen.tracking.trackers import RunMetrics, Tracker, run_metrics

_SCORING_OPTIONS = ("limit", "seed", "setup", "repeats", "extractors", "judges", "judge_repeats", "clip")


def curve_benchmarks(benchmarks: Sequence[str | Benchmark], options: RunOptions) -> tuple[str, ...]:
    """The names of the benchmarks of a curve, suites in their members. Raises UsageError."""
    variant, custom = variant_with_roles(options), load_files(options.load).benchmarks
    return tuple(resolve_benchmark(spec, variant, custom).name for spec in expand_suites(benchmarks))


def curve_head(checkpoints: str, benchmarks: Sequence[str], options: RunOptions, base: str = "") -> CurveHead:
    """The head of a curve, with the options that change what is asked or how it is scored."""
    default = RunOptions()
    settings = {
        name: _text(getattr(options, name))
        for name in _SCORING_OPTIONS
        if _text(getattr(options, name)) != _text(getattr(default, name))
    }
    for part, plain in ((options.variant, default.variant), (options.sampling, Sampling())):
        names = getattr(part, "__struct_fields__", None) or part.__dataclass_fields__
        for name in names:
            if getattr(part, name) != getattr(plain, name):
                settings[name] = _text(getattr(part, name))
    if base:
        settings["base"] = base
    return CurveHead(checkpoints, tuple(benchmarks), settings)


def _text(value: object) -> str:
    if isinstance(value, (list, tuple)):
        return " ".join(map(_text, value))
    if isinstance(value, dict):
        return " ".join(f"{key}={_text(one)}" for key, one in sorted(value.items()))
    identity = getattr(value, "identity", None)
    return str(identity.name if identity is not None else value)


def add_runs(
    writer: CurveWriter,
    checkpoint: str,
    step: int,
    runs: Sequence[RunFolder],
    *,
    group: str | None = None,
    epoch: float | None = None,
    stamp: str = "",
    trackers: Sequence[Tracker] = (),
) -> list[CurvePoint]:
    """Add the runs of a checkpoint to the curve, write its page anew, and log them.

    The run folders lie next to the curve; a benchmark that has a point of this checkpoint already
    is left as it is. Raises StorageError.
    """
    curve, out = writer.curve, writer.path.parent
    added = []
    for run in runs:
        if any(point.checkpoint == checkpoint and point.benchmark == run.info.benchmark for point in curve.points):
            continue
        point = _point(curve, out, checkpoint, step, run, group, epoch, stamp)
        writer.add(point)
        added.append(point)
        for tracker in trackers:
            tracker.log(_point_metrics(point, run))
    if added:
        write_curve_page(curve, out)
    return added


def _point(
    curve: Curve,
    out: Path,
    checkpoint: str,
    step: int,
    run: RunFolder,
    group: str | None,
    epoch: float | None,
    stamp: str,
) -> CurvePoint:
    """The point of a run: its score, its differences from earlier steps, and what they show."""
    report = run.report()
    summary, benchmark = report.summary, run.info.benchmark
    points = curve.of(benchmark)
    families = max(1, len(curve.head.benchmarks))
    differences = _step_differences(run, step, points, out, families) if summary.headline.value is not None else ()
    earlier = [point for point in points if point.step < step]
    change, compared = classify_change(summary.headline, earlier, differences)
    named = benchmark if len(curve.head.benchmarks) > 1 else ""
    return CurvePoint(
        checkpoint=checkpoint,
        step=step,
        benchmark=benchmark,
        headline=summary.headline,
        change=change,
        sentence=sentence(step, summary.headline, change, compared, named),
        run=run.name,
        at=now(),
        total=summary.total,
        outcomes=summary.outcomes,
        groups=dict(summary.groups.get(group, {})) if group else {},
        differences=differences,
        epoch=epoch,
        stamp=stamp,
    )


def _step_differences(
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
            found.append(_run_difference(open_run(out / point.run), run, other, 1 - error))
        except UsageError:
            continue
    return tuple(found)


def _run_difference(earlier: RunFolder, later: RunFolder, step: int, level: float) -> StepDifference:
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


def _point_metrics(point: CurvePoint, run: RunFolder) -> RunMetrics:
    """The metrics of a point for trackers: those of its run, and its change."""
    metrics = run_metrics(run, run.report(), step=point.step)
    previous = max(point.differences, key=lambda one: one.step, default=None)
    if previous is not None:
        metrics.values[f"{point.benchmark}/difference"] = previous.difference
        if previous.low is not None and previous.high is not None:
            metrics.values[f"{point.benchmark}/difference_low"] = previous.low
            metrics.values[f"{point.benchmark}/difference_high"] = previous.high
    metrics.facts["change"] = point.change
    metrics.facts["checkpoint"] = point.checkpoint
    return metrics
