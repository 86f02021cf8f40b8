"""Reports for a Snellen that Ray has ended: `python watchdog.py OUT RAYLET GCS`.

When its node dies, Ray's library ends the process it is loaded into at once (`_exit`), so that
process can neither print nor record anything. This separate process, which uses only the standard
library, reads its standard input, whose other end Snellen keeps open. A line means that Snellen
ended regularly. If the input ends without a line, Snellen was killed. If the node still answers,
somebody else killed it; if not, the runs are marked as interrupted and the user is told.
"""

from __future__ import annotations

import os
import socket
import sys
import time

_CONNECT_TIMEOUT = 2.0
"""Seconds within which Ray on this machine, or the head of its cluster, must answer."""


def main(out: str, raylet: str, gcs: str) -> None:
    began = time.time()
    if sys.stdin.readline():
        return
    if _is_reachable(raylet) and _is_reachable(gcs):
        return
    arguments = ["-m", "snellen.engine.ray.lost_runs", out, repr(began)]
    os.execv(sys.executable, [sys.executable, *arguments])


def _is_reachable(address: str) -> bool:
    """Whether a server listens at a socket's path or at `host:port`; an empty address counts as
    reachable."""
    if not address:
        return True
    try:
        if address.startswith("/"):
            with socket.socket(socket.AF_UNIX) as local:
                local.settimeout(_CONNECT_TIMEOUT)
                local.connect(address)
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection((host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT).close()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:4])
