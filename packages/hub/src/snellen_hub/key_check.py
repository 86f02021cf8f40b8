"""Whether the key of the environment is that of the hub: with another one a server would seal what
no worker can open, and a worker would fail every submission to a hidden split."""

from __future__ import annotations

from sqlalchemy import select

from snellen.core.errors import StorageError, UsageError
from snellen_hub.database.tables import HostedBenchmark
from snellen_hub.errors import HubUnavailable
from snellen_hub.hub import Hub
from snellen_hub.question_parts import read_draw
from snellen_hub.storage import KEY_VARIABLE

_TRIES = 3
"""Files that are tried: one could be damaged."""


def check_key(hub: Hub, *, is_needed: bool = False) -> bool:
    """Whether the hub has the key that it needs, if any. Raises UsageError if there is a key and it
    does not open the hidden answers, if there is none and it `is_needed`, and if a hidden split is
    not divided into a public and a private part."""
    with hub.database.reading() as session:
        hidden = HostedBenchmark.is_hidden, HostedBenchmark.data != ""
        rows = session.scalars(select(HostedBenchmark).where(*hidden).order_by(HostedBenchmark.rows)).all()
    if hub.storage.has_key and not _opens_any(hub, [row.data for row in rows[:_TRIES]]):
        raise UsageError(
            f"{KEY_VARIABLE} does not open the hidden answers of {hub.folder}; set the key with which they were stored"
        )
    for row in rows:
        read_draw(row)
    has_what_it_needs = hub.storage.has_key or not rows
    if is_needed and not has_what_it_needs:
        raise UsageError(
            f"{KEY_VARIABLE} is not set, and the answers of some benchmarks are hidden; set the "
            "key with which they were stored"
        )
    return has_what_it_needs


def _opens_any(hub: Hub, keys: list[str]) -> bool:
    """Whether one of some files can be opened, or nothing can be said of it."""
    for key in keys:
        try:
            hub.storage.get(key)
            return True
        except HubUnavailable:
            # It says nothing about the key; who needs the storage waits for it.
            return True
        except StorageError:
            continue
    return not keys
