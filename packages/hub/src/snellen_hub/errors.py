"""Errors of a hub: those that later attempts may not meet, and those with a status of HTTP."""

from __future__ import annotations

from snellen.core.errors import StorageError, UsageError


class HubUnavailable(StorageError):
    """The database or the storage cannot be used now: it does not answer, or it is full."""


class NotThere(UsageError):
    """What is asked for does not exist, or not for this caller (404)."""


class NotAllowed(UsageError):
    """The account may not do that, or not now (403)."""


class WrongState(UsageError):
    """What is to be changed is in a state in which it cannot be (409)."""


class TooMany(UsageError):
    """A limit per time is reached (429)."""
