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


class PostgresServer:
    """A server with a cluster of its own, which can be stopped and started again."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="snellen-postgres-"))
        user = None
        if os.geteuid() == 0:
            # PostgreSQL refuses to run as root.
            user = pwd.getpwnam("postgres" if _exists("postgres") else "nobody")
            os.chown(self._folder, user.pw_uid, user.pw_gid)
        self._user = user.pw_name if user else None
        arguments = ["-D", self._folder / "data", "-U", "snellen", "-A", "trust", "-E", "UTF8", "--no-sync"]
        subprocess.run(
            [programs / "initdb", *arguments], check=True, user=self._user, cwd=self._folder, stdout=subprocess.DEVNULL
        )
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self._port = probe.getsockname()[1]
        self._process: subprocess.Popen[bytes] | None = None
        self.url = f"postgresql://snellen@127.0.0.1:{self._port}/postgres"

    def start(self) -> None:
        with (self._folder / "log").open("a") as log:
            self._process = subprocess.Popen(
                [
                    self._programs / "postgres",
                    "-D",
                    self._folder / "data",
                    "-h",
                    "127.0.0.1",
                    "-p",
                    str(self._port),
                    "-k",
                    self._folder,
                    "-c",
                    "fsync=off",
                ],
                user=self._user,
                cwd=self._folder,
                stdout=log,
                stderr=log,
            )
        _wait(self._programs, self._port, self._process)

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """End it without waiting for its clients; with SIGQUIT as a crash does."""
        assert self._process is not None
        self._process.send_signal(how)
        self._process.wait(30)

    def delete(self) -> None:
        shutil.rmtree(self._folder, ignore_errors=True)


@contextmanager
def serve_postgres(programs: Path) -> Iterator[str]:
    """Serve an empty database; yields its URL."""
    server = PostgresServer(programs)
    try:
        server.start()
        yield server.url
    finally:
        server.stop(signal.SIGQUIT)
        server.delete()


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
