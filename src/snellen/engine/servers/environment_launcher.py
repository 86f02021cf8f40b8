"""Makes the environment of a one-file server with uv, and becomes the server in it.

    python environment_launcher.py NETWORK UV FILE FOLDER SERVER [ARGUMENT ...]

A process of its own that uses only the standard library, so that uv's output goes to the server's
log, and that it ends with the server's process group. `NETWORK` is `online` or `offline`. `FOLDER`
holds a copy of the file and its lock: the folder of the file itself may not be writable. The lock
is written once, or taken from beside the file; after that the same versions are installed from it,
without a network if uv has them in its cache.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

NOT_LOCKED = 71
"""Exit code: the versions of the dependencies could not be resolved."""
NOT_INSTALLED = 72
"""Exit code: the dependencies could not be installed."""


class EnvironmentNotMade(Exception):
    """uv failed, with the exit code for it."""

    def __init__(self, code: int) -> None:
        super().__init__("no versions fit" if code == NOT_LOCKED else "packages cannot be installed")
        self.code = code


def main(network: str, uv: str, file: Path, folder: Path, command: list[str]) -> None:
    try:
        python = make_environment(network, uv, file, folder)
    except EnvironmentNotMade as error:
        raise SystemExit(error.code) from None
    server, *arguments = command
    # -I: neither PYTHONPATH nor packages of the user, which are of another environment.
    os.execv(python, [python, "-I", "-u", server, str(folder / file.name), *arguments])


def make_environment(network: str, uv: str, file: Path, folder: Path) -> str:
    """The Python of the environment of a file, made where there is none. uv says on standard error
    what it does. Raises EnvironmentNotMade."""
    copy = folder / file.name
    folder.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, copy)
    lock, given = lock_of(copy), lock_of(file)
    frozen = "--frozen"
    if given.is_file():
        shutil.copyfile(given, lock)
        # Fails if the lock is that of an older header.
        frozen = "--locked"
    # No progress bars, which would fill the log.
    common = ["--script", str(copy), "--no-progress"]
    if network == "offline":
        common.append("--offline")
    if not lock.is_file():
        _run(NOT_LOCKED, [uv, "lock", *common])
    _run(NOT_INSTALLED, [uv, "sync", frozen, *common])
    find = [uv, "python", "find", "--script", str(copy)]
    return subprocess.run(find, stdout=subprocess.PIPE, check=True, text=True).stdout.strip()


def lock_of(file: Path) -> Path:
    """Where uv writes the lock of a file."""
    return file.with_name(f"{file.name}.lock")


def _run(code: int, command: list[str]) -> None:
    """Run uv. Raises EnvironmentNotMade with `code`."""
    print(f"$ {' '.join(command)}", file=sys.stderr, flush=True)
    if subprocess.run(command, check=False).returncode:
        raise EnvironmentNotMade(code)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]), sys.argv[5:])
