"""Trains the vectors that are not there yet, and keeps each as soon as it is ready."""

from __future__ import annotations

import time
from collections.abc import Callable, Generator, Sequence
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.core.errors import MediaError, UsageError
from snellen.engine.ray.cluster import Cluster
from snellen.models.hf.lora import Tuning, tune
from snellen.models.hf.model import HuggingFace
from snellen.models.split_batch import MODEL_ERRORS, failure_of
from snellen.taskmap.ray_training import Job, Trained, train_spread
from snellen.taskmap.tasks import Task
from snellen.taskmap.vectors import (
    Facts,
    digest_of,
    read_facts,
    vector_path,
    write_vector,
)


class Vector(NamedTuple):
    """A trained vector on disk."""

    path: Path
    facts: Facts


class Finished(NamedTuple):
    """Told after each task: how many of how many, and whether the vector was there already."""

    done: int
    wanted: int
    seed: int
    facts: Facts
    found: bool


class Stopped(Exception):
    """Ctrl-C, after every finished vector was kept."""

    def __init__(self, folder: Path, kept: int, wanted: int) -> None:
        super().__init__(str(folder))
        self.folder, self.kept, self.wanted = folder, kept, wanted


class Spreading(NamedTuple):
    """Train on a cluster: where, and the model's name there."""

    cluster: Cluster
    spec: str


def train(
    model: HuggingFace,
    tasks: Sequence[Task],
    how: Sequence[Tuning],
    folder: Path,
    told: Callable[[Finished], None] = lambda _: None,
    spreading: Spreading | None = None,
) -> list[list[Vector]]:
    """A vector for each task, for each of the settings `how`; those in `folder` are not trained
    again. Weights are loaded when the first vector is missing, on a cluster only there.

    Raises UsageError (see `tune`; a sample the model cannot take), StorageError, and `Stopped`.
    """
    identity = model.identity.digest()
    jobs = [
        [Job(task, one, vector_path(folder, digest_of(task, identity, one))) for task in tasks]
        for one in how
    ]
    facts: dict[Path, Facts] = {}
    wanted = len(tasks) * len(how)
    done = 0
    try:
        for job, known, found in _every(model, [job for row in jobs for job in row], spreading):
            # Equal samples under two names have one vector: it is named as the task is.
            facts[job.path] = known
            done += 1
            told(Finished(done, wanted, job.how.seed, _named(known, job), found))
    except KeyboardInterrupt:
        raise Stopped(folder, done, wanted) from None
    return [[Vector(job.path, _named(facts[job.path], job)) for job in row] for row in jobs]


def _named(facts: Facts, job: Job) -> Facts:
    return msgspec.structs.replace(facts, task=job.task.name)


def _every(
    model: HuggingFace, jobs: Sequence[Job], spreading: Spreading | None
) -> Generator[tuple[Job, Facts, bool]]:
    """Each job with its facts and whether it was there already: those first, then the trained
    ones as they are ready."""
    owed = []
    for job in jobs:
        known = read_facts(job.path)
        if known is None:
            owed.append(job)
        else:
            yield job, known, True
    with closing(_trained(model, owed, spreading)) as results:
        for one in results:
            yield one.job, write_vector(one.job.path, one.job.task, one.tuned, one.seconds), False


def _trained(
    model: HuggingFace, jobs: Sequence[Job], spreading: Spreading | None
) -> Generator[Trained]:
    if spreading is not None and jobs:
        yield from train_spread(spreading.spec, jobs, spreading.cluster)
        return
    for job in jobs:
        started = time.perf_counter()
        try:
            tuned = tune(model.load(), job.task.lessons, job.how, model.images)
        except (*MODEL_ERRORS, MediaError) as error:
            failure = failure_of(error)
            less = "; use a smaller --batch-size" if failure.kind == "out_of_memory" else ""
            raise UsageError(
                f"task {job.task.name!r} cannot be trained on: {failure.message}{less}"
            ) from error
        yield Trained(job, tuned, time.perf_counter() - started)
