"""Train task vectors on a Ray cluster: each actor holds the model and trains one task at a time.

No shared file system is needed: images travel with their task, and the factors come back to the
driver, which alone writes files.
"""

from __future__ import annotations

import time
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.core.media import InlineSource
from snellen.core.request import Generate, Rank
from snellen.engine.ray.cluster import RayCluster, connect
from snellen.models.hf.lora import LoraOptions, TrainingExample, TuningResult, tune
from snellen.models.hf.model import HuggingFace
from snellen.models.naming.registry import open_model
from snellen.taskmap.tasks import Task


class TrainingJob(NamedTuple):
    """One vector to train."""

    task: Task
    tuning: LoraOptions
    path: Path
    """The file to write."""


class TrainingResult(NamedTuple):
    """A trained vector and the seconds it took."""

    job: TrainingJob
    tuned: TuningResult
    seconds: float


class _Trainer:
    """The actor."""

    def __init__(self, spec: str) -> None:
        model = open_model(spec)
        assert isinstance(model, HuggingFace)
        self._model = model

    def train(self, task: Task, tuning: LoraOptions) -> tuple[TuningResult, float]:
        started = time.perf_counter()
        tuned = tune(self._model.load(), task.examples, tuning, self._model.images)
        return tuned, time.perf_counter() - started


def train_on_cluster(spec: str, jobs: Sequence[TrainingJob], cluster: RayCluster) -> Generator[TrainingResult]:
    """Train all jobs; yields results in the order in which they finish. The actors end with the
    iterator.

    Raises UsageError if no cluster answers, if a task cannot be trained on, and if an actor is
    lost; MediaError and MissingExtra.
    """
    ray, began = connect(cluster.address)
    actor_class = ray.remote(_Trainer).options(num_cpus=cluster.cpus, num_gpus=cluster.gpus)
    actors = [actor_class.remote(spec) for _ in range(min(cluster.replicas, len(jobs)))]
    try:
        yield from _results(ray, actors, list(jobs))
    finally:
        for actor in actors:
            ray.kill(actor)
        if began:
            ray.shutdown()


def _results(ray: Any, actors: Sequence[Any], jobs: list[TrainingJob]) -> Generator[TrainingResult]:
    """Keep every actor busy with one task at a time; yield results as they finish."""
    waiting = list(reversed(jobs))
    running: dict[Any, tuple[Any, TrainingJob]] = {}
    idle = list(actors)
    while waiting or running:
        while idle and waiting:
            actor, job = idle.pop(), waiting.pop()
            running[actor.train.remote(_with_media_bytes(job.task), job.tuning)] = (actor, job)
        (ready,), _ = ray.wait(list(running))
        actor, job = running.pop(ready)
        try:
            tuned, seconds = ray.get(ready)
        except ray.exceptions.RayTaskError as error:
            raise UsageError(f"task {job.task.name!r} cannot be trained: {error.cause}") from error
        except ray.exceptions.RayActorError as error:
            raise UsageError(
                f"the replica that trained {job.task.name!r} was lost; finished vectors are kept: "
                "give the same command again"
            ) from error
        idle.append(actor)
        yield TrainingResult(job, tuned, seconds)


def _with_media_bytes(task: Task) -> Task:
    """The task with the bytes of its images in place of their locations."""
    lessons = []
    for request, reply in task.examples:
        assert isinstance(request, Generate | Rank)
        media = {digest: InlineSource(source.read()) for digest, source in request.media.items()}
        lessons.append(TrainingExample(replace(request, media=media), reply))
    return Task(task.name, tuple(lessons))
