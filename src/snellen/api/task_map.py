"""`task_map`: vectors, distances and clusters of a benchmark's tasks."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from snellen.api.resolve_benchmarks import resolve_benchmark
from snellen.api.resolve_models import resolve_model
from snellen.core.benchmark import Benchmark, FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel, Model, MutableModel
from snellen.engine.ray.cluster import RayCluster
from snellen.models.hf.lora import LoraOptions, require_tuning
from snellen.models.hf.model import HuggingFace
from snellen.store.runs import find_runs
from snellen.taskmap.clusters import Linkage, build_tree, cophenetic_correlation, cut_names, map_correlation
from snellen.taskmap.findings import ControlMap, TaskMap
from snellen.taskmap.mapping import compare_halves, compare_seeds, map_seeds, mean_distances, vector_distances
from snellen.taskmap.scores import TaskScores, scores_from_cells
from snellen.taskmap.tasks import MapControl, TaskSelection, TaskSet, load_tasks
from snellen.taskmap.training import ClusterTarget, StoredVector, VectorProgress, train
from snellen.taskmap.vectors import layer_names

if TYPE_CHECKING:
    from numpy import float64
    from numpy.typing import NDArray

DEFAULT_OUT = "snellen-taskmap"
VECTORS = "vectors"


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMapOptions:
    """Which tasks are mapped, how they are tuned on, and how they are clustered."""

    choice: TaskSelection = field(default_factory=TaskSelection)
    tuning: LoraOptions = LoraOptions()  # noqa: RUF009 - frozen
    seeds: int = 1
    """How many maps, with the seeds `tuning.seed`, `tuning.seed + 1`, ..."""
    linkage: Linkage = "average"
    clusters: int = 12
    control: MapControl | None = None
    """Make the map a second time with these destroyed; where both are alike, there are no
    clusters."""

    def all_seeds(self) -> tuple[int, ...]:
        return tuple(range(self.tuning.seed, self.tuning.seed + self.seeds))


def task_map(
    model: AnyModel,
    benchmark: str | Benchmark,
    *,
    options: TaskMapOptions = TaskMapOptions(),
    variant: Variant = Variant(),  # noqa: B008 - frozen
    out: Path | str = DEFAULT_OUT,
    cluster: RayCluster | None = None,
    on_finished: Callable[[VectorProgress], None] = lambda _: None,
    fetching: FetchProgress | None = None,
) -> TaskMap:
    """Fine-tune `model` on each task and map the tasks (MMT-Bench, Sec. 5.1).

    Vectors are kept in `out` and never trained twice; `on_finished` is called with each. With a
    `cluster`, tasks are distributed over its replicas. Raises UsageError subclasses, and
    `TrainingInterrupted` (taskmap.training) on Ctrl-C.
    """
    _check_options(options)
    require_tuning("snellen taskmap")
    name, instance = resolve_model(model, {})
    instance = _tunable(name, instance)
    replication = None
    if cluster is not None:
        if not isinstance(model, str):
            raise UsageError("on a cluster a model goes by its name; give a name, not an object")
        replication = ClusterTarget(cluster, model)
    resolved = resolve_benchmark(benchmark, variant)
    if resolved.fetch is not None:
        resolved.fetch(fetching)
    tasks = load_tasks(resolved, instance.capabilities, options.choice, options.tuning.seed)
    tunings = [msgspec.structs.replace(options.tuning, seed=seed) for seed in options.all_seeds()]
    every = list(tasks.tasks)
    if options.control is not None:
        arguments = instance.capabilities, options.choice, options.tuning.seed, options.control
        every += load_tasks(resolved, *arguments).tasks
    vectors = train(instance, every, tunings, Path(out) / VECTORS, on_finished, replication)
    return _build_map(name, instance, resolved, options, tasks, vectors)


def _tunable(name: str, model: Model) -> HuggingFace:
    """Raises UsageError for a model whose weights cannot be tuned."""
    if not isinstance(model, HuggingFace) or isinstance(model, MutableModel):
        raise UsageError(
            f"{name} cannot be fine-tuned: a task map needs the weights of a model, in this "
            "process and of its own; give hf/<hub id or folder> or snellen/tiny-early"
        )
    return model


def _build_map(
    name: str,
    model: HuggingFace,
    benchmark: Benchmark,
    options: TaskMapOptions,
    tasks: TaskSet,
    vectors: Sequence[Sequence[StoredVector]],
) -> TaskMap:
    """The map of vectors, indexed by seed and task, those of the control last. Distances are means
    over seeds."""
    names = [task.name for task in tasks.tasks]
    maps = [vector_distances(vectors_of_seed[: len(names)]) for vectors_of_seed in vectors]
    distances = mean_distances(maps)
    tree = build_tree(distances, options.linkage)
    clusters = cut_names(tree, names, options.clusters)
    control = _control_map(options, names, distances, vectors)
    seeds = options.all_seeds()
    return TaskMap(
        model=name,
        identity=model.identity,
        benchmark=benchmark.name,
        parameters=dict(benchmark.parameters),
        group=options.choice.group,
        kinds=tuple(options.choice.kinds),
        tuning=options.tuning,
        seeds=seeds,
        layers=len(layer_names(vectors[0][0].path)),
        tasks=tuple(vector.facts for vector in vectors[0][: len(names)]),
        left_out={task.name: task.samples for task in tasks.left_out},
        distances=tuple(tuple(row) for row in distances.tolist()),
        tree=tree,
        cophenetic=cophenetic_correlation(tree, distances),
        clusters=() if control is not None and control.resembles_map else clusters,
        control=control,
        halves=compare_halves(names, distances) if options.choice.halves else (),
        stability=compare_seeds(names, seeds, maps),
        by_seed=map_seeds(names, seeds, maps),
    )


def _control_map(
    options: TaskMapOptions,
    names: Sequence[str],
    distances: NDArray[float64],
    vectors: Sequence[Sequence[StoredVector]],
) -> ControlMap | None:
    """The map of the control's vectors, which come last of each seed; None without a control."""
    if options.control is None:
        return None
    control = mean_distances([vector_distances(of_seed[len(names) :]) for of_seed in vectors])
    return ControlMap(
        control=options.control,
        distances=tuple(tuple(row) for row in control.tolist()),
        correlation=map_correlation(distances, control),
        clusters=cut_names(build_tree(control, options.linkage), names, options.clusters),
        halves=compare_halves(names, control) if options.choice.halves else (),
    )


def scores_of_runs(paths: Sequence[Path | str], group: str) -> tuple[TaskScores, dict[str, float]]:
    """Scores of finished runs on the labels of `group`, and their headlines by model.

    Raises UsageError for runs of several benchmarks, two runs of a model, a run without the group,
    or fewer than two runs."""
    cells: dict[tuple[str, str], float] = {}
    overall: dict[str, float] = {}
    benchmarks: set[str] = set()
    for run in (run for path in paths for run in find_runs(path)):
        summary = run.report().summary
        benchmarks.add(run.info.benchmark)
        if group not in summary.groups:
            raise UsageError(
                f"{run.path} has no group {group!r}; its groups: {', '.join(sorted(summary.groups)) or 'none'}"
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
    return scores_from_cells(cells), overall


def _check_options(options: TaskMapOptions) -> None:
    tuning = options.tuning
    for name, value in (
        ("--tuning epochs", tuning.epochs),
        ("--tuning rank", tuning.rank),
        ("--tuning alpha", tuning.alpha),
        ("--tuning learning_rate", tuning.learning_rate),
        ("--tuning batch_size", tuning.batch_size),
        ("--map seeds", options.seeds),
        ("--map clusters", options.clusters),
        ("--tasks fewest", options.choice.min_samples),
        ("--tasks most", options.choice.limit or 1),
    ):
        if not (math.isfinite(value) and value > 0):
            raise UsageError(f"{name}={value:g}: expected a number above 0")
