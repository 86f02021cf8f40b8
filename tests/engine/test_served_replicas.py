"""Replicas that are servers: each starts its own on its GPUs, and another when it dies."""

from __future__ import annotations

import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

ray = pytest.importorskip("ray")

from snellen.core.output import Generated, Output  # noqa: E402
from snellen.core.request import Generate, Ref, Text, user  # noqa: E402  # noqa: E402
from snellen.engine.ray.cluster import RayCluster, ReplicatedModel  # noqa: E402
from snellen.engine.ray.worker import remove_stale_logs  # noqa: E402
from snellen.engine.servers.managed import Servers, presets  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
STAND_IN = Path(__file__).with_name("stand_in_vllm.py")
REPLICAS, GPUS = 2, 2


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A node with four GPUs, as Ray counts them, whose `vllm` is the stand-in; the folder of the
    stand-in's notes."""
    from ray.cluster_utils import Cluster as Nodes

    folder = tmp_path_factory.mktemp("notes")
    programs = tmp_path_factory.mktemp("programs")
    program = programs / "vllm"
    program.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{STAND_IN}" "$@"\n')
    program.chmod(0o755)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
        patch.setenv("STAND_IN_NOTES", str(folder))
        node = {"num_cpus": 4, "num_gpus": REPLICAS * GPUS, "include_dashboard": False}
        nodes = Nodes(initialize_head=True, head_node_args=node)
        ray.init(address=nodes.address, log_to_driver=False)
        yield folder
        ray.shutdown()
        nodes.shutdown()


def noted(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(file.read_text()) for file in folder.glob("*.json")]


def question(text: str) -> Generate:
    return Generate(messages=(user(Text(text)),), ref=Ref(text))


def is_serving(pid: int) -> bool:
    """Whether the process runs; one that has ended may still wait for its parent."""
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_each_replica_serves_on_its_own_gpus_and_a_dead_server_is_replaced(notes: Path) -> None:
    names = [f"question {number}" for number in range(60)]
    names[20] = "a fatal question"
    spread = ReplicatedModel("vllm/some/model", RayCluster(replicas=REPLICAS, gpus=GPUS, cpus=1))

    async def ask(texts: list[str]) -> list[Output]:
        return list(await asyncio.gather(*(spread.answer(question(text)) for text in texts)))

    async def until(servers: int) -> None:
        """Asks until so many servers have been started."""
        deadline = time.monotonic() + 120
        while len(noted(notes)) < servers:
            assert time.monotonic() < deadline, f"{len(noted(notes))} servers of {servers}"
            await ask(["are you there?"] * 40)
            await asyncio.sleep(0.2)

    async def main() -> list[Output]:
        await until(REPLICAS)
        outputs = await ask(names)
        await until(REPLICAS + 1)
        return outputs

    try:
        outputs = asyncio.run(main())
        first, second = (note for note in noted(notes) if is_serving(note["pid"]))
    finally:
        spread.shut_down()
    said = [one.text for one in outputs if isinstance(one, Generated)]
    assert said == [name.upper() for name in names]
    assert spread.losses == 1
    assert len(noted(notes)) == REPLICAS + 1
    for note in noted(notes):
        assert note["arguments"][:2] == ["serve", "some/model"]
        assert note["arguments"][-2:] == ["--tensor-parallel-size", str(GPUS)]
        assert len(note["gpus"].split(",")) == GPUS
    assert not set(first["gpus"].split(",")) & set(second["gpus"].split(","))
    gone_by = time.monotonic() + 15
    while any(psutil.pid_exists(note["pid"]) for note in noted(notes)):
        assert time.monotonic() < gone_by, "a server outlived its replica"
        time.sleep(0.1)
    left = {note["parent"] for note in noted(notes)}
    folders = Path(tempfile.gettempdir()).glob("snellen-replica-*")
    assert not [one for one in folders if int(one.name.rpartition("-")[2]) in left]


def test_logs_of_dead_replicas_are_removed_and_others_kept(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    gone = psutil.Popen([sys.executable, "-c", "pass"])
    gone.wait()
    for name in (f"snellen-replica-{gone.pid}", "snellen-replica-x3k2", f"snellen-replica-{os.getpid()}", "another"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "server.log").write_text("ready")
    remove_stale_logs()
    assert sorted(one.name for one in tmp_path.iterdir()) == ["another", f"snellen-replica-{os.getpid()}"]


@pytest.mark.parametrize(
    ("provider", "words"), [("vllm", "--tensor-parallel-size 4"), ("sglang", "--tp-size 4"), ("lmdeploy", "--tp 4")]
)
def test_server_command_gets_its_gpu_count(provider: str, words: str) -> None:
    assert presets(4)[provider].command == f"{presets()[provider].command} {words}"
    assert presets(1)[provider] == presets()[provider]
    four, one = (Servers(Path(), gpus=gpus).open_managed(f"{provider}/some/model") for gpus in (4, 1))
    assert four is not None
    assert one is not None
    assert four.identity == one.identity
