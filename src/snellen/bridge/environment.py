"""The environment of another tool, made by uv from the list of packages beside the workers, and its
code at a pinned commit, fetched by git. Both are made once, in the cache."""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

import msgspec
from msgspec import Struct

from snellen.benchmarks.declaration.peers import PEERS
from snellen.core.atomic_write import save
from snellen.core.errors import UsageError, storage_errors
from snellen.engine.servers.environment_launcher import EnvironmentNotMade, make_environment
from snellen.engine.servers.process import find_program
from snellen.settings import Settings

LISTS = Path(__file__).with_name("environments")


class EnvironmentList(Struct, frozen=True, forbid_unknown_fields=True):
    """What an environment is made of."""

    python: str
    """Versions of Python that do."""
    packages: tuple[str, ...]
    code: str = ""
    """A git repository of the tool's code; "" if that is among the packages."""
    commit: str = ""

    def script(self) -> str:
        """A file whose header asks uv for this environment."""
        lines = [f'requires-python = "{self.python}"', "dependencies = [", *(f'  "{one}",' for one in self.packages)]
        return "\n".join(["# /// script", *(f"# {line}" for line in [*lines, "]"]), "# ///", ""])


def read_list(peer: str) -> EnvironmentList:
    """The list of a tool. Raises UsageError if there is none."""
    file = LISTS / f"{peer}.toml"
    if not file.is_file():
        raise UsageError(f"there is no list of packages for {PEERS[peer]}; {_own(peer, 'python')}")
    return msgspec.toml.decode(file.read_bytes(), type=EnvironmentList)


def find_python(peer: str) -> str:
    """The Python of the tool's environment, which is made where there is none. Raises UsageError."""
    listed = read_list(peer).script()
    uv = find_program("uv")
    if uv is None:
        raise UsageError(
            f"the environment of {PEERS[peer]} is made by uv, which is not installed: pip install uv; "
            f"or {_own(peer, 'python')}"
        )
    settings = Settings.from_environment()
    digest = hashlib.sha256(listed.encode()).hexdigest()[:12]
    folder = settings.cache / "environments" / f"{peer}-{digest}"
    made, script = folder / "python", folder / "list" / f"{peer}.py"
    if made.is_file() and Path(python := made.read_text()).is_file():
        return python
    with storage_errors("write", script):
        script.parent.mkdir(parents=True, exist_ok=True)
        script.write_text(listed)
    try:
        python = make_environment("offline" if settings.offline else "online", uv, script, folder)
    except EnvironmentNotMade as error:
        raise UsageError(
            f"uv cannot make the environment of {PEERS[peer]}: {error}, as its lines above say. It needs the "
            f"network once; or {_own(peer, 'python')}"
        ) from error
    save(made, python)
    return python


def find_checkout(peer: str) -> str | None:
    """The tool's code at the pinned commit, which is fetched where it is not there; None if it comes
    with the packages. Raises UsageError."""
    listed = read_list(peer)
    if not listed.code:
        return None
    folder = Settings.from_environment().cache / "bridge" / "code" / f"{peer}-{listed.commit[:12]}"
    if folder.is_dir():
        return str(folder)
    draft = folder.with_name(f"{folder.name}.part")
    shutil.rmtree(draft, ignore_errors=True)
    print(f"fetching the code of {PEERS[peer]} at {listed.commit[:8]} from {listed.code}", file=sys.stderr)
    with storage_errors("write", draft):
        draft.mkdir(parents=True)
    for command in (
        ["init", "-q"],
        ["fetch", "-q", "--depth", "1", listed.code, listed.commit],
        ["checkout", "-q", "FETCH_HEAD"],
    ):
        _git(peer, draft, command)
    draft.rename(folder)
    return str(folder)


def _git(peer: str, folder: Path, command: list[str]) -> None:
    try:
        subprocess.run(["git", "-C", str(folder), *command], check=True, capture_output=True, text=True)
    except FileNotFoundError as error:
        message = f"the code of {PEERS[peer]} is fetched by git, which is not installed"
        raise UsageError(f"{message}; {_own(peer, 'checkout')}") from error
    except subprocess.CalledProcessError as error:
        said = " ".join(str(error.stderr).split())[:200]
        raise UsageError(f"the code of {PEERS[peer]} cannot be fetched ({said}); {_own(peer, 'checkout')}") from error


def _own(peer: str, what: str) -> str:
    value = "DIR" if what == "checkout" else "PATH"
    variable = f"SNELLEN_{peer.upper().replace('-', '_')}_{what.upper()}"
    return f"name your own with the option {what}={value}, or in {variable}"
