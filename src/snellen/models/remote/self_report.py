"""What a server says of the model behind it: in its list of models, and in each reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from snellen.core.errors import ModelError
from snellen.core.served_identity import ServedIdentity
from snellen.models.remote.http import HttpClient
from snellen.models.remote.json_reply import quote
from snellen.models.remote.probe import model_entries

_LISTED = ("id", "root", "owned_by", "created", "max_model_len")
_MAX_NAME_LENGTH = 120
"""Characters kept of a name."""
_MAX_NAMES = 20
"""Different names that are counted; of more, as of a server that makes up one for each reply, it
is only told that there were others."""
_OTHER_NAMES = "others"
_LIST_TIMEOUT = 10.0
"""Seconds in which the list of models must come."""
_CLOSE_TIMEOUT = 1.0
"""The same, once the questions are answered: nobody waits long for it."""


class SelfReport:
    """Counts what replies say, and looks once at the list of models. Belongs to one model."""

    def __init__(self, client: HttpClient, model: str) -> None:
        self._client = client
        self._model = model
        self._list_requested = False
        self._task: asyncio.Task[None] | None = None
        self.begin(list_models=False)

    def begin(self, *, list_models: bool = True) -> None:
        """Forget what was reported before. With `list_models`, request the server's list of
        models once, after the first reply."""
        self._list_requested = list_models
        self._since = datetime.now(UTC).isoformat(timespec="seconds")
        self._listed: dict[str, str] = {}
        self._models: Counter[str] = Counter()
        self._fingerprints: Counter[str] = Counter()

    def note(self, reply: Mapping[str, Any]) -> None:
        """Of a reply, or of the first piece of a stream that says so."""
        inner = reply.get("message")
        first = inner.get("model") if isinstance(inner, dict) else None
        _count(self._models, reply.get("model") or reply.get("modelVersion") or first)
        _count(self._fingerprints, reply.get("system_fingerprint"))

    def request_list(self) -> None:
        """Ask for the list of models, once, beside the questions."""
        if self._list_requested:
            self._list_requested = False
            self._task = asyncio.ensure_future(self._fetch_list())

    async def close(self) -> None:
        """Wait a moment for the list, inside the loop that it was asked for in."""
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait([task], timeout=_CLOSE_TIMEOUT)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def served_identity(self) -> ServedIdentity:
        models, fingerprints = dict(self._models), dict(self._fingerprints)
        identity = ServedIdentity("", self._listed, models, fingerprints)
        return (
            ServedIdentity(self._since, self._listed, models, fingerprints)
            if identity
            else identity
        )

    async def _fetch_list(self) -> None:
        # Few servers must give such a list, and what is asked does not depend on it.
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(_LIST_TIMEOUT):
                listed = await model_entries(self._client)
            own = [one for one in listed if self._is_own(one)] or listed
            if len(own) == 1:
                self._listed = {
                    name: quote(own[0][name], _MAX_NAME_LENGTH)
                    for name in _LISTED
                    if isinstance(own[0].get(name), str | int) and own[0][name] != ""
                }

    def _is_own(self, entry: Mapping[str, Any]) -> bool:
        name = entry.get("id") or entry.get("name")
        return isinstance(name, str) and name.removeprefix("models/") == self._model


def _count(counts: Counter[str], name: object) -> None:
    if isinstance(name, str) and name:
        name = quote(name, _MAX_NAME_LENGTH)
        counts[name if name in counts or len(counts) < _MAX_NAMES else _OTHER_NAMES] += 1
