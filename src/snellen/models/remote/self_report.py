"""What a server says of the model behind it: in its list of models, and in each reply."""

from __future__ import annotations

import asyncio
import contextlib
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from snellen.core.errors import ModelError
from snellen.core.served_identity import Served
from snellen.models.remote.http import Wire
from snellen.models.remote.json_reply import quoted
from snellen.models.remote.probe import entries

_LISTED = ("id", "root", "owned_by", "created", "max_model_len")
_LONGEST = 120
"""Characters kept of a name."""
_MOST = 20
"""Different names that are counted; of more, as of a server that makes up one for each reply, it
is only told that there were others."""
_OTHERS = "others"
_PATIENCE = 10.0
"""Seconds in which the list of models must come."""
_LAST = 1.0
"""The same, once the questions are answered: nobody waits long for it."""


class SelfReport:
    """Counts what replies say, and looks once at the list of models. Belongs to one model."""

    def __init__(self, wire: Wire, model: str) -> None:
        self._wire = wire
        self._model = model
        self._wanted = False
        self._task: asyncio.Task[None] | None = None
        self.begin(wanted=False)

    def begin(self, *, wanted: bool = True) -> None:
        """Forget what was said before; where it is `wanted`, the list of models is asked for once
        the first reply is there."""
        self._wanted = wanted
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

    def look(self) -> None:
        """Ask for the list of models, once, beside the questions."""
        if self._wanted:
            self._wanted = False
            self._task = asyncio.ensure_future(self._look())

    async def close(self) -> None:
        """Wait a moment for the list, inside the loop that it was asked for in."""
        task, self._task = self._task, None
        if task is not None:
            await asyncio.wait([task], timeout=_LAST)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task

    def said(self) -> Served:
        models, fingerprints = dict(self._models), dict(self._fingerprints)
        said = Served("", self._listed, models, fingerprints)
        return Served(self._since, self._listed, models, fingerprints) if said else said

    async def _look(self) -> None:
        # Few servers must give such a list, and what is asked does not depend on it.
        with contextlib.suppress(ModelError, TimeoutError):
            async with asyncio.timeout(_PATIENCE):
                listed = await entries(self._wire)
            own = [one for one in listed if self._is_own(one)] or listed
            if len(own) == 1:
                self._listed = {
                    name: quoted(own[0][name], _LONGEST)
                    for name in _LISTED
                    if isinstance(own[0].get(name), str | int) and own[0][name] != ""
                }

    def _is_own(self, entry: Mapping[str, Any]) -> bool:
        name = entry.get("id") or entry.get("name")
        return isinstance(name, str) and name.removeprefix("models/") == self._model


def _count(counts: Counter[str], name: object) -> None:
    if isinstance(name, str) and name:
        name = quoted(name, _LONGEST)
        counts[name if name in counts or len(counts) < _MOST else _OTHERS] += 1
