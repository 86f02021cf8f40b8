"""Serve the pages to this machine alone."""

from __future__ import annotations

import errno
import hmac
import re
import secrets
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from snellen.api.run_images import content_type
from snellen.core.errors import SnellenError, UsageError
from snellen.settings import read_limits, user_name
from snellen.view.run_annotations import decode_change
from snellen.view.run_catalog import FIRST_READ_SECONDS, LATER_READ_SECONDS
from snellen.view.run_view import RunLibrary
from snellen.view.sample_source import describe_source, read_video, subtitles_vtt
from snellen.view.saved_views import SavedView
from snellen.view.shell import render_shell
from snellen.view.suite_members import suites_json

HOST = "127.0.0.1"
PORT = 8420
"""Used if no port is named and it is free."""
IDLE_SECONDS = 10.0
"""Seconds after which an idle connection is closed; browsers open a new one when needed."""
MAX_SAMPLES = 200
"""Samples in one answer at most."""
MAX_BODY = 64_000
"""Bytes of what a page may send at most."""
TOKEN_HEADER = "X-Snellen-Token"
"""What a page sends to be allowed to write: it cannot be set by pages of other origins, nor is its
value known to them."""
_JSON, _HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_SUBTITLES = "text/vtt; charset=utf-8"
_RANGE = re.compile(r"bytes=(\d{1,15})-")
_HOST_NAMES = (HOST, "localhost")

Query = dict[str, str]


class PageServer(ThreadingHTTPServer):
    """Serves a library of runs on the loopback address, until it is shut down.

    Closes a connection that is idle for `IDLE_SECONDS`, and at once any above
    `SNELLEN_MAX_CONNECTIONS`. Raises UsageError if the port is in use.
    """

    daemon_threads = True

    def __init__(
        self, library: RunLibrary, port: int | None = None, annotator: str | None = None
    ) -> None:
        """`annotator` is who is named in annotations; by default the user of this machine."""
        self.library = library
        self.annotator = user_name() if annotator is None else annotator
        self.token = secrets.token_urlsafe(16)
        self.shell = render_shell({"token": self.token}).encode()
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
        """Start a thread for a connection, unless there are too many."""
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
        """Print errors, but not that a browser closed its connection during an answer."""
        if not isinstance(sys.exception(), ConnectionError | TimeoutError):
            super().handle_error(request, client_address)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/"


class _Answer(NamedTuple):
    """What an address answers."""

    kind: str
    """Its media type."""
    body: bytes
    part: tuple[int, int] | None = None
    """Of a part of a file: the offset of the first byte, and the size of the whole file."""


class _NotFound(Exception):
    """There is nothing at this address."""


class _Handler(BaseHTTPRequestHandler):
    """Answers GET, and POST from its own pages where something is stored. No part of an address is
    ever joined to a path."""

    server: PageServer
    timeout = IDLE_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "snellen"
    sys_version = ""

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        self._reply(lambda: self._answer(unquote(parts.path), _parse_query(parts.query)))

    def do_POST(self) -> None:
        store = _POST_ROUTES.get(urlsplit(self.path).path)
        length = self.headers.get("Content-Length", "")
        if store is None:
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        elif not self._is_own_page():
            self.close_connection = True
            self._send(HTTPStatus.FORBIDDEN, _JSON, b'{"error": "for its own pages alone"}')
        elif not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, _JSON, b'{"error": "too large"}')
        else:
            body = self.rfile.read(int(length))
            self._reply(lambda: _Answer(_JSON, msgspec.json.encode(store(self.server, body))))

    def _is_own_page(self) -> bool:
        """Whether a request to write comes from a page that this server made: by its token, which
        pages of other origins do not know, and by the origin that the browser states."""
        origin = self.headers.get("Origin")
        token = self.headers.get(TOKEN_HEADER, "")
        return hmac.compare_digest(token.encode(), self.server.token.encode()) and origin in (
            None,
            *(f"http://{name}:{self.server.server_port}" for name in _HOST_NAMES),
        )

    def _reply(self, answer: Callable[[], _Answer]) -> None:
        if self.headers.get("Host", "").rpartition(":")[0] not in _HOST_NAMES:
            # DNS rebinding: a foreign page whose name resolves to this machine.
            self._send(HTTPStatus.FORBIDDEN, _JSON, b'{"error": "for this machine alone"}')
            return
        try:
            kind, body, part = answer()
        except _NotFound:
            self._send(HTTPStatus.NOT_FOUND, _JSON, b'{"error": "nothing is here"}')
        except (SnellenError, OSError) as error:
            problem = msgspec.json.encode({"error": str(error)})
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, _JSON, problem)
        else:
            self._send(HTTPStatus.PARTIAL_CONTENT if part else HTTPStatus.OK, kind, body, part)

    def _answer(self, path: str, query: Query) -> _Answer:
        if path == "/":
            return _Answer(_HTML, self.server.shell)
        if path.startswith("/media/"):
            return self._image(path.split("/")[2:], query)
        if path.startswith("/video/"):
            return self._video(path.split("/")[2:], query)
        route = _ROUTES.get(path)
        if route is None:
            raise _NotFound
        try:
            content = route(self.server.library, query)
            body = content if isinstance(content, bytes) else msgspec.json.encode(content)
            return _Answer(_JSON, body)
        except (KeyError, ValueError, IndexError) as error:
            raise UsageError(f"the address {path} lacks something: {error}") from error

    def _image(self, parts: list[str], query: Query) -> _Answer:
        """`/media/RUN/DIGEST`: the thumbnail, or with `whole=1` the original."""
        if len(parts) != 2:
            raise _NotFound
        images = self.server.library.view(parts[0]).images
        read = images.original if "whole" in query else images.thumbnail
        data = read(parts[1], query.get("sample", ""))
        if data is None:
            raise _NotFound
        return _Answer(content_type(data), data)

    def _video(self, parts: list[str], query: Query) -> _Answer:
        """`/video/RUN/DIGEST`: a part of a video file, from the byte on that the browser names; or
        with `subtitles=1` its subtitles."""
        if len(parts) != 2:
            raise _NotFound
        images, sample = self.server.library.view(parts[0]).images, query.get("sample", "")
        if "subtitles" in query:
            text = subtitles_vtt(images, sample, parts[1])
            if text is None:
                raise _NotFound
            return _Answer(_SUBTITLES, text.encode())
        wanted = _RANGE.match(self.headers.get("Range", "bytes=0-"))
        part = read_video(images, sample, parts[1], int(wanted[1]) if wanted else 0)
        if part is None or not part.data:
            raise _NotFound
        return _Answer(part.kind, part.data, (part.start, part.size))

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, part: tuple[int, int] | None = None
    ) -> None:
        """Send a response with headers against sniffing and framing; `part` is the offset of a part
        of a file and the file's size, in bytes."""
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        if part is not None:
            last = part[0] + len(body) - 1
            self.send_header("Accept-Ranges", "bytes")
            self.send_header("Content-Range", f"bytes {part[0]}-{last}/{part[1]}")
        self.send_header("X-Content-Type-Options", "nosniff")
        # No other page may put this one into a frame and have its buttons clicked.
        self.send_header("X-Frame-Options", "DENY")
        self.send_header("Cross-Origin-Resource-Policy", "same-origin")
        self.send_header("Referrer-Policy", "no-referrer")
        # Images are named by digest, so that what an address means never changes.
        lasting = kind.startswith("image/")
        self.send_header("Cache-Control", "private, max-age=86400" if lasting else "no-store")
        self.end_headers()
        self.wfile.write(body)

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer requests other than GET, and broken ones, with one sentence."""
        self.close_connection = True
        status = HTTPStatus.METHOD_NOT_ALLOWED if code == HTTPStatus.NOT_IMPLEMENTED else code
        self._send(HTTPStatus(status), _JSON, b'{"error": "this is read with GET"}')

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal is for the address and for errors."""


def _parse_query(text: str) -> Query:
    return {name: values[-1] for name, values in parse_qs(text, keep_blank_values=True).items()}


def _samples(library: RunLibrary, query: Query) -> Any:
    numbers = [int(index) for index in query["rows"].split(",")][:MAX_SAMPLES]
    if min(numbers) < 0:
        raise IndexError(min(numbers))
    return library.view(query["run"]).samples(numbers)


_ROUTES: dict[str, Callable[[RunLibrary, Query], Any]] = {
    "/api/catalog": lambda library, query: _catalog(
        library, int(query.get("since", "0")), query.get("server", "")
    ),
    "/api/suites": lambda shelf, _: suites_json(),
    "/api/views": lambda shelf, _: _saved_views(shelf),
    "/api/run": lambda shelf, query: shelf.view(query["run"]).head(),
    "/api/numbers": lambda shelf, query: shelf.numbers(query["run"]),
    "/api/columns": lambda shelf, query: shelf.view(query["run"]).columns(
        int(query.get("from", "0")), int(query.get("generation", "0"))
    ),
    "/api/samples": _samples,
    "/api/search": lambda shelf, query: shelf.view(query["run"]).search(
        query["text"], int(query.get("from", "0"))
    ),
    "/api/annotations": lambda shelf, query: shelf.annotations(query["run"]),
    "/api/source": lambda shelf, query: describe_source(
        shelf.view(query["run"]).images, query["sample"]
    ),
    "/api/compare": lambda shelf, query: shelf.comparison(query["first"], query["second"]),
}
"""What answers each address, as JSON."""


def _catalog(library: RunLibrary, since: int, server: str) -> bytes:
    seconds = LATER_READ_SECONDS if since else FIRST_READ_SECONDS
    return library.catalog.answer(since, server, seconds)


def _saved_views(library: RunLibrary) -> dict[str, Any]:
    views = library.saved_views
    return {"views": views.read(), "file": str(views.file), "writable": views.is_writable}


class _ViewChange(msgspec.Struct, forbid_unknown_fields=True):
    """A view to store, or with `remove` the name of one to remove."""

    name: str
    address: str = ""
    remove: bool = False


def _change_views(server: PageServer, body: bytes) -> dict[str, Any]:
    library = server.library
    try:
        change = msgspec.json.decode(body, type=_ViewChange)
    except msgspec.DecodeError as error:
        raise UsageError(f"no view to store: {error}") from error
    if change.remove:
        library.saved_views.remove(change.name)
    else:
        library.saved_views.put(SavedView(change.name, change.address))
    return _saved_views(library)


def _annotate(server: PageServer, body: bytes) -> dict[str, Any]:
    return server.library.annotate(decode_change(body), server.annotator)


_POST_ROUTES: dict[str, Callable[[PageServer, bytes], Any]] = {
    "/api/views": _change_views,
    "/api/annotate": _annotate,
}
"""What stores something, from the body of a request."""
