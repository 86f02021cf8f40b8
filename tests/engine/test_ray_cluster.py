"""Replicas on a real Ray cluster of two nodes on this machine, with the bundled model."""

from __future__ import annotations

import asyncio
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

ray = pytest.importorskip("ray")

from snellen import evaluate  # noqa: E402
from snellen.benchmarks.declaration.registry import open_benchmark  # noqa: E402
from snellen.core.benchmark import Variant  # noqa: E402
from snellen.core.errors import UsageError  # noqa: E402
from snellen.core.output import Failure, Generated  # noqa: E402
from snellen.core.record import Record  # noqa: E402
from snellen.core.request import Generate, Ref, Text, user  # noqa: E402  # noqa: E402
from snellen.engine.loop.driving import drive_all  # noqa: E402
from snellen.engine.loop.request_broker import RequestBroker, model_concurrency  # noqa: E402
from snellen.engine.ray.cluster import RayCluster, ReplicatedModel  # noqa: E402
from snellen.engine.ray.replicas import BATCHES_PER_REPLICA  # noqa: E402
from snellen.engine.ray.worker import ReplicaWorker  # noqa: E402
from snellen.models.hf.bundled import WEIGHTS  # noqa: E402
from snellen.models.hf.model import HuggingFace  # noqa: E402
from snellen.models.naming.registry import open_model  # noqa: E402
from snellen.store.responses import ResponseStore  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
HEAD = {"num_cpus": 1, "include_dashboard": False}
MODEL = "snellen/tiny:batch_size=4"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster as Nodes

    nodes = Nodes(initialize_head=True, head_node_args=HEAD)
    nodes.add_node(num_cpus=1)
    yield nodes
    ray.shutdown()
    nodes.shutdown()


def driven(model: Any, count: int, midway: Any = None) -> list[Record]:
    """Records of the first questions of eyechart; `midway` is called when a quarter is done."""
    benchmark = open_benchmark("eyechart", Variant(circular="full"))
    records: list[Record] = []

    def finished(record: Record) -> None:
        records.append(record)
        if midway is not None and len(records) == count // 4:
            midway()

    async def main() -> None:
        samples = benchmark.samples(benchmark.open())
        with ResponseStore(None) as nowhere:
            broker = RequestBroker({"model": model}, nowhere)
            chosen = (sample for sample, _ in zip(samples, range(count), strict=False))
            try:
                await drive_all(chosen, benchmark.flow, broker, finished, model_concurrency(model))
            finally:
                broker.close()

    asyncio.run(main())
    return sorted(records, key=lambda record: record.id)


def replies(records: list[Record]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for record in records:
        assert record.failure is None, record
        outputs = [one.output for one in record.passes]
        found[record.id] = [one.text for one in outputs if isinstance(one, Generated)]
    return found


@pytest.mark.release
@pytest.mark.attack("a Ray actor and a node die", "the run goes on")
def test_an_actor_and_a_node_may_die(cluster: Any) -> None:
    count = 120
    expected = replies(driven(open_model(MODEL), count))
    spread = ReplicatedModel(MODEL, RayCluster(address=cluster.address, replicas=2))
    lost_node = cluster.add_node(num_cpus=1)
    started = time.monotonic()

    def kill() -> None:
        ray.kill(spread.actors[0])
        cluster.remove_node(lost_node, allow_graceful=False)

    try:
        records = driven(spread, count, kill)
    finally:
        spread.shut_down()
    assert len(records) == len({record.id for record in records}) == count
    assert replies(records) == expected
    assert spread.losses >= 1
    assert time.monotonic() - started < 300, "the run went on after the losses"


@pytest.mark.release
def test_models_of_one_command_make_room_for_each_other(cluster: Any, tmp_path: Path) -> None:
    """Each wants all cores of the cluster; the first comes back for the second benchmark."""
    data = tmp_path / "own.tsv"
    data.write_text("index\tquestion\tA\tB\tanswer\n1\tWhich?\tone\ttwo\tB\n")
    runs = evaluate(
        ["snellen/tiny", "snellen/tiny-early"],
        ["eyechart", str(data)],
        limit=6,
        cluster=RayCluster(address=cluster.address, replicas=2),
        out=tmp_path / "out",
        html=False,
    ).runs
    assert [run.info.status for run in runs] == ["complete"] * 4
    assert all(run.info.counts.done == run.info.counts.samples for run in runs)


def test_replica_that_cannot_load_gives_one_sentence(cluster: Any, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    shutil.copytree(WEIGHTS / "tiny", folder)
    spread = ReplicatedModel(str(folder), RayCluster(address=cluster.address))
    (folder / "model.safetensors").unlink()
    question = Generate(messages=(user(Text("A?")),), ref=Ref("q"))
    try:
        with pytest.raises(UsageError, match=r"cannot load it: .* holds no weights"):
            asyncio.run(spread.answer(question))
    finally:
        spread.shut_down()


def test_own_model_is_sent_to_replicas(cluster: Any, tmp_path: Path) -> None:
    own = tmp_path / "model.py"
    own.write_text("class Loud:\n    def answer(self, request):\n        return request.messages[0].text().upper()\n")
    spread = ReplicatedModel("Loud", RayCluster(address=cluster.address), [own])
    own.unlink()
    question = Generate(messages=(user(Text("quiet")),), ref=Ref("q"))
    try:
        output = asyncio.run(spread.answer(question))
    finally:
        spread.shut_down()
    assert isinstance(output, Generated), output
    assert not isinstance(output, Failure)
    assert output.text == "QUIET"


def test_remarks_of_a_replica_reach_run_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """E.g. why it shared nothing; `run.json` holds the remarks of the run's model."""
    monkeypatch.setattr(HuggingFace, "remarks", ("shared nothing",))
    worker = ReplicaWorker("snellen/tiny", {})
    worker.ready()
    question = Generate(messages=(user(Text("A?")),), ref=Ref("q"))
    told = worker.answer([question], [])
    worker.end()
    spread = ReplicatedModel("snellen/tiny", RayCluster())
    assert spread.remarks == ()
    for _ in range(2):
        spread._note(told)
    assert spread.remarks == ("shared nothing",)
    assert spread.largest_batch == told.largest_batch == 1


def test_enough_is_asked_for_batches_that_have_grown() -> None:
    model = open_model("snellen/tiny")
    spread = ReplicatedModel("snellen/tiny", RayCluster(replicas=3))
    assert spread.concurrency == 3 * BATCHES_PER_REPLICA * model.batch_limit  # type: ignore[attr-defined]
    fixed = ReplicatedModel("snellen/tiny:batch_size=5", RayCluster(replicas=3))
    assert fixed.concurrency == 3 * BATCHES_PER_REPLICA * 10


@pytest.mark.parametrize(
    ("address", "said"), [("127.0.0.1:1", "no Ray cluster answers at 127.0.0.1:1"), ("here", "expected host:port")]
)
def test_an_address_where_no_cluster_is(address: str, said: str) -> None:
    if ray.is_initialized():
        ray.shutdown()
    spread = ReplicatedModel(MODEL, RayCluster(address=address))
    question = Generate(messages=(user(Text("A?")),), ref=Ref("q"))
    with pytest.raises(UsageError, match=said):
        asyncio.run(spread.answer(question))
