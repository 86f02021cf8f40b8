"""Ends processes when the Snellen that started them is gone: `python watchdog.py GRACE PID ...`; a
negative PID is a process group.

A separate process that uses only the standard library. It reads its standard input, whose other end
Snellen keeps open. A line means that Snellen ended the processes itself. If the input ends without
a line, Snellen was killed (kill -9, a closed terminal), and the processes are ended here.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Sequence
from pathlib import Path


def start_watchdog(script: Path, *arguments: str, messages: int | None = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    """Start a script that acts if Snellen is killed: its standard input then ends. `messages` is
    where its standard error goes, None for this process's."""
    return subprocess.Popen(
        [sys.executable, "-I", "-S", str(script), *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=messages,
        start_new_session=True,
    )


def guard_processes(pids: Iterable[int], grace: float) -> subprocess.Popen[bytes]:
    """Start a process that ends these if Snellen is killed: asked to, and `grace` seconds later
    forced. A line that is written to it lets it end."""
    return start_watchdog(Path(__file__), str(grace), *map(str, pids))


def main(grace: float, pids: Sequence[int]) -> None:
    if sys.stdin.readline():
        return
    left = _send(pids, signal.SIGTERM)
    deadline = time.monotonic() + grace
    while left and time.monotonic() < deadline:
        time.sleep(0.1)
        left = _send(left, 0)
    _send(left, signal.SIGKILL)


def _send(pids: Iterable[int], number: int) -> list[int]:
    """Send a signal; returns the processes that are there."""
    reached = []
    for pid in pids:
        try:
            os.kill(pid, number)
        except (ProcessLookupError, PermissionError):
            continue
        reached.append(pid)
    return reached


if __name__ == "__main__":
    main(float(sys.argv[1]), [int(text) for text in sys.argv[2:]])
