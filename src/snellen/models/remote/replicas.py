"""A client of several servers that serve the same model.

Each request goes to the server that is expected to answer it first: the one with the least product
of requests in flight and latency ("peak EWMA", as in Twitter's Finagle and in Linkerd). A server
that cannot be reached, or that sends a request back unread, is left out for a while that doubles
with each such failure, and is taken back by one request that it answers. The request itself goes to
another server at once. How many requests are in flight in all is the engine's decision.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any
from urllib.parse import urlsplit

from snellen.core.errors import ModelError
from snellen.models.remote.errors import WrongServer
from snellen.models.remote.http import HttpClient

_WEIGHT = 0.2
"""Weight of the last reply in the mean latency of a server."""
_FIRST_PAUSE = 1.0
_LONGEST_PAUSE = 60.0
"""Seconds for which a server is left out: at first, and at most."""
_FAILURES = 3
"""Failures in a row, of requests that the server took, after which it is left out."""


class ServerReplica:
    """One server, its latency, and whether requests are sent to it."""

    def __init__(self, client: HttpClient, base_url: str) -> None:
        self.client = client
        self.base_url = base_url
        self.in_flight = 0
        self.answers = 0
        self.latency = 0.0
        """Mean seconds until a reply, of late replies more than of early ones; 0: none yet."""
        self._last = 0.0
        """When it replied last, or was sent a request while it had none."""
        self._failures = 0
        self._error = ""
        """What it failed with last."""
        self._pause = 0.0
        self._end_of_pause = -math.inf
        self._is_on_trial = False
        """Whether the one request is in flight that a server gets after a pause."""

    @property
    def address(self) -> str:
        """Host and port."""
        return urlsplit(self.base_url).netloc.rpartition("@")[2]

    @property
    def remarks(self) -> tuple[str, ...]:
        """That it is left out, and why."""
        reason = f"the server {self.address} was left out, others took its requests: {self._error}"
        return (reason,) if self._pause > 0 else ()

    def is_left_out(self, now: float) -> bool:
        """Whether no request is sent to it now."""
        return self._pause > 0 and (now < self._end_of_pause or self._is_on_trial)

    def cost(self, now: float, usual: float) -> float:
        """Expected seconds until one more request is answered, up to a factor that all share.
        `usual` stands for the latency of a server that has not replied yet. One that takes
        requests and replies to none becomes dearer by the second."""
        silence = now - self._last if self.in_flight else 0.0
        return (self.in_flight + 1) * max(self.latency or usual, silence)

    @contextmanager
    def count(self) -> Iterator[None]:
        """Count a request in flight, and how it ends."""
        loop = asyncio.get_running_loop()
        started = loop.time()
        self._is_on_trial = is_trial = self._pause > 0
        if not self.in_flight:
            self._last = started
        self.in_flight += 1
        try:
            yield
            self._note_answer(loop.time() - started)
        except ModelError as error:
            self._note_failure(error, loop.time())
            raise
        finally:
            self._last = loop.time()
            self.in_flight -= 1
            if is_trial:
                self._is_on_trial = False

    def _note_answer(self, seconds: float) -> None:
        self.answers += 1
        self._failures, self._pause = 0, 0.0
        self.latency = self.latency + _WEIGHT * (seconds - self.latency) if self.latency else seconds

    def _note_failure(self, error: ModelError, now: float) -> None:
        """Leave the server out if it did not take the request, or failed several times in a row."""
        self._failures, self._error = self._failures + 1, str(error)
        is_down = error.kind in ("server", "timeout") and self._failures >= _FAILURES
        # Requests that were in flight together fail together: that counts once.
        if (was_not_taken(error) or is_down) and now >= self._end_of_pause:
            self._pause = min(max(2 * self._pause, _FIRST_PAUSE), _LONGEST_PAUSE)
            self._end_of_pause = now + max(self._pause, error.retry_after or 0.0)


class ReplicatedClient:
    """Sends each request to one of several servers of the same model, and on to another where it
    was not taken. Raises ModelError and ReplyBlocked."""

    def __init__(self, clients: Sequence[HttpClient], base_urls: Sequence[str]) -> None:
        self.replicas = [ServerReplica(client, url) for client, url in zip(clients, base_urls, strict=True)]
        self.on_reply: Callable[[Mapping[str, Any]], object] = lambda reply: None
        for client in clients:
            client.on_reply = lambda reply: self.on_reply(reply)
        self._only: ServerReplica | None = None
        """The server that all requests go to, while each is checked."""

    @property
    def remarks(self) -> tuple[str, ...]:
        return tuple(remark for replica in self.replicas for remark in replica.remarks)

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """POST a JSON body and decode the JSON object of the reply."""
        return await self._send(lambda client: client.post(path, body))

    async def get(self, path: str) -> dict[str, Any]:
        """GET a path and decode the JSON object of the reply."""
        return await self._send(lambda client: client.get(path))

    async def fetch(self, url: str) -> bytes:
        """Download a URL that one of the servers names, by the rules for this server."""
        address = urlsplit(url).netloc
        named = [replica for replica in self.replicas if replica.address == address]
        return await (named or self.replicas)[0].client.fetch(url)

    async def events(self, path: str, body: bytes) -> AsyncIterator[dict[str, Any]]:
        """POST a JSON body and iterate over the JSON objects of the server-sent events."""
        tried = set[ServerReplica]()
        while True:
            replica = self._choose(tried)
            tried.add(replica)
            has_begun = False
            try:
                with replica.count():
                    async for event in replica.client.events(path, body):
                        has_begun = True
                        yield event
                return
            except ModelError as error:
                if has_begun or not self._is_sent_on(error, tried):
                    raise

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        for replica in self.replicas:
            await replica.client.close()

    async def on_each(self, check: Callable[[str], Awaitable[None]]) -> None:
        """Check each server by itself, given its base URL."""
        try:
            for replica in self.replicas:
                self._only = replica
                await check(replica.base_url)
        finally:
            self._only = None

    async def _send(self, send: Callable[[HttpClient], Awaitable[dict[str, Any]]]) -> dict[str, Any]:
        tried = set[ServerReplica]()
        while True:
            replica = self._choose(tried)
            tried.add(replica)
            try:
                with replica.count():
                    return await send(replica.client)
            except ModelError as error:
                if not self._is_sent_on(error, tried):
                    raise

    def _choose(self, tried: set[ServerReplica]) -> ServerReplica:
        """The server of the least cost that was not tried; one that is left out only if all are."""
        if self._only is not None:
            return self._only
        now = asyncio.get_running_loop().time()
        untried = [replica for replica in self.replicas if replica not in tried]
        ready = [replica for replica in untried if not replica.is_left_out(now)]
        usual = min((replica.latency for replica in self.replicas if replica.latency), default=1.0)
        return min(ready or untried, key=lambda replica: replica.cost(now, usual))

    def _is_sent_on(self, error: ModelError, tried: set[ServerReplica]) -> bool:
        """Whether a request that failed goes to another server at once."""
        return self._only is None and was_not_taken(error) and len(tried) < len(self.replicas)


def was_not_taken(error: ModelError) -> bool:
    """Whether the server was not reached, the connection broke, it asks to come later, or takes no request. (That of
    another model, or with another key, fails fastest of all: it would be sent every request.)"""
    return error.kind in ("connection", "rate_limit") or isinstance(error, WrongServer)
