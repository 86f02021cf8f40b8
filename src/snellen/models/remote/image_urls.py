"""Images that a server names by a URL: which URLs are fetched.

A server can name any URL, also of this machine, of the local network, or of the service that hands
out a cloud machine's credentials (server-side request forgery). So images are fetched from the
server itself, from hosts that the user allows, and otherwise by https from public addresses only.
The address is checked when the connection is made, since a name may resolve differently later.
"""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import SplitResult, urlsplit

from snellen.core.errors import ModelError
from snellen.models.remote.json_reply import quote

if TYPE_CHECKING:
    from aiohttp.abc import AbstractResolver

_PORTS = {"http": 80, "https": 443}
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
"""IPv6 addresses whose last four bytes are an IPv4 address (RFC 6052)."""


class PrivateAddress(OSError):
    """A name that resolves to no public address."""


@dataclass(frozen=True, slots=True)
class ImageHostPolicy:
    """Hosts from which the images of one server are fetched."""

    base_url: str
    hosts: Sequence[str] = ()
    """Hosts that the user allows, as NAME or NAME:PORT."""

    def is_trusted(self, url: str) -> bool:
        """Whether a URL is of the server itself, or of a host that the user allows."""
        parts = _parts(url)
        own = urlsplit(self.base_url)
        if (parts.scheme, _authority(parts)) == (own.scheme, _authority(own)):
            return True
        named = {host.lower() for host in self.hosts}
        return (parts.hostname or "") in named or _authority(parts) in named

    def check(self, url: str) -> None:
        """Raises ModelError (`request`) for a URL that may not be fetched."""
        if self.is_trusted(url):
            return
        parts = _parts(url)
        if parts.scheme != "https":
            raise _refusal(url, "it is no https")
        address = _literal_address(parts.hostname or "")
        if address is not None and not is_public(address):
            raise _refusal(url, "it is no public address")


def public_resolver() -> AbstractResolver:
    """Resolver of the system without addresses that are not public, for the running event loop.

    Its `resolve` raises PrivateAddress if no address remains.
    """
    from aiohttp.abc import AbstractResolver, ResolveResult
    from aiohttp.resolver import ThreadedResolver

    class PublicResolver(AbstractResolver):
        def __init__(self) -> None:
            self._inner = ThreadedResolver()

        async def resolve(
            self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
        ) -> list[ResolveResult]:
            addresses = await self._inner.resolve(host, port, family)
            public = [address for address in addresses if is_public(address["host"])]
            if addresses and not public:
                raise PrivateAddress(None, "it leads to no public address")
            return public

        async def close(self) -> None:
            await self._inner.close()

    return PublicResolver()


def is_public(host: str) -> bool:
    """Whether an IP address is public. IPv6 addresses that embed an IPv4 address count as that."""
    address = ipaddress.ip_address(host.partition("%")[0])
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(address.packed[-4:])
        if inner is not None:
            address = inner
        elif address.teredo is not None:
            return False
    return address.is_global and not address.is_multicast


def _parts(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.hostname and parts.port != 0:
            return parts
    except ValueError:
        pass
    raise ModelError(f"a drawn image is said to lie at {quote(url)}, which is not a URL", "request")


def _authority(parts: SplitResult) -> str:
    return f"{parts.hostname}:{parts.port or _PORTS.get(parts.scheme, 0)}"


def _literal_address(host: str) -> str | None:
    """The host if it is an IP address or localhost; other names are checked when resolved."""
    if host == "localhost" or host.endswith(".localhost"):
        return "127.0.0.1"
    try:
        return str(ipaddress.ip_address(host.partition("%")[0]))
    except ValueError:
        pass
    try:
        # Short and numeric forms, such as 127.1 and 2130706433: some versions of aiohttp connect to
        # them without asking the resolver.
        return socket.inet_ntoa(socket.inet_aton(host))
    except (OSError, UnicodeError):
        return None


def _refusal(url: str, why: str) -> ModelError:
    host = urlsplit(url).netloc
    return ModelError(
        f"the server says that a drawn image lies at {quote(url)}, and {why}, so it is not "
        f"fetched; if you trust that host, allow it with the option picture_host={quote(host)}",
        "request",
    )


def private_address_error(url: str) -> ModelError:
    """Error for a name that resolved to no public address."""
    return _refusal(url, "its name leads to no public address")
