"""A server of pages for this machine alone: who may read and write, and how files are sent.

What is at which address is said by its subclasses: the pages over runs (`view/server.py`), and the
page on which people review a data set (`curate/review`).
"""

from __future__ import annotations

import errno
import hmac
import re
import sys
from collections.abc import Callable
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from typing import Any, NamedTuple
from urllib.parse import parse_qs, unquote, urlsplit

import msgspec

from snellen.core.errors import SnellenError, UsageError
from snellen.settings import read_limits

HOST = "127.0.0.1"
IDLE_SECONDS = 10.0
"""Seconds after which an idle connection is closed; browsers open a new one when needed."""
MAX_BODY = 64_000
"""Bytes of what a page may send at most."""
MAX_PART = 4 << 20
"""Bytes of a video in one answer; browsers ask for the rest."""
TOKEN_HEADER = "X-Snellen-Token"
"""What a page sends to be allowed to write: it cannot be set by pages of other origins, nor is its
value known to them."""
_TOKEN_KEY = "token"
"""Of the printed address."""
_CLOSED = b'{"error": "open the address that snellen printed, which has a token"}'
JSON, HTML = "application/json; charset=utf-8", "text/html; charset=utf-8"
_RANGE = re.compile(r"bytes=(\d{1,15})-")
_HOST_NAMES = (HOST, "localhost")

Query = dict[str, str]


class PageRequest(NamedTuple):
    """What a page asks."""

    path: str
    query: Query
    token: str
    """The value of the header `TOKEN_HEADER`; empty without one."""
    start: int = 0
    """Of a part of a file: the offset of its first byte."""
    body: bytes = b""
    """Of a request to write."""


class PageAnswer(NamedTuple):
    """What an address answers."""

    kind: str
    """Its media type."""
    body: bytes
    part: tuple[int, int] | None = None
    """Of a part of a file: the offset of the first byte, and the size of the whole file."""


class NoSuchAddress(Exception):
    """There is nothing at this address."""


class FilePart(NamedTuple):
    """A part of a file: its bytes, the first one's offset, and the size of the whole file."""

    data: bytes
    start: int
    size: int
    kind: str


def read_part(path: Path, start: int, kind: str) -> FilePart:
    """At most `MAX_PART` bytes of a file from an offset on. Raises OSError."""
    with path.open("rb") as file:
        file.seek(0, 2)
        size = file.tell()
        file.seek(min(start, size))
        return FilePart(file.read(MAX_PART), start, size, kind)


class LocalServer(ThreadingHTTPServer):
    """Serves pages on the loopback address, until it is shut down.

    Closes a connection that is idle for `IDLE_SECONDS`, and rejects connections above
    `SNELLEN_MAX_CONNECTIONS`. Raises UsageError if the port is in use.
    """

    daemon_threads = True
    read_token = ""
    """What the printed address has, and without which nothing is read; empty: anybody on this
    machine may read what `read` answers."""

    def __init__(self, port: int | None, default_port: int) -> None:
        """Without a `port`, `default_port` if it is free, else any."""
        self._free_connections = BoundedSemaphore(read_limits().connections)
        try:
            super().__init__((HOST, default_port if port is None else port), _Handler)
        except OverflowError:
            raise UsageError(f"the port is {port}; expected 0 to 65535") from None
        except OSError as error:
            if port is not None:
                is_taken = error.errno == errno.EADDRINUSE
                why = "is taken by another program" if is_taken else f"cannot be used: {error}"
                raise UsageError(f"port {port} {why}; name another with --port, or leave --port away") from error
            super().__init__((HOST, 0), _Handler)

    def read(self, request: PageRequest) -> PageAnswer:
        """Answer a GET request. Raises NoSuchAddress, or an error that is answered as a
        sentence."""
        raise NoSuchAddress

    def find_action(self, path: str) -> Callable[[PageRequest], Any] | None:
        """What stores the body of a POST request to an address, and returns what is answered as
        JSON; None where nothing is stored."""
        return None

    def tokens(self) -> tuple[str, ...]:
        """The tokens of the pages that may write."""
        return ()

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
        """The address to open."""
        token = f"?{_TOKEN_KEY}={self.read_token}" if self.read_token else ""
        return f"http://{HOST}:{self.server_port}/{token}"

    @property
    def cookie(self) -> str:
        """What a browser keeps once it has opened the address."""
        return f"snellen-{self.server_port}={self.read_token}"

    def may_read(self, token: str, cookies: str) -> bool:
        """Whether a request has the token of the address, or the cookie that it gave."""
        pairs = [(token, self.read_token), *((each.strip(), self.cookie) for each in cookies.split(";"))]
        same = [hmac.compare_digest(given.encode(), known.encode()) for given, known in pairs]
        return not self.read_token or any(same)


class _Handler(BaseHTTPRequestHandler):
    """Answers GET, and POST from its own pages where something is stored. No part of an address is
    ever joined to a path."""

    server: LocalServer
    timeout = IDLE_SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "snellen"
    sys_version = ""

    def do_GET(self) -> None:
        request = self._request()
        token = request.query.get(_TOKEN_KEY, "")
        if not self._may_read(token):
            self._send(HTTPStatus.FORBIDDEN, JSON, _CLOSED)
        elif token and request.path == "/":
            # The cookie stands for the token from now on, which leaves the address bar.
            self._send(HTTPStatus.SEE_OTHER, HTML, b"", cookie=self.server.cookie)
        else:
            self._reply(lambda: self.server.read(request))

    def do_POST(self) -> None:
        action = self.server.find_action(urlsplit(self.path).path)
        length = self.headers.get("Content-Length", "")
        if action is None:
            self.send_error(HTTPStatus.NOT_IMPLEMENTED)
        elif not (self._may_read("") and self._is_own_page()):
            self.close_connection = True
            self._send(HTTPStatus.FORBIDDEN, JSON, b'{"error": "for its own pages alone"}')
        elif not length.isdecimal() or int(length) > MAX_BODY:
            self.close_connection = True
            self._send(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, JSON, b'{"error": "too large"}')
        else:
            request = self._request(self.rfile.read(int(length)))
            self._reply(lambda: PageAnswer(JSON, msgspec.json.encode(action(request))))

    def _request(self, body: bytes = b"") -> PageRequest:
        parts = urlsplit(self.path)
        wanted = _RANGE.match(self.headers.get("Range", ""))
        return PageRequest(
            unquote(parts.path),
            {name: each[-1] for name, each in parse_qs(parts.query, keep_blank_values=True).items()},
            self.headers.get(TOKEN_HEADER, ""),
            int(wanted[1]) if wanted else 0,
            body,
        )

    def _may_read(self, token: str) -> bool:
        return self.server.may_read(token, self.headers.get("Cookie", ""))

    def _is_own_page(self) -> bool:
        """Whether a request to write comes from a page that this server made: by its token, which
        pages of other origins do not know, and by the origin that the browser states."""
        origin = self.headers.get("Origin")
        token = self.headers.get(TOKEN_HEADER, "").encode()
        known = [hmac.compare_digest(token, each.encode()) for each in self.server.tokens()]
        return any(known) and origin in (None, *(f"http://{name}:{self.server.server_port}" for name in _HOST_NAMES))

    def _reply(self, answer: Callable[[], PageAnswer]) -> None:
        if self.headers.get("Host", "").rpartition(":")[0] not in _HOST_NAMES:
            # DNS rebinding: a foreign page whose name resolves to this machine.
            self._send(HTTPStatus.FORBIDDEN, JSON, b'{"error": "for this machine alone"}')
            return
        try:
            kind, body, part = answer()
        except NoSuchAddress:
            self._send(HTTPStatus.NOT_FOUND, JSON, b'{"error": "nothing is here"}')
        except (SnellenError, OSError) as error:
            problem = msgspec.json.encode({"error": str(error)})
            self._send(HTTPStatus.UNPROCESSABLE_ENTITY, JSON, problem)
        else:
            self._send(HTTPStatus.PARTIAL_CONTENT if part else HTTPStatus.OK, kind, body, part)

    def _send(
        self, status: HTTPStatus, kind: str, body: bytes, part: tuple[int, int] | None = None, cookie: str = ""
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
        if cookie:
            self.send_header("Set-Cookie", f"{cookie}; HttpOnly; SameSite=Strict; Path=/")
            self.send_header("Location", "/")
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
        self._send(HTTPStatus(status), JSON, b'{"error": "this is read with GET"}')

    def log_message(self, format: str, *args: Any) -> None:
        """Log nothing: the terminal is for the address and for errors."""
