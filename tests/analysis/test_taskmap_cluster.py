"""Task vectors trained by two actors of a real Ray cluster on this machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from snellen.api.task_map import TaskMapOptions, task_map
from snellen.core.errors import UsageError
from snellen.engine.ray.cluster import RayCluster
from snellen.models.hf.lora import LoraOptions
from snellen.taskmap.tasks import TaskSelection
from snellen.taskmap.training import VectorProgress

ray = pytest.importorskip("ray")
pytestmark = pytest.mark.filterwarnings("default")
MODEL = "snellen/tiny-early"
ABILITIES = ("colour", "count", "shape")


def settings(learning_rate: float = 1e-3, targets: str = "language") -> TaskMapOptions:
    tuning = LoraOptions(epochs=1, batch_size=8, learning_rate=learning_rate, targets=targets)
    return TaskMapOptions(choice=TaskSelection(only=ABILITIES, limit=8), tuning=tuning)


@pytest.fixture
def cluster() -> Iterator[None]:
    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.mark.release
@pytest.mark.usefixtures("cluster")
def test_actors_give_the_vectors_of_this_process(tmp_path: Path) -> None:
    spread: list[VectorProgress] = []
    there = task_map(
        MODEL,
        "eyechart",
        options=settings(),
        out=tmp_path / "there",
        cluster=RayCluster(replicas=2),
        on_finished=spread.append,
    )
    here = task_map(MODEL, "eyechart", options=settings(), out=tmp_path / "here")
    assert [one.done for one in spread] == [1, 2, 3]
    assert sorted(one.facts.task for one in spread) == list(ABILITIES)
    names = [sorted(path.name for path in (tmp_path / out / "vectors").iterdir()) for out in ("here", "there")]
    assert names[0] == names[1]
    for one, other in zip(here.distances, there.distances, strict=True):
        assert one == pytest.approx(other, abs=1e-4)
    with pytest.raises(UsageError, match="no layer that can be tuned is named 'head'"):
        task_map(
            MODEL, "eyechart", options=settings(targets="head"), out=tmp_path / "there", cluster=RayCluster(replicas=1)
        )
