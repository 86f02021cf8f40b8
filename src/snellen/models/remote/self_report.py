"""What a server reports about its model, in its list of models and in each reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from snellen.core.errors import ModelError
from snellen.core.served_identity import ServedIdentity
from snellen.models.remote.http import ServerClient
from snellen.models.remote.json_reply import quote
from snellen.models.remote.probe import model_entries

_LISTED = ("id", "root", "owned_by", "created", "max_model_len")
_MAX_NAME_LENGTH = 120
"""Characters kept of a name."""
_MAX_NAMES = 20
"""Distinct names that are counted; further ones, e.g. of a server with a new name in each reply,
are counted together as `others`."""
_OTHER_NAMES = "others"
_LIST_TIMEOUT = 10.0
"""Seconds to wait for the list of models."""
_CLOSE_TIMEOUT = 1.0
"""Seconds to wait for the list once all questions are answered."""


class SelfReport:
    """Reports about one model: counts what replies state, and requests the list of models once."""

    def __init__(self, client: ServerClient, model: str) -> None:
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
        """Count the names in a reply, or in the first chunk of a stream."""
        inner = reply.get("message")
        first = inner.get("model") if isinstance(inner, dict) else None
        _count(self._models, reply.get("model") or reply.get("modelVersion") or first)
        _count(self._fingerprints, reply.get("system_fingerprint"))

    def named_models(self) -> set[str]:
        """Names of models in the replies so far."""
        return set(self._models)

    def request_list(self) -> None:
        """Request the list of models in the background, once."""
        if self._list_requested:
            self._list_requested = False
            self._task = asyncio.ensure_future(self._fetch_list())

    async def close(self) -> None:
        """Wait briefly for the list, in the event loop of its request."""
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait([task], timeout=_CLOSE_TIMEOUT)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def served_identity(self) -> ServedIdentity:
        """What was reported since `begin`; empty if nothing was."""
        models, fingerprints = dict(self._models), dict(self._fingerprints)
        identity = ServedIdentity("", self._listed, models, fingerprints)
        return ServedIdentity(self._since, self._listed, models, fingerprints) if identity else identity

    async def _fetch_list(self) -> None:
        # Many servers have no such list, and no request depends on it.
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(_LIST_TIMEOUT):
                listed = await model_entries(self._client)
            own = [entry for entry in listed if self._is_own(entry)] or listed
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
        if name not in counts:
            name = quote(name, _MAX_NAME_LENGTH)
        counts[name if name in counts or len(counts) < _MAX_NAMES else _OTHER_NAMES] += 1
