"""The pages, served to this machine alone."""

from __future__ import annotations

import errno
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from snellen.core.errors import SnellenError, UsageError
from snellen.settings import read_limits
from snellen.view.run_images import content_type
from snellen.view.run_view import RunLibrary
from snellen.view.shell import render_shell

HOST = "127.0.0.1"
PORT = 8420
"""Taken where it is free and none was named."""
IDLE_SECONDS = 10.0
"""Seconds for which a connection may be silent; browsers open another one when they need it."""
MAX_SAMPLES = 200
"""Samples in one answer."""
_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_HOST_NAMES = (HOST, "localhost")

Query = dict[str, str]


class PageServer(ThreadingHTTPServer):
    """Serves a shelf of runs until it is shut down. Bound to this machine's loopback address.

    A connection on which nothing comes for `IDLE_SECONDS` seconds is closed; what is above
    `SNELLEN_MAX_CONNECTIONS` is closed at once. Raises UsageError when the port is taken.
    """

    daemon_threads = True

    def __init__(self, library: RunLibrary, port: int | None = None) -> None:
        self.library = library
        self.shell = render_shell({}).encode()
        self._free_connections = BoundedSemaphore(read_limits().connections)
        try:
            super().__init__((HOST, PORT if port is None else port), _Handler)
        except OverflowError:
            raise UsageError(f"the port is {port}; expected 0 to 65535") from None
        except OSError as error:
            if port is not None:
                is_taken = error.errno == errno.EADDRINUSE
                why = "is taken by another program" if is_taken else f"cannot be used: {error}"
                raise UsageError(
                    f"port {port} {why}; name another with --port, or leave --port away"
                ) from error
            super().__init__((HOST, 0), _Handler)

    def process_request(self, request: Any, client_address: Any) -> None:
        """A thread for a connection, while there are not too many."""
        if self._free_connections.acquire(blocking=False):
            super().process_request(request, client_address)
        else:
            self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self._free_connections.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A browser that went away or fell asleep in the midst of an answer is nothing to speak
        of."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class _NotFound(Exception):
    """There is nothing at this address."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET alone. No part of an address is ever joined to a path."""

    server: PageServer
    timeout = IDLE_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "snellen"
    sys_version = ""

    def do_GET(self) -> None:
        if self.headers.get("Host", "").rpartition(":")[0] not in _HOST_NAMES:
            # A foreign page that had its own name resolved to this machine.
            self._send(HTTPStatus.FORBIDDEN, _JSON, b'{"error": "for this machine alone"}')
            return
        parts = urlsplit(self.path)
        try:
            kind, body = self._answer(unquote(parts.path), _parse_query(parts.query))
        except _NotFound:
            self._send(HTTPStatus.NOT_FOUND, _JSON, b'{"error": "nothing is here"}')
        except (SnellenError, OSError) as error:
            problem = msgspec.json.encode({"error": str(error)})
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _JSON, problem)
        else:
            self._send(HTTPStatus.OK, kind, body)

    def _answer(self, path: str, query: Query) -> tuple[str, bytes]:
        if path == "/":
            return _HTML, self.server.shell
        if path.startswith("/media/"):
            return self._image(path.split("/")[2:], query)
        route = _ROUTES.get(path)
        if route is None:
            raise _NotFound
        try:
            return _JSON, msgspec.json.encode(route(self.server.library, query))
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(f"the address {path} lacks something: {error}") from error

    def _image(self, parts: list[str], query: Query) -> tuple[str, bytes]:
        """`/media/RUN/DIGEST`: the thumbnail, or with `whole=1` the original."""
        if len(parts) != 2:
            raise _NotFound
        images = self.server.library.view(parts[0]).images
        read = images.original if "whole" in query else images.thumbnail
        data = read(parts[1], query.get("sample", ""))
        if data is None:
            raise _NotFound
        return content_type(data), data

    def _send(self, status: HTTPStatus, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.send_header("X-Content-Type-Options", "nosniff")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        # Pictures are named by their digest: what a name stands for never changes.
        lasting = kind.startswith("image/")
        self.send_header("Cache-Control", "private, max-age=86400" if lasting else "no-store")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Whatever is no GET, or no HTTP: no page for it, one sentence."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        self._send(HTTPStatus(status), _JSON, b'{"error": "this is read with GET"}')

    def log_message(self, format: str, *args: Any) -> None:
        """Nothing: the terminal is for the address and for errors."""


def _parse_query(text: str) -> Query:
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _samples(library: RunLibrary, query: Query) -> Any:
    numbers = [int(index) for index in query["rows"].split(",")][:MAX_SAMPLES]
    if min(numbers) < 0:
        raise IndexError(min(numbers))
    return library.view(query["run"]).samples(numbers)


_ROUTES: dict[str, Callable[[RunLibrary, Query], Any]] = {
    "/api/runs": lambda shelf, _: shelf.overview(),
    "/api/run": lambda shelf, query: shelf.view(query["run"]).head(),
    "/api/numbers": lambda shelf, query: shelf.numbers(query["run"]),
    "/api/columns": lambda shelf, query: shelf.view(query["run"]).columns(
        int(query.get("from", "0")), int(query.get("generation", "0"))
    ),
    "/api/samples": _samples,
    "/api/search": lambda shelf, query: shelf.view(query["run"]).search(
        query["text"], int(query.get("from", "0"))
    ),
    "/api/compare": lambda shelf, query: shelf.comparison(query["first"], query["second"]),
}
"""Address to what is found there."""
