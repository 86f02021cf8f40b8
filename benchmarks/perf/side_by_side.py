"""What a machine gives two processes that compute side by side, each on a core of its own, with
nothing between them: the most that two replicas could reach there.

`python -m benchmarks.perf.side_by_side MODEL QUESTIONS BATCH CORE` is one of them: it loads the
model, says so, waits for a line, answers all passes of the questions, and says how long it took.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from time import perf_counter

from benchmarks.perf.questions import passes

from snellen.core.model import BatchModel
from snellen.models.naming.registry import open_model


def times_as_fast(model: str, questions: int, batch: int) -> float:
    """Work done in a second by two processes over that by one; 2 where neither slows the other.
    The second core has nothing to do while one is measured."""
    [alone] = _seconds(model, questions, batch, 1)
    return 2 * alone / max(_seconds(model, questions, batch, 2))


def cores() -> list[int]:
    """Those this process may use; none where the system does not tell."""
    return sorted(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else []


def _seconds(model: str, questions: int, batch: int, processes: int) -> list[float]:
    free = cores() or [-1]
    with ExitStack() as stack:
        started = [
            stack.enter_context(_process(model, questions, batch, free[number % len(free)]))
            for number in range(processes)
        ]
        for process in started:
            _line(process)
        for process in started:
            assert process.stdin is not None
            process.stdin.write("go\n")
            process.stdin.flush()
        return [float(_line(process)) for process in started]


@contextmanager
def _process(model: str, questions: int, batch: int, core: int) -> Iterator[subprocess.Popen[str]]:
    words = [sys.executable, "-m", __name__, model, str(questions), str(batch), str(core)]
    pipe = subprocess.PIPE
    with subprocess.Popen(words, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True) as process:
        try:
            yield process
        finally:
            process.kill()


def _line(process: subprocess.Popen[str]) -> str:
    """Raises RuntimeError where the process has ended."""
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    if not line:
        raise RuntimeError("a process of the comparison ended early")
    return line


def _work(name: str, questions: int, batch: int, core: int) -> None:
    if core >= 0:
        os.sched_setaffinity(0, {core})
    model = open_model(f"{name}:batch_size={batch},threads=1")
    assert isinstance(model, BatchModel)
    asked = passes(questions)
    # About pictures that are not asked about again.
    model.answer_batch(passes(questions + 2)[len(asked) :][:batch])
    _say("ready")
    sys.stdin.readline()
    started = perf_counter()
    for start in range(0, len(asked), batch):
        model.answer_batch(asked[start : start + batch])
    _say(str(perf_counter() - started))


def _say(line: str) -> None:
    print(line, flush=True)


def main(arguments: Sequence[str]) -> None:
    model, *numbers = arguments
    questions, batch, core = map(int, numbers)
    _work(model, questions, batch, core)


if __name__ == "__main__":
    main(sys.argv[1:])
