"""One-file servers, each started in an environment that uv makes from the header of its file."""

from __future__ import annotations

import hashlib
import shlex
from pathlib import Path
from typing import NamedTuple

from snellen.engine.servers import environment_launcher
from snellen.engine.servers.process import HEALTH, Launch, get_json
from snellen.models.naming.environments import CHAT_SERVER
from snellen.settings import Settings

_READY_SECONDS = 3600.0
"""Installing libraries, fetching the checkpoint and loading it."""


class ServerEnvironment(NamedTuple):
    """The environment of one server."""

    file: Path
    """The one-file server."""
    folder: Path
    """Where uv's lock of it is kept, in the cache: one folder for each content of the file."""
    offline: bool
    """Whether uv may not use the network."""
    adapter: str = ""
    """The adapter by which it asks, with its digest; "" if the file itself says how."""

    @property
    def code_digest(self) -> str:
        """SHA-256 of the file, which has the model's versions of libraries and how it is asked."""
        return f"sha256:{hashlib.sha256(self.file.read_bytes()).hexdigest()}"

    def launch(self, revision: str, own_code: bool, served: str) -> Launch:
        """How the server is started; `served` is the model that messages name."""
        arguments = ["--model={model}", "--port={port}"]
        if revision:
            arguments.append(f"--revision={revision}")
        if own_code:
            arguments.append("--trust-remote-code")
        network = "offline" if self.offline else "online"
        script = Path(environment_launcher.__file__)
        paths = [str(self.file), str(self.folder), str(CHAT_SERVER)]
        return Launch(
            command=shlex.join(["python", "-I", str(script), network, "{uv}", *paths, *arguments]),
            health=HEALTH[:1],
            ready_seconds=_READY_SECONDS,
            install="pip install uv",
            title=f"{self.file.name} for {served}" if served else self.file.name,
            exit_meanings=_exit_meanings(),
        )

    def files(self) -> dict[str, bytes]:
        """The one-file server and its lock; empty before the lock is written."""
        lock = environment_launcher.lock_of(self.folder / self.file.name)
        if not lock.is_file():
            return {}
        return {self.file.name: self.file.read_bytes(), lock.name: lock.read_bytes()}

    def lock_digest(self) -> str:
        """SHA-256 of the lock; "" before it is written."""
        lock = environment_launcher.lock_of(self.folder / self.file.name)
        return hashlib.sha256(lock.read_bytes()).hexdigest() if lock.is_file() else ""


def server_environment(file: Path) -> ServerEnvironment:
    """The environment of a one-file server. It is shared by all runs with the same file."""
    digest = hashlib.sha256(file.read_bytes()).hexdigest()[:16]
    settings = Settings.from_environment()
    folder = settings.cache / "environments" / f"{file.stem}-{digest}"
    return ServerEnvironment(file, folder, settings.offline)


def installed_packages(base_url: str) -> dict[str, str]:
    """The versions that a one-file server says it runs with, Python's among them; empty if it does
    not answer."""
    answer = get_json(base_url, "/environment")
    try:
        return {"python": str(answer["python"]), **answer["packages"]}
    except (LookupError, TypeError):
        return {}


def _exit_meanings() -> dict[int, str]:
    """What an exit code of a server says of it."""
    from snellen.models.environments import chat_server

    return {
        environment_launcher.NOT_LOCKED: (
            "has no environment: uv finds no versions that fit the dependencies in its header "
            "(without a network: none that it has downloaded before)"
        ),
        environment_launcher.NOT_INSTALLED: ("has no environment: uv cannot install the dependencies in its header"),
        chat_server.NO_CHECKPOINT: "cannot fetch its checkpoint",
        chat_server.LOAD_FAILED: "cannot load its model",
        chat_server.PORT_TAKEN: "cannot listen: another program took its port; start it again",
    }
