"""`task_map`: vectors, distances and clusters of a benchmark's tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from snellen.api._resolve import named_benchmark, named_model
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import Model
from snellen.engine.ray.cluster import Cluster
from snellen.models.hf.lora import Tuning, require_tuning
from snellen.models.hf.model import HuggingFace
from snellen.store.runs import find_runs
from snellen.taskmap.clusters import Linkage, cophenetic_correlation, cut, tree_of
from snellen.taskmap.findings import TaskMap
from snellen.taskmap.halves import halves_of
from snellen.taskmap.mapping import distances_of, mean_of, stability_of
from snellen.taskmap.scores import Scores, from_cells
from snellen.taskmap.tasks import Choice, Tasks, tasks_of
from snellen.taskmap.training import Finished, Spreading, Vector, train
from snellen.taskmap.vectors import layers_of

DEFAULT_OUT = "snellen-taskmap"
VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """How tasks become a map."""

    choice: Choice = field(default_factory=Choice)
    tuning: Tuning = Tuning()  # noqa: RUF009 - frozen
    seeds: int = 1
    """Maps that are made, with the seeds `tuning.seed`, `tuning.seed + 1`, ..."""
    linkage: Linkage = "average"
    clusters: int = 12

    def every_seed(self) -> tuple[int, ...]:
        return tuple(range(self.tuning.seed, self.tuning.seed + self.seeds))


def task_map(
    model: str | Model,
    benchmark: str | Benchmark,
    *,
    settings: Settings = Settings(),
    variant: Variant = Variant(),  # noqa: B008 - frozen
    out: Path | str = DEFAULT_OUT,
    cluster: Cluster | None = None,
    told: Callable[[Finished], None] = lambda _: None,
    fetching: FetchProgress | None = None,
) -> TaskMap:
    """Fine-tune `model` on each task and map the tasks (MMT-Bench, Sec. 5.1).

    Vectors are kept in `out` and never trained twice; `told` hears of each. With a `cluster`,
    tasks are shared out to its replicas. Raises UsageError subclasses, and `Stopped`
    (analysis.taskmap.training) on Ctrl-C.
    """
    _check(settings)
    require_tuning("snellen taskmap")
    name, opened = named_model(model, {})
    if not isinstance(opened, HuggingFace):
        raise UsageError(
            f"{name} cannot be fine-tuned: a task map needs the weights of a model, in this "
            "process; give hf/<hub id or folder> or snellen/tiny-early"
        )
    spreading = None
    if cluster is not None:
        if not isinstance(model, str):
            raise UsageError("on a cluster a model goes by its name; give a name, not an object")
        spreading = Spreading(cluster, model)
    asked = named_benchmark(benchmark, variant)
    if asked.fetch is not None:
        asked.fetch(fetching)
    tasks = tasks_of(asked, opened.capabilities, settings.choice, settings.tuning.seed)
    hows = [msgspec.structs.replace(settings.tuning, seed=seed) for seed in settings.every_seed()]
    vectors = train(opened, tasks.kept, hows, Path(out) / VECTORS, told, spreading)
    return _mapped(name, opened, asked, settings, tasks, vectors)


def _mapped(
    name: str,
    model: HuggingFace,
    benchmark: Benchmark,
    settings: Settings,
    tasks: Tasks,
    vectors: Sequence[Sequence[Vector]],
) -> TaskMap:
    """The map of vectors by seed and task."""
    maps = [distances_of(one) for one in vectors]
    distances = mean_of(maps)
    names = [task.name for task in tasks.kept]
    tree = tree_of(distances, settings.linkage)
    clusters = cut(tree, settings.clusters)
    seeds = settings.every_seed()
    return TaskMap(
        model=name,
        identity=model.identity,
        benchmark=benchmark.name,
        parameters=dict(benchmark.parameters),
        group=settings.choice.group,
        kinds=tuple(settings.choice.kinds),
        tuning=settings.tuning,
        seeds=seeds,
        layers=len(layers_of(vectors[0][0].path)),
        tasks=tuple(vector.facts for vector in vectors[0]),
        left_out={one.name: one.samples for one in tasks.left_out},
        distances=tuple(tuple(row) for row in distances.tolist()),
        tree=tree,
        cophenetic=cophenetic_correlation(tree, distances),
        clusters=tuple(tuple(names[at] for at in found) for found in clusters),
        halves=halves_of(names, distances) if settings.choice.halves else (),
        stability=stability_of(names, seeds, maps),
    )


def scores_of_runs(paths: Sequence[Path | str], group: str) -> tuple[Scores, dict[str, float]]:
    """Scores of finished runs on the labels of `group`, and their headlines. Raises UsageError:
    runs of several benchmarks, two runs of a model, a run without the group, fewer than two."""
    cells: dict[tuple[str, str], float] = {}
    overall: dict[str, float] = {}
    benchmarks: set[str] = set()
    for run in (run for path in paths for run in find_runs(path)):
        summary = run.report().summary
        benchmarks.add(run.info.benchmark)
        if group not in summary.groups:
            raise UsageError(
                f"{run.path} has no group {group!r}; its groups: "
                f"{', '.join(sorted(summary.groups)) or 'none'}"
            )
        if run.info.model in overall:
            raise UsageError(f"{run.path} is a second run of {run.info.model}; name one of them")
        overall[run.info.model] = summary.headline.value or math.nan
        for label, metric in summary.groups[group].items():
            if metric.value is not None:
                cells[run.info.model, label] = metric.value
    if len(benchmarks) > 1:
        raise UsageError(f"the runs are of several benchmarks: {', '.join(sorted(benchmarks))}")
    if len(overall) < 2:
        raise UsageError(f"{len(overall)} run of one model; ranks need at least two models")
    return from_cells(cells), overall


def _check(settings: Settings) -> None:
    how = settings.tuning
    for name, value in (
        ("--epochs", how.epochs),
        ("--rank", how.rank),
        ("--alpha", how.alpha),
        ("--learning-rate", how.learning_rate),
        ("--batch-size", how.batch_size),
        ("--seeds", settings.seeds),
        ("--clusters", settings.clusters),
        ("--fewest", settings.choice.fewest),
        ("--limit", settings.choice.limit or 1),
    ):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name} {value:g}: expected a number above 0")
