"""Checks of the machine and of the settings: rights, room on disks, addresses."""

from __future__ import annotations

import os
import shutil
import stat
import tempfile
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

from snellen.settings import read_secret
from snellen_hub.accounts.openid_client import SECRET_VARIABLE
from snellen_hub.clear_copies import left_copies
from snellen_hub.config import CONFIG_FILE
from snellen_hub.doctor.findings import HubFinding, first_case, list_some, problem, warning
from snellen_hub.hub import Hub

_LITTLE, _TOO_LITTLE = 2_000_000_000, 200_000_000
"""Bytes that a disk should and must have free."""
_PRIVATE = 0o077
_OWN_MACHINE = {"localhost", "127.0.0.1", "::1"}
"""Hosts that nobody else reaches."""


def check_rights(hub: Hub) -> Iterator[HubFinding]:
    """Whether this user can write what it must, and others cannot read what they must not."""
    paths = [hub.folder, hub.folder / CONFIG_FILE]
    paths += [path for path in (hub.database.file, hub.storage.folder) if path is not None]
    for path in paths:
        if path.exists() and not os.access(path, os.R_OK | os.W_OK):
            yield problem(
                "rights", f"{path} cannot be written by this user; run as its owner, or give it to this user with chown"
            )
    open_paths = [
        str(path)
        for path in paths[1:]
        if path.exists() and stat.S_IMODE(path.stat().st_mode) & _PRIVATE and not _is_shut(path)
    ]
    readable = f"other users of this machine can read {list_some(open_paths)}, where hashes of passwords are"
    yield first_case(
        "rights",
        (open_paths, "warning", f"{readable}; fix: chmod 700 {hub.folder}"),
        (True, "ok", "this user alone can read and write the hub"),
    )


def _is_shut(path: Path) -> bool:
    """Whether a folder above keeps other users out."""
    return any(not stat.S_IMODE(each.stat().st_mode) & 0o011 for each in path.absolute().parents)


def check_disks(hub: Hub) -> Iterator[HubFinding]:
    """Room for the database, the storage and the clear copies of workers."""
    places = {"the hub's folder": hub.folder, "the temporary folder": Path(tempfile.gettempdir())}
    if hub.storage.folder is not None and hub.storage.folder.exists():
        places["the storage"] = hub.storage.folder
    for name, path in places.items():
        free = shutil.disk_usage(path).free
        said = f"{name} ({path}) has {free / 1e9:,.1f} GB free"
        yield first_case(
            "disk",
            (free < _TOO_LITTLE, "problem", f"{said}; make room before submissions are refused"),
            (free < _LITTLE, "warning", f"{said}; make room"),
            (True, "ok", said),
        )


def check_left_copies(*, fix: bool) -> Iterator[HubFinding]:
    """Clear copies of answers that killed workers and commands left in the temporary folder."""
    old = left_copies()
    if not old:
        return
    names = list_some([str(path) for path in old])
    for path in old if fix else ():
        shutil.rmtree(path, ignore_errors=True)
    left = f"a process that was killed left {names}, with answers; delete them with --repair"
    yield first_case("clear copies", (fix, "ok", f"deleted {names}"), (True, "warning", left))


def check_settings(hub: Hub) -> Iterator[HubFinding]:
    """The address, the proxies, and sign-in by others."""
    config = hub.config
    parts = urlsplit(config.url)
    is_address = parts.scheme in ("http", "https") and parts.hostname
    advice = f"set url in {CONFIG_FILE} to the one that people use, such as https://boards.example.org"
    is_open = parts.scheme == "http" and parts.hostname not in _OWN_MACHINE
    risk = "is not encrypted: passwords, tokens and cookies can be read on the way"
    proxy = "put a proxy with TLS in front (docs/hub-operate.md) and set url to https://..."
    yield first_case(
        "url",
        (not is_address, "problem", f"{config.url!r} is no address; {advice}"),
        (is_open, "warning", f"{config.url} {risk}; {proxy}"),
        (True, "ok", config.url),
    )
    if parts.scheme == "https" and not config.trusted_proxies:
        yield warning(
            "proxies",
            "trusted_proxies is empty: behind a proxy all people count as one for the limits of "
            f"failed sign-ins; set it in {CONFIG_FILE} to the address of the proxy",
        )
    if config.openid is not None and read_secret([SECRET_VARIABLE]) is None:
        yield warning(
            "openid",
            f"{SECRET_VARIABLE} is not set: nobody can sign in by {config.openid.issuer}, "
            "unless it knows hubs without a secret",
        )
