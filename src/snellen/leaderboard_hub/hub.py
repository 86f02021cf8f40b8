"""A hub that is open: its configuration, database and storage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from snellen.core.errors import MissingExtra, UsageError
from snellen.leaderboard_hub.config import CONFIG_FILE, HubConfig, read_config
from snellen.settings import read_secret

_FIRST_CONFIG = """# Every setting has a default; docs/hub.md lists them.
title = "Leaderboards"
url = "http://127.0.0.1:8440"
"""


@dataclass(frozen=True)
class Hub:
    """What the server, the workers and the commands of a hub share."""

    folder: Path
    config: HubConfig
    database: Database
    storage: Storage

    def close(self) -> None:
        self.database.close()


def open_hub(folder: Path | str, *, check: bool = True) -> Hub:
    """Open the hub in a folder; with `check`, its schema must be that of this code.

    Raises UsageError if there is none, MissingExtra without the extra, StorageError.
    """
    path = Path(folder).expanduser()
    config = read_config(path)
    database = Database(config.database)
    hub = Hub(path, config, database, Storage(config.storage, read_secret([KEY_VARIABLE])))
    if check:
        database.check()
    return hub


def create_hub(folder: Path | str) -> Hub:
    """Make a hub in a folder: configuration, schema, storage. Raises UsageError if there is one."""
    path = Path(folder).expanduser()
    if (path / CONFIG_FILE).exists():
        raise UsageError(f"{path} holds a hub already; use another folder, or snellen hub upgrade")
    path.mkdir(parents=True, exist_ok=True)
    (path / CONFIG_FILE).write_text(_FIRST_CONFIG)
    hub = open_hub(path, check=False)
    hub.database.upgrade()
    hub.storage.check()
    return hub


try:
    from snellen.leaderboard_hub.database.connection import Database
    from snellen.leaderboard_hub.storage import KEY_VARIABLE, Storage
except ModuleNotFoundError as error:  # pragma: no cover - the extra is installed in tests
    raise MissingExtra("a hub", "hub", str(error.name)) from error
