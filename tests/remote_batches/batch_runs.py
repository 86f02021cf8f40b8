"""Runs whose requests are asked in batches: in this process, or in one that can be killed."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from batch_server import Api, BatchServer

from snellen.core.record import Record
from snellen.store.runs import RunFolder, find_runs

APIS: tuple[Api, ...] = ("openai", "mistral", "anthropic", "google")
KEY = "sk-a-key-of-tests-0123456789"
KEYS = ("OPENAI_API_KEY", "MISTRAL_API_KEY", "ANTHROPIC_API_KEY", "GEMINI_API_KEY")
_QUICK = """
import sys
from snellen.cli import main
from snellen.engine.batches import queue
from snellen.engine.limits.retrying import RetryPolicy
queue.CREATION_SECONDS, queue._FIRST_POLL, queue._LONGEST_POLL = 1.0, 0.1, 0.3
queue.SETTLE = 0.4
RetryPolicy.__init__.__kwdefaults__ |= {"base": 0.02, "cap": 0.1, "deadline": 5.0}
sys.exit(main())
"""
"""The command, with waits that suit a test."""


def questions(folder: Path, count: int, options: int = 2) -> Path:
    path = folder / "questions.tsv"
    names = "ABCD"[:options]
    texts = ("one", "two", "three", "four")[:options]
    rows = [f"{i}\tWhat is {i}?\t" + "\t".join(texts) + f"\t{names[i % 2]}" for i in range(count)]
    path.write_text("\n".join(["index\tquestion\t" + "\t".join(names) + "\tanswer", *rows]) + "\n")
    return path


def model_at(server: BatchServer, api: Api, options: str = "batch=yes") -> str:
    base = server.url.replace("/v1", "/v1beta") if api == "google" else server.url
    return f"{api}/tiny:base_url={base},{options}"


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    output: str
    errors: str
    folder: Path

    @property
    def run(self) -> RunFolder:
        (run,) = find_runs(self.folder / "out")
        return run

    def records(self) -> list[Record]:
        return list(self.run.records())

    @property
    def outcomes(self) -> dict[str, str]:
        return {record.id: record.outcome for record in self.records()}


class Command:
    """`snellen run` in a process of its own."""

    def __init__(self, folder: Path, model: str, data: Path, *more: str) -> None:
        self.folder = folder
        arguments = ["run", "-m", model, "-b", str(data), "--out", str(folder / "out"), "--no-html", *more]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _QUICK, *arguments],
            env=os.environ | dict.fromkeys(KEYS, KEY) | {"COLUMNS": "200"},
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )

    def wait_for(self, condition: Callable[[], bool]) -> None:
        end = time.monotonic() + 60
        while not condition():
            assert self.process.poll() is None, self.process.communicate()
            assert time.monotonic() < end, "waited for a minute"
            time.sleep(0.01)

    def kill(self) -> None:
        self.process.send_signal(signal.SIGKILL)
        self.process.communicate()

    def end(self) -> Ended:
        output, errors = self.process.communicate(timeout=400)
        return Ended(self.process.returncode, output, errors, self.folder)


def asked(folder: Path, model: str, data: Path, *more: str) -> Ended:
    """The same, to its end."""
    return Command(folder, model, data, *more).end()
