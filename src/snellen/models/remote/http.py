"""HTTP client of one server: one aiohttp session per event loop, one attempt per request."""

from __future__ import annotations

import asyncio
import importlib.util
import io
import os
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import IO, TYPE_CHECKING, Any, Protocol
from urllib.parse import urljoin, urlsplit

from snellen.core.errors import MissingExtra, ModelError
from snellen.core.secret import Secret
from snellen.models.remote.body import MEGABYTE, read_body, read_chunks, read_prefix
from snellen.models.remote.credentials import Credentials
from snellen.models.remote.errors import HTML_PAGE, HtmlReply, error_details, error_from_status
from snellen.models.remote.image_urls import ImageHostPolicy, PrivateAddress, private_address_error, public_resolver
from snellen.models.remote.json_reply import parse_json, quote
from snellen.settings import proxy_for

if TYPE_CHECKING:
    from aiohttp import ClientConnectorError, ClientResponse, ClientSession, ClientTimeout, FormData
    from aiohttp.abc import AbstractResolver
    from yarl import URL

    Payload = bytes | IO[bytes] | AsyncIterator[bytes] | FormData

_CONNECT_TIMEOUT = 20.0
"""Seconds to wait for a connection."""
_KEEP_ALIVE = 30.0
"""Seconds that an idle connection is kept. Servers close theirs after 60 s or more, so that a
request seldom meets a closing connection."""
_LARGE_BODY = 1 << 20
"""Bytes from which a body is passed to aiohttp as a file, which it writes in pieces."""
_MAX_ERROR_BYTES = MEGABYTE
"""Bytes that are read of the body of an error."""
_MAX_FILE_BYTES = 1 << 40
"""Bytes that are read of a file, one line after the other."""
_MAX_REDIRECTS = 3
"""Redirects of an image's URL, each of which is checked again."""
PROXY = "the proxy"
"""How error messages name a proxy."""
_MAX_QUOTED = 120
"""Characters of an unreadable reply that an error message quotes."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Endpoint:
    """Base URL of a server, with the key and headers of every request."""

    base_url: str
    key: Secret | None = None
    key_header: str = "Authorization"
    key_scheme: str = "Bearer"
    credentials: Credentials | None = None
    """What stands in place of a key."""
    headers: Mapping[str, str] = field(default_factory=dict)
    """Headers of every request, except the one with the key."""
    query: str = ""
    """Query string of each URL."""

    def url(self, path: str) -> str:
        """The URL of a path below the base URL."""
        return f"{self.base_url}/{path}" + (f"?{self.query}" if self.query else "")

    async def headers_with_key(self, method: str, url: str, body: bytes | None) -> dict[str, str]:
        """Headers of a request to this server, and no other. Raises ModelError if a program that
        prints the key fails."""
        if self.key is None and self.credentials is not None:
            return {**self.headers, **await asyncio.to_thread(self.credentials.headers, method, url, body or b"")}
        if self.key is None:
            return dict(self.headers)
        scheme = f"{self.key_scheme} " if self.key_scheme and self.key_header == "Authorization" else ""
        return {**self.headers, self.key_header: scheme + self.key.reveal()}


class ServerClient(Protocol):
    """Sends each request to one server once. Raises ModelError and ReplyBlocked."""

    on_reply: Callable[[Mapping[str, Any]], object]
    """Called with each reply to a POST; for a stream, with its first chunk."""

    @property
    def remarks(self) -> tuple[str, ...]:
        """What readers of the results should know about the servers."""
        ...

    async def post(self, path: str, body: bytes) -> dict[str, Any]:
        """POST a JSON body and decode the JSON object of the reply."""
        ...

    async def get(self, path: str) -> dict[str, Any]:
        """GET a path and decode the JSON object of the reply."""
        ...

    async def fetch(self, url: str) -> bytes:
        """Download a URL that the server names, e.g. of a drawn image, without sending the key."""
        ...

    def events(self, path: str, body: bytes) -> AsyncIterator[dict[str, Any]]:
        """POST a JSON body and iterate over the JSON objects of the server-sent events."""
        ...

    async def on_each(self, check: Callable[[str], Awaitable[None]]) -> None:
        """Check each server by itself, given its base URL; a single one is given none."""
        ...

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        ...


class HttpClient:
    """Sends each request once. Raises ModelError and ReplyBlocked for all errors."""

    remarks: tuple[str, ...] = ()

    def __init__(
        self,
        endpoint: Endpoint,
        concurrency: int,
        timeout: float,
        max_reply_bytes: int,
        image_hosts: Sequence[str] = (),
    ) -> None:
        """`timeout` is in seconds for a complete reply; `max_reply_bytes` counts unpacked bytes.
        Images that the server names by a URL are also fetched from `image_hosts`."""
        self._endpoint = endpoint
        self._image_host_policy = ImageHostPolicy(endpoint.base_url, image_hosts)
        self._max_reply_bytes = max_reply_bytes
        self._concurrency = concurrency
        self._timeout = timeout
        self._session: ClientSession | None = None
        self._public_session: ClientSession | None = None
        """Session for URLs that the server names: it connects to public addresses only."""
        self._loop: asyncio.AbstractEventLoop | None = None
        self._proxy: str | None = None
        self._reply_timeout: ClientTimeout
        self._transfer_timeout: ClientTimeout
        """Both are made with the session."""
        self.on_reply: Callable[[Mapping[str, Any]], object] = lambda reply: None
        """Called with each reply to a POST; for a stream, with its first chunk."""

    def post(self, path: str, body: bytes) -> Coroutine[Any, Any, dict[str, Any]]:
        """POST a JSON body and decode the JSON object of the reply."""
        return self._exchange("POST", path, body)

    def get(self, path: str) -> Coroutine[Any, Any, dict[str, Any]]:
        """GET a path and decode the JSON object of the reply."""
        return self._exchange("GET", path, None)

    async def fetch(self, url: str) -> bytes:
        """Download a URL that the server names, e.g. of a drawn image, without sending the key.

        Raises ModelError if `ImageHostPolicy` does not allow the URL.
        """
        for _ in range(_MAX_REDIRECTS + 1):
            self._image_host_policy.check(url)
            try:
                async with await self._request("GET", url, None, {}, external=True) as response:
                    if 300 <= response.status < 400:
                        url = urljoin(url, response.headers.get("Location", ""))
                        continue
                    if response.status >= 400:
                        await self._raise_for_status(response)
                    return await read_body(response, self._max_reply_bytes)
            except _network_errors() as error:
                if isinstance(getattr(error, "os_error", None), PrivateAddress):
                    raise private_address_error(url) from error
                raise self._model_error(error, url) from error
        raise ModelError("a drawn image is moved from address to address", "request")

    async def events(self, path: str, body: bytes) -> AsyncIterator[dict[str, Any]]:
        """POST a JSON body and iterate over the JSON objects of the server-sent events."""
        url = self._endpoint.url(path)
        started = False
        headers = await self._endpoint.headers_with_key("POST", url, body)
        async with self._reply("POST", url, body, headers) as response:
            async for line in _lines(read_chunks(response, self._max_reply_bytes)):
                if not line.startswith(b"data:"):
                    continue
                data = line.removeprefix(b"data:").strip()
                if data == b"[DONE]":
                    return
                if data:
                    chunk = decode_object(data)
                    if not started:
                        started = True
                        self.on_reply(chunk)
                    yield chunk

    async def upload(
        self, target: str, body: Payload, headers: Mapping[str, str] = {}
    ) -> tuple[dict[str, Any], Mapping[str, str]]:
        """POST a file to a path or to a URL of this server, however long it takes; returns the JSON object
        of the reply, {} if it is empty, and the headers of the reply."""
        url = self._own_url(target)
        own = await self._endpoint.headers_with_key("POST", url, None)
        if not isinstance(body, bytes):
            # Of a form, aiohttp writes the type with its boundary.
            own = {name: value for name, value in own.items() if name != "Content-Type"}
        async with self._reply("POST", url, body, {**own, **headers}, transfers=True) as response:
            data = await read_body(response, self._max_reply_bytes)
            return (decode_object(data) if data.strip() else {}), response.headers

    async def lines(self, path: str) -> AsyncIterator[bytes]:
        """GET a file of any length, line by line; a line may be as long as a reply. Raises ModelError."""
        url = self._endpoint.url(path)
        headers = await self._endpoint.headers_with_key("GET", url, None)
        async with self._reply("GET", url, None, headers, transfers=True) as response:
            async for line in _lines(read_chunks(response, _MAX_FILE_BYTES)):
                if len(line) > self._max_reply_bytes:
                    raise ModelError("a line of the file is longer than a reply may be (max_reply_mb)", "server")
                if line:
                    yield line

    def _own_url(self, target: str) -> str:
        """The URL of a path, or a URL that this server named: the key is sent to no other."""
        if "://" not in target:
            return self._endpoint.url(target)
        if urlsplit(target)[:2] != urlsplit(self._endpoint.base_url)[:2]:
            raise ModelError(f"the server names the address of another: {quote(target)}", "request")
        return target

    async def on_each(self, check: Callable[[str], Awaitable[None]]) -> None:
        """Check the server."""
        await check("")

    async def close(self) -> None:
        """Close the connections of the running event loop."""
        sessions = self._session, self._public_session
        self._session = self._public_session = None
        for session in sessions:
            if session is not None:
                await session.close()

    async def _exchange(self, method: str, path: str, body: bytes | None) -> dict[str, Any]:
        """The JSON object of the reply, read as a whole. Raises as `_reply` does: a context manager, here and
        within aiohttp, takes some 25 Python calls, too many for each question."""
        url = self._endpoint.url(path)
        headers = await self._endpoint.headers_with_key(method, url, body)
        try:
            # Its connection is free again once it was read to its end.
            response = await self._request(method, url, body, headers)
            try:
                if response.status >= 300:
                    await self._raise_for_status(response)
                data = await read_body(response, self._max_reply_bytes)
            except BaseException:
                response.close()
                raise
        except _network_errors() as error:
            raise self._model_error(error, url) from error
        reply = decode_object(data)
        if body is not None:
            self.on_reply(reply)
        return reply

    @asynccontextmanager
    async def _reply(
        self, method: str, url: str, body: Payload | None, headers: Mapping[str, str], *, transfers: bool = False
    ) -> AsyncIterator[ClientResponse]:
        """The reply to a request. Raises ModelError or ReplyBlocked, also where it breaks while it is read."""
        try:
            async with await self._request(method, url, body, headers, transfers=transfers) as response:
                if response.status >= 300:
                    await self._raise_for_status(response)
                yield response
        except _network_errors() as error:
            raise self._model_error(error, url) from error

    def _request(
        self,
        method: str,
        url: str,
        body: Payload | None,
        headers: Mapping[str, str],
        *,
        external: bool = False,
        transfers: bool = False,
    ) -> Awaitable[ClientResponse]:
        """Send a request. `transfers`: it has no time limit as long as bytes are moving."""
        session = self._loop_session()
        target: str | URL = url
        if self._endpoint.credentials is not None:
            from yarl import URL

            # What is signed is sent as it stands: aiohttp would write %3A as a colon.
            target = URL(url, encoded=True)
        # A proxy resolves names itself, so that their addresses cannot be checked here.
        if external and not self._proxy and not self._image_host_policy.is_trusted(url):
            session = self._public_session = self._public_session or self._new_session(public_resolver())
        return session.request(
            method,
            target,
            data=io.BytesIO(body) if isinstance(body, bytes) and len(body) > _LARGE_BODY else body,
            headers=headers,
            timeout=self._transfer_timeout if transfers else self._reply_timeout,
            proxy=self._proxy,
            # A redirect would carry the key along (aiohttp drops only `Authorization`), or lead to
            # an address that was not checked.
            allow_redirects=False,
        )

    async def _raise_for_status(self, response: ClientResponse) -> None:
        """Raises ModelError or ReplyBlocked for a redirect or an error status, one from 300 on."""
        if response.status < 400:
            raise _redirect_error(response)
        body = await read_prefix(response, _MAX_ERROR_BYTES)
        raise error_from_status(response.status, response.headers, body)

    def _model_error(self, error: Exception, url: str) -> ModelError:
        import aiohttp

        if isinstance(error, aiohttp.ConnectionTimeoutError):
            # Behind a proxy, this machine connects to nothing else.
            to = self._proxy_label(url) if self._proxy else _host(url)
            return ModelError(f"cannot connect to {to} within {_CONNECT_TIMEOUT:g} s", "connection")
        if isinstance(error, TimeoutError):
            return ModelError(f"no reply within {self._timeout:g} s", "timeout")
        if isinstance(error, aiohttp.InvalidURL):
            return ModelError(f"{quote(url)} is not a URL", "request")
        if isinstance(error, aiohttp.ClientHttpProxyError):
            # The library's message contains the proxy's URL, and thus possibly a password.
            proxy = self._proxy_label(url)
            return ModelError(f"{proxy} answers {error.status}", "connection")
        if isinstance(error, aiohttp.ClientConnectorError):
            to = self._proxy_label(url) if self._is_proxy_error(error) else _host(url)
            return ModelError(f"cannot connect to {to}: {_error_reason(error)}", "connection")
        return ModelError(f"the connection broke: {_error_reason(error)}", "connection")

    def _is_proxy_error(self, error: ClientConnectorError) -> bool:
        """Whether the proxy was unreachable, not the server behind it."""
        return self._proxy is not None and error.host == urlsplit(self._proxy).hostname

    def _proxy_label(self, url: str) -> str:
        """The proxy's host and port, without its password, and the variable that sets it."""
        host = _host(self._proxy or "").rpartition("@")[2]
        return f"{PROXY} {host} ({url.partition(':')[0].upper()}_PROXY)"

    def _loop_session(self) -> ClientSession:
        loop = asyncio.get_running_loop()
        if self._session is None or self._loop is not loop:
            self._proxy = proxy_for(self._endpoint.base_url)
            self._loop = loop
            self._session, self._public_session = self._new_session(), None
        return self._session

    def _new_session(self, resolver: AbstractResolver | None = None) -> ClientSession:
        import aiohttp

        self._reply_timeout = aiohttp.ClientTimeout(total=self._timeout, sock_connect=_CONNECT_TIMEOUT)
        self._transfer_timeout = aiohttp.ClientTimeout(sock_connect=_CONNECT_TIMEOUT, sock_read=self._timeout)
        return aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(
                limit=self._concurrency, keepalive_timeout=_KEEP_ALIVE, ttl_dns_cache=300, resolver=resolver
            ),
            timeout=self._reply_timeout,
            headers={"Accept-Encoding": "identity", "User-Agent": "snellen"},
            cookie_jar=aiohttp.DummyCookieJar(),
            auto_decompress=False,
        )


def require_aiohttp(what: str) -> None:
    """Raises MissingExtra if aiohttp is not installed."""
    if importlib.util.find_spec("aiohttp") is None:
        raise MissingExtra(what, "api", "aiohttp")


def _network_errors() -> tuple[type[Exception], ...]:
    import aiohttp

    return aiohttp.ClientError, ConnectionError, TimeoutError


def decode_object(body: bytes) -> dict[str, Any]:
    """Decode a reply's JSON object.

    Raises HtmlReply for a web page, ModelError (`server`) for truncated JSON, since a retry may
    help, and ModelError (`request`) for other JSON.
    """
    try:
        reply = parse_json(body)
    except ValueError as error:
        message = error_details(body).message
        page = message.startswith(HTML_PAGE)
        excerpt = f": {quote(message, _MAX_QUOTED)}" if message else ", but empty"
        sentence = f"the server's reply is not JSON{excerpt}"
        raise (HtmlReply(sentence) if page else ModelError(sentence, "server")) from error
    if not isinstance(reply, dict):
        sentence = f"the server's reply is no JSON object: {quote(reply, _MAX_QUOTED)}"
        raise ModelError(sentence, "request")
    return reply


async def _lines(body: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    """Split a body into lines. aiohttp limits lines to 128 kB, too short for an image."""
    pending: list[bytes] = []
    async for chunk in body:
        first, *lines = chunk.split(b"\n")
        pending.append(first)
        for line in lines:
            yield b"".join(pending).strip()
            pending = [line]
    yield b"".join(pending).strip()


def _redirect_error(response: ClientResponse) -> ModelError:
    to = quote(response.headers.get("Location", "nowhere"))
    return ModelError(f"the server answers {response.status}: the API has moved to {to}", "request")


def _host(url: str) -> str:
    return quote(url.split("/")[2] if url.count("/") >= 2 else url)


def _error_reason(error: BaseException) -> str:
    """The system's message, without the address that the library repeats."""
    inner = getattr(error, "os_error", None) or error
    number = getattr(inner, "errno", None)
    if isinstance(number, int) and number > 0:
        return os.strerror(number)
    return str(getattr(inner, "strerror", None) or inner) or type(error).__name__
