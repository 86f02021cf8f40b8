"""A hub that is open: its configuration, database and storage."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from snellen.core.errors import StorageError, UsageError
from snellen.settings import read_secret
from snellen_hub.accounts.access import create_account
from snellen_hub.accounts.audit import note_action
from snellen_hub.config import CONFIG_FILE, DATABASE_VARIABLE, HubConfig, check_overrides, parse_config, read_config
from snellen_hub.database.connection import Database
from snellen_hub.storage import KEY_VARIABLE, Storage

_FIRST_CONFIG = """# Every setting has a default; docs/hub-operate.md lists them.
title = "Leaderboards"
url = "http://127.0.0.1:8440"
"""


@dataclass(frozen=True)
class Hub:
    """What the server, the workers and the commands of a hub share. As a context manager it closes
    its connections at the end."""

    folder: Path
    config: HubConfig
    database: Database
    storage: Storage

    def close(self) -> None:
        self.database.close()

    def __enter__(self) -> Hub:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_hub(folder: Path | str, *, check: bool = True) -> Hub:
    """Open the hub in a folder; with `check`, its schema must be that of this code.

    Raises UsageError if there is none, StorageError.
    """
    path = Path(folder).expanduser()
    check_overrides(path)
    hub = connect_hub(path, read_config(path))
    try:
        if check:
            hub.database.check()
    except BaseException:
        hub.close()
        raise
    return hub


def connect_hub(folder: Path, config: HubConfig) -> Hub:
    """The hub of a configuration; nothing is read or written yet."""
    storage = Storage(config.storage, read_secret([KEY_VARIABLE]))
    return Hub(folder, config, Database(config.database), storage)


def create_hub(folder: Path | str, owner: str | None = None, password: str = "") -> Hub:
    """Make a hub in a folder: schema, storage, account of the owner if one is named, configuration;
    all of it or nothing.

    Raises UsageError if there is one, and for a name or password that no account may have,
    StorageError.
    """
    path = Path(folder).expanduser()
    if (path / CONFIG_FILE).exists():
        raise UsageError(
            f"{path} holds a hub already; use another folder, or upgrade this one with: snellen "
            f"hub doctor {path} --upgrade"
        )
    try:
        path.mkdir(mode=0o700, parents=True, exist_ok=True)
        hub = connect_hub(path, parse_config(_FIRST_CONFIG, path))
        try:
            _fill_hub(hub, owner, password)
            # Last: it is what makes a folder a hub.
            (path / CONFIG_FILE).write_text(_FIRST_CONFIG)
        except BaseException:
            hub.close()
            raise
    except OSError as error:
        raise StorageError(f"{path} cannot be written: {error.strerror or error}") from error
    return hub


def _fill_hub(hub: Hub, owner: str | None, password: str) -> None:
    """Write the schema and the first account, into a database that holds no hub."""
    if hub.database.schema() is not None:
        raise UsageError(f"the database of {hub.folder} holds a hub already; name another one in {DATABASE_VARIABLE}")
    hub.storage.check()
    with hub.database.rebuilding() as connection:
        hub.database.upgrade_within(connection)
        if owner is not None:
            session = Session(connection)
            account = create_account(session, owner, "owner", password)
            note_action(session, "init", account_id=account.id)
            session.flush()
