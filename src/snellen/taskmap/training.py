"""Train the vectors that are missing, and store each as soon as it is ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.engine.ray.cluster import RayCluster
from snellen.models.hf.lora import LoraOptions, tune
from snellen.models.hf.model import HuggingFace
from snellen.models.split_batch import MODEL_ERRORS, failure_from_error
from snellen.taskmap.ray_training import TrainingJob, TrainingResult, train_on_cluster
from snellen.taskmap.tasks import Task
from snellen.taskmap.vectors import VectorFacts, read_facts, vector_digest, vector_path, write_vector


class StoredVector(NamedTuple):
    """A trained vector on disk."""

    path: Path
    facts: VectorFacts


class VectorProgress(NamedTuple):
    """Reported after each task: how many vectors are ready, and whether this one was stored
    before."""

    done: int
    total: int
    seed: int
    facts: VectorFacts
    cached: bool


class TrainingInterrupted(Exception):
    """Training was stopped by Ctrl-C. All finished vectors are stored."""

    def __init__(self, folder: Path, done: int, total: int) -> None:
        super().__init__(str(folder))
        self.folder, self.done, self.total = folder, done, total


class ClusterTarget(NamedTuple):
    """Where to train: the cluster, and the model's name for its workers."""

    cluster: RayCluster
    spec: str


def train(
    model: HuggingFace,
    tasks: Sequence[Task],
    tunings: Sequence[LoraOptions],
    folder: Path,
    on_vector: Callable[[VectorProgress], None] = lambda _: None,
    target: ClusterTarget | None = None,
) -> list[list[StoredVector]]:
    """Train a vector for each task and each of the `tunings`, unless `folder` already holds it.

    Returns the stored vectors, a list for each tuning. Weights are loaded when the first vector is
    missing; with a `target` they are loaded on the cluster only.

    Raises UsageError (see `tune`; also for a sample that the model cannot process), StorageError,
    and `TrainingInterrupted`.
    """
    identity = model.identity.digest()
    jobs = [
        [TrainingJob(task, tuning, vector_path(folder, vector_digest(task, identity, tuning))) for task in tasks]
        for tuning in tunings
    ]
    facts: dict[Path, VectorFacts] = {}
    total = len(tasks) * len(tunings)
    done = 0
    try:
        for job, vector_facts, is_cached in _all_results(model, [job for row in jobs for job in row], target):
            # Two tasks of equal samples share a vector; its facts get the name of each task.
            facts[job.path] = vector_facts
            done += 1
            on_vector(VectorProgress(done, total, job.tuning.seed, _with_task_name(vector_facts, job), is_cached))
    except KeyboardInterrupt:
        raise TrainingInterrupted(folder, done, total) from None
    return [[StoredVector(job.path, _with_task_name(facts[job.path], job)) for job in row] for row in jobs]


def _with_task_name(facts: VectorFacts, job: TrainingJob) -> VectorFacts:
    return msgspec.structs.replace(facts, task=job.task.name)


def _all_results(
    model: HuggingFace, jobs: Sequence[TrainingJob], target: ClusterTarget | None
) -> Generator[tuple[TrainingJob, VectorFacts, bool]]:
    """Yield each job with the facts of its vector and whether it was stored before: the stored ones
    first, then the trained ones as they finish."""
    missing = []
    for job in jobs:
        facts = read_facts(job.path)
        if facts is None:
            missing.append(job)
        else:
            yield job, facts, True
    with closing(_train_jobs(model, missing, target)) as results:
        for result in results:
            yield (result.job, write_vector(result.job.path, result.job.task, result.tuned, result.seconds), False)


def _train_jobs(
    model: HuggingFace, jobs: Sequence[TrainingJob], target: ClusterTarget | None
) -> Generator[TrainingResult]:
    if target is not None and jobs:
        yield from train_on_cluster(target.spec, jobs, target.cluster)
        return
    for job in jobs:
        started = time.perf_counter()
        try:
            tuned = tune(model.load(), job.task.examples, job.tuning, model.images)
        except (*MODEL_ERRORS, MediaError) as error:
            failure = failure_from_error(error)
            less = "; use a smaller --tuning batch_size" if failure.kind == "out_of_memory" else ""
            raise UsageError(f"task {job.task.name!r} cannot be trained on: {failure.message}{less}") from error
        yield TrainingResult(job, tuned, time.perf_counter() - started)
