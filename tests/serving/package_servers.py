"""Servers of other people's packages, run on loopback for a test, and what is asked of each."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import psutil
import pytest

import snellen
from snellen import Results, evaluate
from snellen.api.results import Run
from snellen.engine.limits.abort import MAX_CONSECUTIVE_FAILURES
from snellen.engine.loop.progress import NoProgress
from snellen.engine.loop.request_broker import MAIN
from snellen.engine.servers.process import free_port

START = 280.0
"""Seconds that a server may take to start on a busy machine."""


class PackageServer(NamedTuple):
    """A server that runs: its address without /v1, its process, its log."""

    root: str
    process: subprocess.Popen[bytes]
    log: Path

    @property
    def base_url(self) -> str:
        return f"{self.root}/v1"


@contextmanager
def running(
    command: Callable[[int], list[str | Path]],
    log: Path,
    health: str,
    variables: Mapping[str, str] | None = None,
    seconds: float = START,
) -> Iterator[PackageServer]:
    """A server in a process group of its own from its health check to the end of the block."""
    port = free_port()
    words = [str(word) for word in command(port)]
    with log.open("wb") as out:
        process = subprocess.Popen(
            words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, start_new_session=True,
            env={**os.environ, "OMP_NUM_THREADS": "1", **(variables or {})},
        )  # fmt: skip
    try:
        began = time.monotonic()
        while not _answers(port, health):
            said = log.read_text(errors="replace")[-2000:]
            assert process.poll() is None, f"{words[0]} ended with {process.poll()}: {said}"
            assert time.monotonic() - began < seconds, f"{words[0]} was not ready after {seconds} s: {said}"
            time.sleep(0.5)
        yield PackageServer(f"http://127.0.0.1:{port}", process, log)
    finally:
        end(process)


def _answers(port: int, path: str) -> bool:
    """Whether a path answers 200."""
    import http.client

    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", path)
        return connection.getresponse().status == 200
    except OSError:
        return False
    finally:
        connection.close()


def end(process: subprocess.Popen[bytes]) -> None:
    """End a server and all that it started."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        family = psutil.Process(process.pid).children(recursive=True) if process.poll() is None else []
        if process.poll() is None:
            os.killpg(process.pid, number)
        _, alive = psutil.wait_procs(family, timeout=10)
        for one in alive:
            one.kill()
        if process.poll() is not None or number == signal.SIGKILL:
            process.wait()
            return
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
        return


class KillAt(NoProgress):
    """Kills a process once so many samples have ended."""

    def __init__(self, process: subprocess.Popen[bytes], samples: int) -> None:
        self.process, self.samples = process, samples

    def on_advance(self, done: int, failed: int, *_: object) -> None:
        if done + failed == self.samples and self.process.poll() is None:
            for one in [*psutil.Process(self.process.pid).children(recursive=True), psutil.Process(self.process.pid)]:
                one.kill()


class StopAt(NoProgress):
    """Presses Ctrl-C once so many samples have ended."""

    def __init__(self, samples: int) -> None:
        self.samples = samples

    def on_advance(self, done: int, failed: int, *_: object) -> None:
        if done + failed == self.samples:
            os.kill(os.getpid(), signal.SIGINT)


def check_stop(run: Callable[..., Results], samples: int, total: int) -> Run:
    """A run that Ctrl-C stops keeps what it has, and the same call asks the rest alone.

    No reply comes twice; a request may be sent again. vLLM 0.32 answers 500 to a picture whose first
    request was cancelled before its engine had it: the server's cache has it, that of the engine not.
    """
    with pytest.raises(snellen.RunInterrupted) as caught:
        run(progress=StopAt(samples))
    stopped = next(one for one in snellen.open_runs(caught.value.run.parent) if one.path == caught.value.run)
    done = stopped.info.counts.done
    assert stopped.info.status == "interrupted"
    assert samples <= done < total
    (whole,) = run().runs
    assert (whole.path, whole.info.status) == (stopped.path, "complete")
    assert (whole.info.counts.done, whole.info.counts.failed) == (total, 0)
    spent = whole.info.spent[MAIN]
    assert spent.answered == total, f"{spent.answered} replies to {total} questions"
    return whole


def check_kill(start: Callable[[], Any], run: Callable[..., Results], total: int) -> None:
    """A server that is killed interrupts the run, and a new one of that name is asked the rest."""
    with start() as server:
        (broken,) = run(server, progress=KillAt(server.process, 5)).runs
    assert broken.info.status == "interrupted"
    assert f"the last {MAX_CONSECUTIVE_FAILURES} requests to" in broken.info.stopped
    done = broken.info.counts.done
    assert 5 <= done < total
    with start() as server:
        (whole,) = run(server).runs
    assert whole.path == broken.path
    assert whole.info.status == "complete", whole.info.stopped
    assert whole.info.counts.sent == total - done


def asked(spec: str, out: Path, limit: int, **how: Any) -> Results:
    """The bundled benchmark, with a picture in each question."""
    return evaluate(spec, "eyechart", limit=limit, out=out, html=False, **how)


def with_older_names(checkpoint: Path, to: Path) -> Path:
    """A copy of the bundled model whose tensors have the names of transformers 4, which vLLM reads:
    it knows those of newer LLaVA checkpoints only where they begin with `model.`."""
    from safetensors.torch import load_file, save_file

    shutil.copytree(checkpoint, to)
    weights = load_file(to / "model.safetensors")
    renamed = {name.replace("vision_tower.", "vision_tower.vision_model."): value for name, value in weights.items()}
    save_file(renamed, to / "model.safetensors", metadata={"format": "pt"})
    return to
