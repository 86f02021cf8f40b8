"""What it takes to compare two models on each benchmark of a plan."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from snellen.analysis.comparison.planned_study import (
    Aims,
    BenchmarkSize,
    Spread,
    StudyPlan,
    assumed_spread,
    plan_study,
    spread_of_runs,
)
from snellen.core.errors import UsageError
from snellen.core.grouping import group_by
from snellen.core.output import Price
from snellen.engine.loop.plan import RunPlan
from snellen.engine.offline.estimate import Assumptions, Estimate, cluster_sizes
from snellen.settings import force_offline
from snellen.store.runs import distinct_runs


class PlanLine(Struct, frozen=True, kw_only=True):
    """One model on one benchmark. A number is None if it cannot be known on this machine."""

    model: str
    benchmark: str
    estimate: Estimate | None = None
    dollars: float | None = None
    """Of the model and of extractors and judges, as far as their prices are known; for these the
    most that they may cost, unless there is a forecast."""
    price: Price | None = None
    """Of the model."""
    role_dollars: dict[str, float | None] = {}
    """The part of extractors and judges, by role; None if no price is known."""
    setup: str = ""
    """The set-up of its makers that the model is asked by, by name; "" for the plain one."""
    coordinates: str = ""
    """The coordinate space in which places are asked for, and who chose it; "" where none are."""
    batch_hours: int = 0
    """Hours that each batch may take, of the models that are asked in batches; 0 if none is."""
    skipped: str = ""
    """Why the model cannot take the benchmark."""

    @property
    def wait(self) -> str:
        """How long all batches may take, one after the other; "" without batches."""
        hours = self.batch_hours * (self.estimate.waves if self.estimate else 0)
        return f"≤ {hours} h" if hours else ""


def check_aims(aims: Aims | None, until: str | None, like: Sequence[Path | str]) -> None:
    """Raises UsageError for aims that no study can reach, or that do not go together."""
    if aims is None:
        if like:
            raise UsageError("--runs says how two models differ, for --detect or --no-worse")
        return
    if until is not None:
        raise UsageError("--until stops by itself and --detect plans a study of fixed size: give one of them")
    for name, points in (("--detect", aims.detect), ("--no-worse", aims.no_worse)):
        if points is not None and not 0 < points < 100:
            raise UsageError(f"{name} is {points:g}; expected points between 0 and 100, e.g. 2")
    if not 0.5 <= aims.power < 1 or not 0.5 <= aims.level < 1:
        raise UsageError(
            f"--power {100 * aims.power:g} and --level {100 * aims.level:g}: expected percentages from 50 to below 100"
        )
    for name, share in (
        ("discordance", aims.discordance),
        ("correlation", aims.correlation),
        ("draw_share", aims.draw_share),
    ):
        if share is not None and not 0 <= share <= 1:
            raise UsageError(f"{name} is {share:g}; expected a share from 0 to 1, e.g. 0.3 or 30%")
    if aims.discordance is not None and not aims.discordance:
        raise UsageError("discordance is 0: two models that never differ need no study")
    if like and aims.discordance is not None:
        raise UsageError("--runs measures the discordance that --assume gives: give one of them")


def plan_studies(
    runs: Sequence[RunPlan],
    lines: Sequence[PlanLine],
    aims: Aims,
    like: Sequence[Path | str],
    assumptions: Assumptions,
    repeats: int,
) -> list[StudyPlan]:
    """Plan a study for each benchmark. `lines` are those of the `runs`, in the same order.

    Raises UsageError if there are not two models, or if `like` are not two runs of the
    benchmark."""
    by_benchmark = group_by(range(len(runs)), lambda index: runs[index].benchmark.name)
    studies = []
    finished_runs = distinct_runs(like)
    measured = spread_of_runs(finished_runs) if like else None
    if measured is not None and list(by_benchmark) != [finished_runs[0].info.benchmark]:
        raise UsageError(
            f"--runs has runs on {finished_runs[0].info.benchmark}, and the study is on "
            f"{', '.join(by_benchmark)}; give runs on that benchmark alone"
        )
    for name, members in by_benchmark.items():
        models = tuple(dict.fromkeys(runs[index].model_name for index in members))
        if len(members) != 2:
            raise UsageError(
                f"--detect and --no-worse plan a study of two models; {name} has {len(members)} "
                f"({', '.join(models)}): name two with -m (in Python: models)"
            )
        first, second = (runs[index].model_name for index in members)
        spread: Spread = measured or assumed_spread(aims, assumptions.accuracy)
        extent = _extent(runs[members[0]], [lines[index] for index in members], repeats)
        is_mean = runs[members[0]].benchmark.headline_sums is None
        study = plan_study(name, (first, second), aims, spread, extent, repeats, is_mean=is_mean)
        studies.append(study)
    return studies


def _extent(run: RunPlan, lines: Sequence[PlanLine], repeats: int) -> BenchmarkSize | None:
    estimates = [line.estimate for line in lines if line.estimate is not None]
    if not estimates:
        return None
    with force_offline():
        sizes = tuple(cluster_sizes(run))
    if len(estimates) < len(lines):
        return BenchmarkSize(sizes)
    request_counts = [estimate.requests + estimate.stored + estimate.equal for estimate in estimates]
    requests = sum(request_counts) / repeats
    return BenchmarkSize(sizes, requests, _dollars(lines, estimates, request_counts, repeats))


def _dollars(
    lines: Sequence[PlanLine], estimates: Sequence[Estimate], asked: Sequence[float], repeats: int
) -> float | None:
    """The cost of sending every request once, stored or not.

    None if a price is missing, or if everything is stored and so the cost of a request is
    unknown."""
    total = 0.0
    for line, estimate, requests in zip(lines, estimates, asked, strict=True):
        if line.price is None or line.dollars is None or not estimate.requests:
            return None
        total += line.dollars * requests / estimate.requests / repeats
    return total
