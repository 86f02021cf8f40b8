"""Models whose server Snellen starts: `transformers serve` with the bundled weights."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from snellen import Results, evaluate
from snellen.cli import main
from snellen.core.output import Failure
from snellen.core.record import Record
from snellen.engine.limits.abort import MAX_CONSECUTIVE_FAILURES
from snellen.engine.loop.progress import NoProgress
from snellen.engine.servers.managed import Servers, presets
from snellen.models.hf.bundled import WEIGHTS
from snellen.models.naming.registry import open_model
from snellen.store.responses import ResponseStore

TINY = f"transformers/{WEIGHTS / 'tiny'}"
SMALL = Path(__file__).with_name("small_server.py")


@pytest.fixture(autouse=True)
def _one_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    """Threads of so small a model wait for each other for most of their time."""
    monkeypatch.setenv("OMP_NUM_THREADS", "1")


def servers_running() -> list[psutil.Process]:
    return [process for process in psutil.Process().children() if "serve" in process.cmdline()]


class KillAfter(NoProgress):
    """Kills the server once so many samples have ended."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def on_advance(self, done: int, failed: int, *_: object) -> None:
        if done + failed == self.samples:
            (server,) = servers_running()
            os.kill(server.pid, signal.SIGKILL)


def kind_of(record: Record) -> str:
    output = record.passes[-1].output
    assert isinstance(output, Failure)
    return output.kind


@pytest.mark.release
@pytest.mark.attack(
    "a server that Snellen started is killed (SIGKILL)",
    "one sentence with the end of its log, the run is interrupted, the next start starts another",
)
def test_run_resumes_after_its_server_died(tmp_path: Path) -> None:
    said: list[str] = []

    def run(**how: object) -> Results:
        return evaluate(TINY, "eyechart", limit=40, out=tmp_path, html=False, serving=said.append, **how)  # type: ignore[arg-type]

    broken = run(progress=KillAfter(3))
    (first,) = broken.runs
    assert first.info.status == "interrupted"
    assert f"the last {MAX_CONSECUTIVE_FAILURES} requests to" in first.info.stopped
    assert 3 <= first.info.counts.done < 40
    kinds = [kind_of(record) for record in first.failures()]
    assert set(kinds) == {"connection"}
    assert MAX_CONSECUTIVE_FAILURES <= len(kinds) <= 40 - first.info.counts.done
    (lost,) = broken.lost
    assert "ended by itself (signal SIGKILL)" in str(lost)
    assert "POST /v1/chat/completions" in str(lost)

    whole = run()
    (second,) = whole.runs
    assert (second.path, second.info.status, whole.lost) == (first.path, "complete", [])
    assert second.info.counts.sent == 40 - first.info.counts.done
    started = sum(line.startswith("starting") for line in said)

    (again,) = run().runs
    assert again.info.status == "complete"
    assert sum(line.startswith("starting") for line in said) == started == 2
    assert not servers_running()


@pytest.mark.release
def test_replies_over_a_server_equal_those_in_process(tmp_path: Path, capsys) -> None:
    models = ["-m", "snellen/tiny", "-m", TINY]
    code = main(["parity", *models, "-b", "eyechart", "--limit", "24", "--out", str(tmp_path)])
    out = capsys.readouterr().out
    assert code == 0
    assert "equal in every aspect that both report" in out
    for aspect in ("prompt tokens", "reply"):
        (line,) = [line for line in out.splitlines() if line.startswith(aspect)]
        assert line.split()[-2:] == ["24", "24"]
    assert not servers_running()


@pytest.mark.release
def test_the_only_model_that_a_server_lists(tmp_path: Path, monkeypatch, capsys) -> None:
    hub = tmp_path / "hub" / "models--snellen--tiny"
    commit = 40 * "0"
    shutil.copytree(WEIGHTS / "tiny", hub / "snapshots" / commit)
    (hub / "blobs").mkdir()
    (hub / "refs").mkdir()
    (hub / "refs" / "main").write_text(commit)
    monkeypatch.setenv("HF_HUB_CACHE", str(hub.parent))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    serve = "transformers serve --host {host} --port {port}"
    command = ["run", "--serve", serve, "-b", "eyechart", "--limit", "3", "--out", str(tmp_path)]
    assert main(command) == 0
    captured = capsys.readouterr()
    assert "snellen/tiny (limit 3)" in captured.out
    assert "starting a server" in captured.err
    assert not servers_running()


@pytest.mark.release
def test_a_server_that_cannot_load_says_why_in_one_sentence(tmp_path: Path, capsys) -> None:
    folder = tmp_path / "broken"
    folder.mkdir()
    (folder / "config.json").write_text('{"model_type": "no-such-architecture"}')
    code = main(["run", "-m", f"transformers/{folder}", "-b", "eyechart", "--out", str(tmp_path)])
    err = capsys.readouterr().err
    assert code == 2
    assert "ended before it was ready (exit code 1); the last lines of its log" in err
    (log,) = tmp_path.glob("servers/*.log")
    assert log.read_text().splitlines()[-1] in err


def asking(out: Path, manner: str = "child") -> subprocess.Popen[str]:
    """A command whose server has been asked, and does not answer."""
    serve = f"python {SMALL} {{port}} {manner}"
    words = ["run", "--serve", serve, "-m", "some", "-b", "eyechart", "--out", str(out)]
    command = subprocess.Popen([sys.executable, "-m", "snellen", *words], stderr=subprocess.PIPE, text=True)
    while not (logs := list(out.glob("servers/*.log"))) or "asked" not in logs[0].read_text():
        assert command.poll() is None
        time.sleep(0.05)
    return command


def family(command: subprocess.Popen[str]) -> list[psutil.Process]:
    """The server, its child and its watcher."""
    started = psutil.Process(command.pid).children()
    (watcher,) = [one for one in started if any("watchdog" in word for word in one.cmdline())]
    (server,) = [one for one in started if one != watcher]
    return [server, *server.children(), watcher]


def wait_for_the_end_of(*processes: psutil.Process) -> None:
    gone, alive = psutil.wait_procs(processes, timeout=60)
    assert len(gone) == 3
    assert not alive


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_stopped_command_stops_its_server(tmp_path: Path, number: signal.Signals) -> None:
    command = asking(tmp_path)
    server, child, watcher = family(command)
    command.send_signal(number)
    _, err = command.communicate()
    assert command.returncode == 130
    assert "continue with: snellen run --serve" in err
    wait_for_the_end_of(server, child, watcher)


def test_continuation_is_printed_before_waiting_for_a_server(tmp_path: Path) -> None:
    """The server ignores SIGTERM; a second Ctrl-C waits no longer."""
    command = asking(tmp_path, "child stubborn")
    server, child, watcher = family(command)
    began = time.monotonic()
    command.send_signal(signal.SIGINT)
    assert command.stderr is not None
    lines = iter(command.stderr.readline, "")
    said = next(line for line in lines if "continue with" in line)
    assert said.startswith("stopping; servers and replicas have 10 s to end")
    assert "continue with: snellen run --serve" in said
    time.sleep(1)
    assert command.poll() is None
    command.send_signal(signal.SIGINT)
    _, err = command.communicate(timeout=60)
    assert time.monotonic() - began < 8
    assert command.returncode == 130
    assert "continue with: snellen run --serve" in err
    assert "Traceback" not in err
    wait_for_the_end_of(server, child, watcher)


def test_a_killed_command_leaves_no_server_behind(tmp_path: Path) -> None:
    command = asking(tmp_path)
    server, child, watcher = family(command)
    command.kill()
    command.communicate()
    wait_for_the_end_of(server, child, watcher)


def test_identity_holds_no_address_and_no_path(tmp_path: Path) -> None:
    elsewhere = tmp_path / "tiny"
    shutil.copytree(WEIGHTS / "tiny", elsewhere)
    with Servers(tmp_path) as servers:
        here, there = servers.open_managed(TINY), servers.open_managed(f"transformers/{elsewhere}")
        assert here is not None
        assert there is not None
        assert here.identity == there.identity
        assert here.identity.provider == "transformers"
        assert here.identity.name == here.name.rpartition("/")[2] == "tiny"
        assert here.identity.facts["revision"].startswith("sha256:")
        assert "127.0.0.1" not in repr(here.identity)
        assert servers.open_managed(TINY) is here


def test_the_flags_of_a_command_are_part_of_the_identity(tmp_path: Path) -> None:
    def identity(serve: str) -> str:
        with Servers(tmp_path, serve) as servers:
            return servers.open_served("vllm/some/model")[1].identity.digest()

    plain = identity("vllm serve {model} --port {port}")
    assert plain == identity("vllm serve {model} --port {port}")
    assert plain != identity("vllm serve {model} --port {port} --quantization fp8")


def test_a_running_server_is_not_ours_to_start(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers:
        assert servers.open_managed("vllm/some/model:base_url=http://127.0.0.1:1/v1") is None
        assert servers.open_managed("random") is None
        for provider in presets():
            assert servers.open_managed(f"{provider}/some/model") is not None


def test_a_preset_is_asked_as_its_provider(tmp_path: Path) -> None:
    running = open_model("vllm/some/model:base_url=http://127.0.0.1:1/v1,image_size=448")
    with Servers(tmp_path) as servers:
        ours = servers.open_managed("vllm/some/model:image_size=448")
        assert ours is not None
        assert ours.identity == running.identity
        assert ours.capabilities == running.capabilities


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--serve", "x {port}", "-m", "a", "-m", "b"], "one model; got 2 models"),
        (["--serve", "x {port}", "-m", "vllm/a:base_url=http://h/v1"], "drop one"),
        (["--serve", "no-such-program {port}"], "no program 'no-such-program'"),
        (["--serve", "python x.py", "-m", "a"], "has no {port}"),
        (["-m", "vllm/a", "--requests", "serve_timeout=0"], "expected seconds above 0"),
        ([], "no model is named"),
    ],
)
def test_a_mistake_is_one_sentence(tmp_path: Path, capsys, words: list[str], sentence: str) -> None:
    code = main(["run", *words, "-b", "eyechart", "--limit", "1", "--out", str(tmp_path)])
    err = capsys.readouterr().err
    assert code == 2
    assert sentence in err


def test_stored_replies_need_no_server(tmp_path: Path) -> None:
    with Servers(tmp_path) as servers, ResponseStore(None) as store:
        model = servers.open_managed(TINY)
        assert model is not None
        assert store.model_key(model.identity)
    assert not (tmp_path / "servers").exists()
