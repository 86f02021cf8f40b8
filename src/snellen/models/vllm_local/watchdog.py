"""Ends vLLM's processes when the process that started them is gone: `python watchdog.py PID ...`.

A separate process that uses only the standard library. It reads its standard input, whose other end
Snellen keeps open. A line means that the engine was ended in order. If the input ends without one,
Snellen was interrupted or killed, and the processes, which hold the GPU's memory, are ended here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time
from collections.abc import Sequence

_GRACE = 3.0
"""Seconds between SIGTERM and SIGKILL."""


def main(pids: Sequence[int]) -> None:
    if sys.stdin.readline():
        return
    _send(pids, signal.SIGTERM)
    time.sleep(_GRACE)
    _send(pids, signal.SIGKILL)


def _send(pids: Sequence[int], number: signal.Signals) -> None:
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.kill(pid, number)


if __name__ == "__main__":
    main([int(text) for text in sys.argv[1:]])
