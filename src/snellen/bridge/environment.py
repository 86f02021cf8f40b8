"""The environment of another tool, made by uv from a pinned list beside the workers."""

from __future__ import annotations

import hashlib
import shutil
from pathlib import Path

from snellen.benchmarks.declaration.peers import PEERS
from snellen.core.errors import UsageError
from snellen.engine.servers.environment_launcher import EnvironmentNotMade, make_environment
from snellen.settings import Settings

_LISTS = Path(__file__).with_name("environments")


def find_python(peer: str) -> str:
    """The Python of the tool's environment, which is made where there is none. Raises UsageError."""
    script = _LISTS / f"{peer.replace('-', '_')}.py"
    named = f"name one that you have with the option python=PATH, or in SNELLEN_{peer.upper().replace('-', '_')}_PYTHON"
    if not script.is_file():
        raise UsageError(f"there is no list of packages for {PEERS[peer]} yet; {named}")
    uv = shutil.which("uv")
    if uv is None:
        raise UsageError(
            f"the environment of {PEERS[peer]} is made by uv, which is not installed: pip install uv; or {named}"
        )
    settings = Settings.from_environment()
    digest = hashlib.sha256(script.read_bytes()).hexdigest()[:12]
    folder = settings.cache / "environments" / f"{script.stem}-{digest}"
    try:
        return make_environment("offline" if settings.offline else "online", uv, script, folder)
    except EnvironmentNotMade as error:
        raise UsageError(
            f"uv cannot make the environment of {PEERS[peer]} ({error}); it needs the network once, and its lines "
            f"above say what is missing; or {named}"
        ) from error
