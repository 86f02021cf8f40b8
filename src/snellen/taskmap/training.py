"""Trains the vectors that are not there yet, and keeps each as soon as it is ready."""

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
from snellen.taskmap.vectors import (
    VectorFacts,
    read_facts,
    vector_digest,
    vector_path,
    write_vector,
)


class StoredVector(NamedTuple):
    """A trained vector on disk."""

    path: Path
    facts: VectorFacts


class VectorProgress(NamedTuple):
    """Told after each task: how many of how many, and whether the vector was there already."""

    done: int
    total: int
    seed: int
    facts: VectorFacts
    cached: bool


class TrainingInterrupted(Exception):
    """Ctrl-C, after every finished vector was kept."""

    def __init__(self, folder: Path, done: int, total: int) -> None:
        super().__init__(str(folder))
        self.folder, self.done, self.total = folder, done, total


class ClusterTarget(NamedTuple):
    """Train on a cluster: where, and the model's name there."""

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
    """A vector for each task, for each of the settings `tunings`; those in `folder` are not trained
    again. Weights are loaded when the first vector is missing, on a cluster only there.

    Raises UsageError (see `tune`; a sample the model cannot take), StorageError, and `TrainingInterrupted`.
    """
    identity = model.identity.digest()
    jobs = [
        [
            TrainingJob(task, one, vector_path(folder, vector_digest(task, identity, one)))
            for task in tasks
        ]
        for one in tunings
    ]
    facts: dict[Path, VectorFacts] = {}
    wanted = len(tasks) * len(tunings)
    done = 0
    try:
        for job, known, found in _all_results(model, [job for row in jobs for job in row], target):
            # Equal samples under two names have one vector: it is named as the task is.
            facts[job.path] = known
            done += 1
            on_vector(
                VectorProgress(done, wanted, job.tuning.seed, _with_task_name(known, job), found)
            )
    except KeyboardInterrupt:
        raise TrainingInterrupted(folder, done, wanted) from None
    return [
        [StoredVector(job.path, _with_task_name(facts[job.path], job)) for job in row]
        for row in jobs
    ]


def _with_task_name(facts: VectorFacts, job: TrainingJob) -> VectorFacts:
    return msgspec.structs.replace(facts, task=job.task.name)


def _all_results(
    model: HuggingFace, jobs: Sequence[TrainingJob], target: ClusterTarget | None
) -> Generator[tuple[TrainingJob, VectorFacts, bool]]:
    """Each job with its facts and whether it was there already: those first, then the trained
    ones as they are ready."""
    owed = []
    for job in jobs:
        known = read_facts(job.path)
        if known is None:
            owed.append(job)
        else:
            yield job, known, True
    with closing(_train_jobs(model, owed, target)) as results:
        for one in results:
            yield one.job, write_vector(one.job.path, one.job.task, one.tuned, one.seconds), False


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
            less = "; use a smaller --batch-size" if failure.kind == "out_of_memory" else ""
            raise UsageError(
                f"task {job.task.name!r} cannot be trained on: {failure.message}{less}"
            ) from error
        yield TrainingResult(job, tuned, time.perf_counter() - started)
