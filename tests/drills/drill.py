"""`snellen` in processes of its own, for drills that fill disks and kill."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import Popen

from snellen.core.record import Record
from snellen.store.runs import RunFolder, find_runs

MODELS = Path(__file__).with_name("faulty_models.py")
AS_A_USER = ("setpriv", "--bounding-set=-dac_override,-dac_read_search")
"""Before a command run as root: the rights of files hold for it as for everybody."""


@dataclass(frozen=True)
class Ended:
    code: int
    out: str
    said: str
    """Standard error."""
    seconds: float

    def sentence(self) -> str:
        """What is said about a failure: one line, exit code 2, no traceback."""
        assert self.code == 2, self
        assert self.said.startswith("snellen: "), self
        assert self.said.count("\n") == 1, self
        return self.said


class Drill:
    """A folder with questions, where runs are made."""

    def __init__(self, home: Path, samples: int = 40) -> None:
        self.home = home
        self.samples = samples
        self.data = home / "questions.tsv"
        rows = [f"{i}\tWhat is {i}?\tone\ttwo\tB" for i in range(samples)]
        self.data.write_text("\n".join(["index\tquestion\tA\tB\tanswer", *rows]) + "\n")

    @property
    def log(self) -> Path:
        """Where the models of `faulty_models.py` note what they are sent."""
        return self.home / "sent.log"

    def sent(self) -> list[str]:
        return self.log.read_text().split() if self.log.exists() else []

    def words(self, model: str, *more: str, benchmark: str = "") -> list[str]:
        words = [sys.executable, "-m", "snellen", "run", "--load", str(MODELS), "-m", model]
        return [*words, "-b", benchmark or str(self.data), "-q", "--no-html", *more]

    def start(
        self,
        model: str,
        *more: str,
        before: Sequence[str] = (),
        limit: Callable[[], None] | None = None,
        benchmark: str = "",
        **environment: str,
    ) -> Popen[str]:
        return Popen(
            [*before, *self.words(model, *more, benchmark=benchmark)],
            cwd=self.home,
            env=os.environ | {"SENT_LOG": str(self.log)} | environment,
            text=True,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=limit,
        )

    def run(self, model: str, *more: str, out: Path | str = "out", **how: object) -> Ended:
        started = time.monotonic()
        process = self.start(model, "--out", str(out), *more, **how)  # type: ignore[arg-type]
        return ended(process, started)

    def stop(self, process: Popen[str], number: signal.Signals) -> Ended:
        """Send a signal; `seconds` is what it took to end."""
        started = time.monotonic()
        process.send_signal(number)
        return ended(process, started)

    def wait_for_sent(self, count: int, process: Popen[str]) -> None:
        while len(self.sent()) < count:
            assert process.poll() is None, process.communicate()
            time.sleep(0.005)

    def only_run(self, out: Path | str = "out") -> RunFolder:
        (run,) = find_runs(self.home / out)
        return run

    def records(self, out: Path | str = "out") -> list[Record]:
        return list(self.only_run(out).records())


def ended(process: Popen[str], started: float) -> Ended:
    try:
        out, said = process.communicate(timeout=60)
    finally:
        process.kill()
    return Ended(process.returncode, out, said, time.monotonic() - started)


def files_of_at_most(size: int) -> Callable[[], None]:
    """Limits every file the process writes, in bytes: a full disk that needs no rights."""

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))

    return limit
