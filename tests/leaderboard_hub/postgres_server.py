"""A PostgreSQL server for tests: a cluster of its own in a temporary folder, on a free port."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "PostgreSQL is not installed here (Debian: apt install postgresql)"


def find_programs() -> Path | None:
    """The folder of initdb and postgres, newest version first; None if there is none."""
    on_path = shutil.which("initdb")
    folders = [Path(on_path).resolve().parent] if on_path else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    return next((folder for folder in folders if (folder / "initdb").is_file()), None)


@contextmanager
def serve_postgres(programs: Path) -> Iterator[str]:
    """Serve an empty database; yields its URL."""
    folder = Path(tempfile.mkdtemp(prefix="snellen-postgres-"))
    user = None
    if os.geteuid() == 0:
        # PostgreSQL refuses to run as root.
        user = pwd.getpwnam("postgres" if _exists("postgres") else "nobody")
        os.chown(folder, user.pw_uid, user.pw_gid)
    name = user.pw_name if user else None
    data = folder / "data"
    arguments = ["-D", data, "-U", "snellen", "-A", "trust", "-E", "UTF8", "--no-sync"]
    subprocess.run([programs / "initdb", *arguments], check=True, user=name, cwd=folder,
                   stdout=subprocess.DEVNULL)  # fmt: skip
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    with (folder / "log").open("w") as log:
        server = subprocess.Popen(
            [programs / "postgres", "-D", data, "-h", "127.0.0.1", "-p", str(port), "-k", folder,
             "-c", "fsync=off"], user=name, cwd=folder, stdout=log, stderr=log)  # fmt: skip
    try:
        _wait(programs, port, server)
        yield f"postgresql://snellen@127.0.0.1:{port}/postgres"
    finally:
        # Without waiting for clients that were killed.
        server.send_signal(signal.SIGINT)
        server.wait(30)
        shutil.rmtree(folder, ignore_errors=True)


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True


def _wait(programs: Path, port: int, server: subprocess.Popen[bytes]) -> None:
    end = time.monotonic() + 60
    ready = [programs / "pg_isready", "-h", "127.0.0.1", "-p", str(port), "-q"]
    while subprocess.run(ready, check=False).returncode != 0:
        if time.monotonic() > end or server.poll() is not None:
            raise RuntimeError("PostgreSQL did not start")
        time.sleep(0.1)
