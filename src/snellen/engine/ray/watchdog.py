"""Speaks for a Snellen that Ray has ended: `python watchdog.py OUT RAYLET GCS`.

Ray's library ends the process it is loaded into on the spot when its node dies (`_exit`): nothing
in that process can say so, nor note it. This is a process of its own that needs nothing but the
standard library. It reads its standard input, which Snellen holds open: a line means that Snellen
ended by itself. After an end without one it looks whether the node still answers. If it does,
Snellen was killed by somebody else, who knows it; if not, the runs are marked and the user is told.
"""

from __future__ import annotations

import os
import socket
import sys
import time

_CONNECT_TIMEOUT = 2.0
"""Seconds in which a part of Ray on this machine, or the head of its cluster, must answer."""


def main(out: str, raylet: str, gcs: str) -> None:
    began = time.time()
    if sys.stdin.readline():
        return
    if _is_reachable(raylet) and _is_reachable(gcs):
        return
    arguments = ["-m", "snellen.engine.ray.lost_runs", out, repr(began)]
    os.execv(sys.executable, [sys.executable, *arguments])


def _is_reachable(address: str) -> bool:
    """A path of a socket, or `host:port`. What is not known is taken to answer."""
    if not address:
        return True
    try:
        if address.startswith("/"):
            with socket.socket(socket.AF_UNIX) as local:
                local.settimeout(_CONNECT_TIMEOUT)
                local.connect(address)
        else:
            host, _, port = address.rpartition(":")
            socket.create_connection(
                (host.strip("[]"), int(port)), timeout=_CONNECT_TIMEOUT
            ).close()
    except (OSError, ValueError):
        return False
    return True


if __name__ == "__main__":
    main(*sys.argv[1:4])
