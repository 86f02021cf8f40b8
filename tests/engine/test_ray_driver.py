"""`snellen run --executor ray`: the driver dies, is stopped, and lacks what it asks for."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import socketserver
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import psutil
import pytest

ray = pytest.importorskip("ray")

from snellen import evaluate  # noqa: E402
from snellen.core.benchmark import Variant  # noqa: E402
from snellen.core.errors import UsageError  # noqa: E402
from snellen.core.output import Generated, Usage  # noqa: E402
from snellen.core.record import Record  # noqa: E402
from snellen.core.request import Generate, Ref, Text, user  # noqa: E402  # noqa: E402
from snellen.engine.ray import placement  # noqa: E402
from snellen.engine.ray.cluster import RayCluster, ReplicatedModel  # noqa: E402
from snellen.engine.ray.lost_runs import LOST_REASON  # noqa: E402
from snellen.engine.ray.placement import NO_NODE  # noqa: E402
from snellen.store.responses import ResponseStore  # noqa: E402
from snellen.store.runs import find_runs  # noqa: E402

pytestmark = pytest.mark.filterwarnings("default")
SLOW = Path(__file__).with_name("slow_model.py")
ROWS = 60
AT_ACTORS = 16
"""Requests of the slow model inside two actors: two batches of four each."""
QUESTION = Generate(messages=(user(Text("A?")),), ref=Ref("q"))


@contextmanager
def cluster(log: Path) -> Iterator[Any]:
    """Two nodes of a core each, which hand the log's name on to what runs there. Nodes of one
    machine hand out the same ports, and remember who died there: few tests share a cluster."""
    from ray.cluster_utils import Cluster as Nodes

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SLOW_MODEL_LOG", str(log))
        patch.setenv("SLOW_MODEL_SECONDS", "0.15")
        made = Nodes(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
        made.add_node(num_cpus=1)
        yield made
        ray.shutdown()
        made.shutdown()


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("log") / "sent.log"


@pytest.fixture(scope="module")
def killed(log: Path) -> Iterator[Any]:
    """A cluster whose drivers are killed."""
    with cluster(log) as nodes:
        yield nodes


@pytest.fixture
def nodes(tmp_path: Path) -> Iterator[Any]:
    with cluster(tmp_path / "sent.log") as made:
        yield made


def command(out: Path, *words: str, executor: str = "ray") -> subprocess.Popen[str]:
    whole = [sys.executable, "-m", "snellen", "run", *words, "--executor", executor]
    return subprocess.Popen(
        [*whole, "--out", str(out), "--no-html"], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )


def records(out: Path) -> list[Record]:
    (run,) = find_runs(out)
    return sorted(run.records(), key=lambda record: record.id)


def lines(out: Path) -> list[str]:
    return [line for file in out.glob("*/samples.jsonl") for line in file.read_text().splitlines()]


def wait_for(count: int, out: Path, process: subprocess.Popen[str]) -> None:
    while len(lines(out)) < count:
        assert process.poll() is None, process.communicate()[1]
        time.sleep(0.005)


@pytest.mark.attack("the driver of a Ray run killed", "nothing is lost or doubled")
def test_run_resumes_after_a_killed_driver_without_loss_or_repeat(killed: Any, log: Path, tmp_path: Path) -> None:
    data = tmp_path / "questions.tsv"
    rows = [f"{number}\tWhat is {number}?\tone\ttwo\tB" for number in range(ROWS)]
    data.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")
    out = tmp_path / "out"
    words = ["--load", str(SLOW), "-m", "slow", "-b", str(data)]
    executor = f"ray:replicas=2,address={killed.address}"
    process = command(out, *words, executor=executor)
    wait_for(12, out, process)
    process.kill()
    process.communicate()
    again = command(out, *words, executor=executor)
    said = again.communicate(timeout=180)[1]
    assert again.returncode == 0, said
    found = [json.loads(line)["id"] for line in lines(out)]
    assert sorted(found) == sorted(map(str, range(ROWS)))
    sent = log.read_text().split()
    assert set(sent) == {f"{number}/0" for number in range(ROWS)}
    assert len(sent) <= ROWS + AT_ACTORS


@pytest.mark.release
def test_after_a_kill_the_answers_are_those_of_one_process(killed: Any, tmp_path: Path) -> None:
    words = ["-m", "snellen/tiny:batch_size=4", "-b", "eyechart", "--limit", "80", "--circular"]
    executor = f"ray:replicas=2,address={killed.address}"
    out = tmp_path / "out"
    process = command(out, *words, executor=executor)
    wait_for(8, out, process)
    process.kill()
    process.communicate()
    assert 8 <= len(lines(out)) < 80
    again = command(out, *words, executor=executor)
    said = again.communicate(timeout=180)[1]
    assert again.returncode == 0, said
    evaluate(
        ["snellen/tiny:batch_size=4"],
        ["eyechart"],
        limit=80,
        variant=Variant(circular="early"),
        out=tmp_path / "alone",
        html=False,
    )
    found, alone = records(out), records(tmp_path / "alone")
    assert [one.id for one in found] == [one.id for one in alone]
    assert len(found) == 80
    assert list(map(replies, found)) == list(map(replies, alone))
    assert [one.score for one in found] == [one.score for one in alone]


def replies(record: Record) -> list[str]:
    outputs = [one.output for one in record.passes]
    assert outputs
    assert all(isinstance(one, Generated) for one in outputs), outputs
    return [one.text for one in outputs if isinstance(one, Generated)]


@pytest.mark.release
@pytest.mark.parametrize("pressed", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_is_quick_and_leaves_no_process(tmp_path: Path, pressed: signal.Signals) -> None:
    """With a cluster of the command's own."""
    out = tmp_path / "out"
    process = command(out, "-m", "snellen/tiny:batch_size=1", "-b", "eyechart", "--circular")
    wait_for(3, out, process)
    children = psutil.Process(process.pid).children(recursive=True)
    assert any("raylet" in child.name() for child in children)
    began = time.monotonic()
    process.send_signal(pressed)
    said = process.communicate(timeout=60)[1]
    assert time.monotonic() - began < 10
    assert process.returncode == 130
    assert "continue with: snellen run -m" in said
    assert "--executor ray" in said
    assert "Traceback" not in said
    assert len(records(out)) >= 3
    _, alive = psutil.wait_procs(children, timeout=20)
    assert not [child.cmdline()[:2] for child in alive if child.is_running()]


@pytest.mark.release
@pytest.mark.attack(
    "the Ray node of a run dies, and Ray ends the process with it",
    "a sentence says so and how to go on, run.json says interrupted, what was spent is kept, and "
    "nothing is asked twice",
)
def test_reports_node_failure(tmp_path: Path) -> None:
    """With a cluster of the command's own, whose raylet is killed."""
    out = tmp_path / "out"
    words = ["-m", "snellen/tiny:batch_size=1", "-b", "eyechart", "--limit", "80"]
    process = command(out, *words)
    wait_for(3, out, process)
    children = psutil.Process(process.pid).children(recursive=True)
    (raylet,) = (child for child in children if child.name() == "raylet")
    raylet.kill()
    said = process.communicate(timeout=120)[1]
    # Ray ends the process with 1, which is Snellen's code for samples that are missing.
    assert process.returncode == (1 if f"snellen: {LOST_REASON}" in said else 2), said
    assert f"snellen: {LOST_REASON}" in said or NO_NODE in said
    assert "Traceback" not in said
    (run,) = find_runs(out)
    assert run.info.status == "interrupted"
    finished = list(run.records())
    assert 3 <= len(finished) < 80
    assert run.info.spent["model"].answered >= len(finished)
    _, alive = psutil.wait_procs(children, timeout=30)
    assert not [child.cmdline()[:2] for child in alive if child.is_running()]

    again = command(out, *words)
    said = again.communicate(timeout=180)[1]
    assert again.returncode == 0, said
    (run,) = find_runs(out)
    spent = run.info.spent["model"]
    with ResponseStore(out / "store.sqlite") as store:
        assert len(store) == 80
    usages = [replied(record).usage or Usage() for record in run.records()]
    assert (spent.answered, spent.reused) == (80, 0)
    assert spent.usage.prompt_tokens == sum(one.prompt_tokens for one in usages)
    assert spent.usage.completion_tokens == sum(one.completion_tokens for one in usages)


def replied(record: Record) -> Generated:
    (only,) = record.passes
    assert isinstance(only.output, Generated)
    return only.output


@pytest.mark.release
def test_run_continues_with_fewer_replicas_and_uses_a_new_node(nodes: Any) -> None:
    # Connected here, so that the cluster can still be asked when the replicas have ended.
    ray.init(address=nodes.address, log_to_driver=False)
    spread = ReplicatedModel("snellen/tiny:batch_size=1", RayCluster(address=nodes.address, replicas=3))

    async def ask(count: int) -> None:
        questions = [
            Generate(messages=(user(Text(f"What is {number}?")),), ref=Ref(str(number))) for number in range(count)
        ]
        outputs = await asyncio.gather(*map(spread.answer, questions))
        assert all(isinstance(one, Generated) for one in outputs)

    async def main() -> None:
        deadline = time.monotonic() + 120
        while len(spread.actors) < 2:
            assert time.monotonic() < deadline
            await ask(8)
        assert spread.remarks == ("the cluster had room for 2 of 3 replicas",)
        nodes.add_node(num_cpus=1)
        while len(spread.actors) < 3:
            assert time.monotonic() < deadline
            await ask(8)

    try:
        asyncio.run(main())
        assert spread.remarks == ()
    finally:
        spread.shut_down()
    deadline = time.monotonic() + 30
    while [one for one in groups() if one["state"] != "REMOVED"]:
        assert time.monotonic() < deadline, "a placement group was left behind"
        time.sleep(0.1)


def groups() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = list(ray.util.placement_group_table().values())
    assert found
    return found


@pytest.mark.release
def test_reports_resources_that_nodes_lack(nodes: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """GPUs that no node has; then Snellen itself."""
    monkeypatch.setattr(placement, "_NODE_TIMEOUT", 0.0)
    said = "1 CPU and 2 GPUs on one node, .* the largest has 1 CPU and 0 GPUs; give --gpus-per"
    refused(RayCluster(address=nodes.address, gpus=2, cpus=1), said)
    package = tmp_path / "snellen"
    package.mkdir()
    (package / "__init__.py").write_text("raise ImportError('not in this environment')\n")
    nodes.add_node(num_cpus=4, env_vars={"PYTHONPATH": str(tmp_path)})
    said = r"cannot start on its node: ImportError: not in this environment; every node needs"
    refused(RayCluster(address=nodes.address, cpus=4), said)


def refused(cluster: RayCluster, said: str) -> None:
    spread = ReplicatedModel("snellen/tiny", cluster)
    try:
        with pytest.raises(UsageError, match=said):
            asyncio.run(spread.answer(QUESTION))
    finally:
        spread.shut_down()


@pytest.mark.release
def test_reports_missing_gpus_at_once(tmp_path: Path) -> None:
    began = time.monotonic()
    process = command(tmp_path, "-m", "snellen/tiny", "-b", "eyechart", "--limit", "2", executor="ray:gpus=99")
    said = process.communicate(timeout=120)[1]
    assert process.returncode == 2
    assert "no node of the Ray cluster has as much; the largest has" in said
    assert "Traceback" not in said
    assert time.monotonic() - began < 60


class Silent(socketserver.BaseRequestHandler):
    """Takes what comes, and hangs up."""

    def handle(self) -> None:
        self.request.recv(1)


@pytest.mark.parametrize("kind", ["http", "silent"])
def test_names_server_that_is_not_a_cluster(kind: str) -> None:
    server: socketserver.TCPServer
    if kind == "http":
        server = HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    else:
        server = socketserver.TCPServer(("127.0.0.1", 0), Silent)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    address = f"127.0.0.1:{server.server_address[1]}"
    if ray.is_initialized():
        ray.shutdown()
    try:
        with pytest.raises(UsageError, match=f"what answers at {address} is no Ray cluster"):
            asyncio.run(ReplicatedModel("snellen/tiny", RayCluster(address=address)).answer(QUESTION))
    finally:
        server.shutdown()
        server.server_close()
    assert not ray.is_initialized()


def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    """`ray` cannot be imported in that process."""
    code = (
        "import sys\n"
        "sys.modules['ray'] = None\n"
        "from snellen.cli import main\n"
        f"sys.exit(main(['run', '-m', 'snellen/tiny', '-b', 'eyechart', '--limit', '1',\n"
        f"               '--executor', 'ray', '--out', {str(tmp_path)!r}]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False, env=os.environ
    )
    assert done.returncode == 2
    assert "pip install 'snellen[ray]'" in done.stderr
    assert "Traceback" not in done.stderr
