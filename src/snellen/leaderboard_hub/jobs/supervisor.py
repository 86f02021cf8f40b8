"""Several workers by one command: a process each, started again if it dies."""

from __future__ import annotations

import subprocess
import threading
import time
from collections.abc import Callable, Sequence

_LOOK = 0.2
_SHORTEST_PAUSE, _LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a worker that died is started again: twice as long after each death."""
_HEALTHY = 300.0
"""Seconds of life after which a worker's earlier deaths are forgotten."""


class _Place:
    """The place of one worker: its process, and when the next one may start."""

    def __init__(self) -> None:
        self.process: subprocess.Popen[bytes] | None = None
        self.code = 0
        self.started = 0.0
        self.start_at = 0.0
        self.pause = _SHORTEST_PAUSE


class WorkerGroup:
    """Runs a command several times at once until it is stopped."""

    def __init__(self, command: Sequence[str], count: int, notify: Callable[[str], object]) -> None:
        self._command = list(command)
        self._places = [_Place() for _ in range(count)]
        self._notify = notify
        self._stopped = threading.Event()

    def stop(self) -> None:
        """Pass a stop on to every worker; each ends its job, or gives it back."""
        self._stopped.set()
        for place in self._places:
            if place.process is not None:
                place.process.terminate()

    def run(self) -> int:
        """Run until stopped, or until all have ended by themselves; returns the highest exit code.
        One that a signal or a mistake of ours ended is started again."""
        while not self._stopped.is_set():
            for place in self._places:
                self._keep(place)
            if all(each.process is None and not each.start_at for each in self._places):
                break
            self._stopped.wait(_LOOK)
        for place in self._places:
            if place.process is not None:
                place.code = place.process.wait()
        return max(max(place.code, 0) for place in self._places)

    def _keep(self, place: _Place) -> None:
        """Start a worker that is due, and look whether one has ended."""
        moment = time.monotonic()
        if place.process is None and (place.start_at or not place.started):
            if moment >= place.start_at:
                # In a session of its own, so that Ctrl-C stops it once: through `stop`.
                place.process = subprocess.Popen(self._command, start_new_session=True)
                place.started, place.start_at = moment, 0.0
                if self._stopped.is_set():
                    place.process.terminate()
            return
        if place.process is None or (code := place.process.poll()) is None:
            return
        process, place.process, place.code = place.process, None, code
        if code >= 0 and code != 1:
            return
        if moment - place.started > _HEALTHY:
            place.pause = _SHORTEST_PAUSE
        place.start_at = moment + place.pause
        place.pause = min(2 * place.pause, _LONGEST_PAUSE)
        self._notify(f"worker {process.pid} ended with code {code}; another one starts")
