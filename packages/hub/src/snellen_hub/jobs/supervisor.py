"""Several workers by one command: a process each, started again if it dies."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a worker that died is started again: twice as long after each death."""
_HEALTHY = 300.0
"""Seconds of life after which a worker's earlier deaths are forgotten."""


class WorkerGroup:
    """Runs a command several times at once until it is stopped."""

    def __init__(self, command: Sequence[str], count: int, notify: Callable[[str], object]) -> None:
        self._command, self._count, self._notify = list(command), count, notify
        self._stopped = threading.Event()
        self._lock = threading.Lock()
        self._running: set[subprocess.Popen[bytes]] = set()

    def stop(self) -> None:
        """Pass a stop on to every worker; each ends its job, or gives it back."""
        with self._lock:
            self._stopped.set()
            for process in self._running:
                process.terminate()

    def run(self) -> int:
        """Run until stopped, or until all have ended by themselves; returns the highest exit code.
        One that a signal or a mistake of ours ended is started again."""
        with ThreadPoolExecutor(self._count) as threads:
            return max(threads.map(self._keep, range(self._count)))

    def _keep(self, _: int) -> int:
        """Run a worker, and another one if it died; returns the exit code of the last."""
        pause, code = _SHORTEST_PAUSE, 0
        while True:
            with self._lock:
                if self._stopped.is_set():
                    return max(code, 0)
                # In a session of its own, so that Ctrl-C stops it once: through `stop`.
                process = subprocess.Popen(self._command, start_new_session=True)
                self._running.add(process)
            started = time.monotonic()
            code = process.wait()
            with self._lock:
                self._running.remove(process)
            if self._stopped.is_set() or (code >= 0 and code != 1):
                return max(code, 0)
            if time.monotonic() - started > _HEALTHY:
                pause = _SHORTEST_PAUSE
            self._notify(f"worker {process.pid} ended with code {code}; another one starts")
            self._stopped.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE)
