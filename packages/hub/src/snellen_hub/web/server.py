"""The HTTP server of a hub: a socket that is bound before anything is said, and patience with slow
clients that ends."""

from __future__ import annotations

import asyncio
import errno
import socket
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from typing import Any, ClassVar

import uvicorn
from starlette.types import ASGIApp
from uvicorn.protocols.http.h11_impl import H11Protocol

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import network_of

_GRACE = 20
"""Seconds that requests have to end once the server is stopped."""
_HEADER_SECONDS = 15.0
"""Seconds that a client has to send the headers of a request."""
_IDLE_SECONDS = 15
"""Seconds for which a connection is kept between two requests."""
_CONNECTIONS = 1_000
"""Connections at once; further ones are answered with 503. Each costs a file descriptor."""
_WAITING = 200
"""Connections of one address that have sent no complete request yet; further ones are closed, so
that no client alone takes all connections."""
_BACKLOG = 512
_WHY = {
    errno.EADDRINUSE: "is in use by another program",
    errno.EACCES: "may not be opened by this user (ports below 1024 belong to root)",
    errno.EADDRNOTAVAIL: "is no address of this machine",
}


def bind_socket(host: str, port: int) -> socket.socket:
    """A socket that listens; port 0 takes a free one. Raises UsageError."""
    if not 0 <= port <= 65_535:
        raise UsageError(f"--port {port}: expected a number from 0 to 65535")
    try:
        kinds = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError as error:
        raise UsageError(f"--host {host}: {error.strerror or error}") from error
    family, kind, _, _, address = kinds[0]
    bound = socket.socket(family, kind)
    try:
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
        bound.listen(_BACKLOG)
    except OSError as error:
        bound.close()
        why = _WHY.get(error.errno or 0, error.strerror or str(error))
        raise UsageError(
            f"port {port} of {host} {why}; choose another with --port, or a free one with --port 0"
        ) from error
    bound.set_inheritable(True)
    return bound


def serve_app(app: ASGIApp, bound: socket.socket, announce: Callable[[], None]) -> None:
    """Serve until SIGINT or SIGTERM; requests that are going on have 20 seconds to end. `announce`
    is called once it serves: from then on both signals end it gracefully."""
    _allow_files()
    config = uvicorn.Config(
        app,
        http=PatientProtocol,
        access_log=False,
        log_config=None,
        log_level="warning",
        timeout_graceful_shutdown=_GRACE,
        timeout_keep_alive=_IDLE_SECONDS,
        h11_max_incomplete_event_size=64_000,
        server_header=False,
        backlog=_BACKLOG,
        limit_concurrency=_CONNECTIONS,
        proxy_headers=False,
    )
    # It raises the signal once more after it has ended the requests.
    with suppress(KeyboardInterrupt):
        _AnnouncedServer(config, announce).run(sockets=[bound])


class _AnnouncedServer(uvicorn.Server):
    def __init__(self, config: uvicorn.Config, announce: Callable[[], None]) -> None:
        super().__init__(config)
        self._announce = announce

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._announce()


class PatientProtocol(H11Protocol):
    """uvicorn's protocol, which waits for ever for the headers of any number of requests, with a
    deadline, and with a limit for each address."""

    _waiting: ClassVar[Counter[str]] = Counter()
    """Connections without a complete request, by the network of the client."""

    def __init__(self, *arguments: Any, **keywords: Any) -> None:
        super().__init__(*arguments, **keywords)
        self._deadline: asyncio.TimerHandle | None = None
        self._network = ""

    def connection_made(self, transport: Any) -> None:
        super().connection_made(transport)
        self._network = network_of(self.client[0]) if self.client else ""
        if self._waiting[self._network] >= _WAITING:
            transport.abort()
        self._start_deadline()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self._is_answering():
            self._end_deadline()
        elif self._deadline is None:
            # The first bytes of another request on this connection.
            self._start_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        self._end_deadline()
        super().connection_lost(exc)

    def _is_answering(self) -> bool:
        """Whether the headers have arrived, and the answer has not been sent yet."""
        return self.cycle is not None and not self.cycle.response_complete

    def _start_deadline(self) -> None:
        self._waiting[self._network] += 1
        self._deadline = self.loop.call_later(_HEADER_SECONDS, self._close_if_late)

    def _end_deadline(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
            self._waiting[self._network] -= 1
            if not self._waiting[self._network]:
                del self._waiting[self._network]

    def _close_if_late(self) -> None:
        self._end_deadline()
        if not self._is_answering() and not self.transport.is_closing():
            self.transport.close()


def _allow_files() -> None:
    """Allow as many open files as this process may, at most what all connections need."""
    try:
        import resource
    except ModuleNotFoundError:  # pragma: no cover - Windows
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 4 * _CONNECTIONS
    if soft < wanted:
        limit = wanted if hard == resource.RLIM_INFINITY else min(hard, wanted)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))
