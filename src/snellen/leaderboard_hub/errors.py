"""Errors of a hub that later attempts may not meet."""

from __future__ import annotations

from snellen.core.errors import StorageError


class HubUnavailable(StorageError):
    """The database or the storage cannot be used now: it does not answer, or it is full."""
