"""Ends a server whose Snellen was killed: `python watchdog.py GROUP GRACE`.

A separate process that uses only the standard library. It reads its standard input, whose other
end Snellen keeps open. A line means that Snellen ended the server itself. If the input ends without
a line, Snellen was killed (kill -9, a closed terminal), and the process group is ended here.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import time


def main(group: int, grace: float) -> None:
    if sys.stdin.readline():
        return
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(group, signal.SIGTERM)
        deadline = time.monotonic() + grace
        while time.monotonic() < deadline:
            time.sleep(0.1)
            os.killpg(group, 0)
        os.killpg(group, signal.SIGKILL)


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
