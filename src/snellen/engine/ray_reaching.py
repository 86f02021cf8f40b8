"""Whether a Ray cluster answers at an address: Ray itself waits minutes for one that does not."""

from __future__ import annotations

import socket

from snellen.core.errors import UsageError
from snellen.settings import first_set

_REACH = 10.0
"""Seconds in which the head of a cluster must be reached."""
_PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\0\0\0\4\0\0\0\0\0"
"""What a client of HTTP/2 says first, with empty settings (RFC 9113, Sec. 3.4). Ray speaks gRPC,
which is HTTP/2."""
_FRAME, _KIND, _SETTINGS = 9, 3, 4
"""Bytes of a frame's header, where in it the kind stands, and the kind a server begins with."""


def check_reachable(address: str | None) -> None:
    """Raises UsageError for an address where nobody, or not Ray, answers. None, `auto` and
    `local` name no address."""
    if address in (None, "auto", "local"):
        return
    host, _, port = address.removeprefix("ray://").rpartition(":")
    if not host or not port.isdecimal():
        raise UsageError(f"--address {address!r}: expected host:port, e.g. 10.0.0.5:6379, or auto")
    try:
        with socket.create_connection((host, int(port)), timeout=_REACH) as connection:
            # Behind TLS nothing is said in the open.
            answers = first_set(["RAY_USE_TLS"]) is not None or _speaks_grpc(connection)
    except (OSError, OverflowError) as error:
        said = getattr(error, "strerror", None) or error
        raise UsageError(f"no Ray cluster answers at {address}: {said}; {how_to_start()}") from None
    if not answers:
        raise UsageError(
            f"what answers at {address} is no Ray cluster; give the address that `ray start "
            "--head` printed, whose port is 6379 unless another was given"
        )


def how_to_start() -> str:
    return "start one with `ray start --head`, or leave --address out to use this machine alone"


def _speaks_grpc(connection: socket.socket) -> bool:
    connection.settimeout(_REACH)
    heard = b""
    try:
        connection.sendall(_PREFACE)
        while len(heard) < _FRAME:
            some = connection.recv(_FRAME - len(heard))
            if not some:
                return False
            heard += some
    except (TimeoutError, ConnectionError):
        return False
    return heard[_KIND] == _SETTINGS
