"""What a runner and its worker say to each other: length and MessagePack, over two pipes."""

from __future__ import annotations

import os
import select
import struct
import time
from collections.abc import Callable

import msgspec
from msgspec import Struct

from snellen.generated_code.limits import ProgramFailure, ProgramLimits
from snellen.generated_code.protection import Protection

_LENGTH = struct.Struct("=Q")
FAILED = 1 << 63
"""Added to a length: what follows is the message of an exception."""
_LOOK_SECONDS = 0.2


class LimitedCall(Struct, frozen=True):
    """A function that a worker is to call with these bytes, in a process of its own."""

    function: str
    """`package.module:name`."""
    data: bytes
    limits: ProgramLimits


class LimitedResult(Struct, frozen=True, omit_defaults=True):
    """What came of a call: bytes that nobody has looked at yet, or why there are none."""

    data: bytes = b""
    failure: ProgramFailure | None = None


class ReadyWorker(Struct, frozen=True):
    """What a worker says once its libraries are loaded."""

    protection: Protection


class MessageLost(Exception):
    """The other side is gone, took too long, sent more than it may, or reports an exception."""


def describe_exception(error: BaseException) -> str:
    """Type and message in one line that can be encoded."""
    words = f"{type(error).__name__}: {error}"[:500]
    return words.encode(errors="replace").decode()


def send(file: int, message: Struct) -> None:
    """Write a message. Raises OSError if nobody reads."""
    send_bytes(file, msgspec.msgpack.encode(message))


def send_bytes(file: int, data: bytes, flag: int = 0) -> None:
    """Write a message that is encoded. Raises OSError if nobody reads."""
    view = memoryview(_LENGTH.pack(len(data) | flag) + data)
    while view:
        view = view[os.write(file, view) :]


def receive(file: int, deadline: float | None, most: int, look: Callable[[], None] | None = None) -> bytes:
    """Read a message of at most `most` bytes until `deadline` (by the monotonic clock; None: for
    ever). `look` is called a few times a second, and may raise MessageLost.

    Raises MessageLost, whose text is `gone`, `late`, `cut` (either of them within a message),
    `long`, or `error: ` and a message."""
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size, deadline, look))
    if (length & ~FAILED) > most:
        raise MessageLost("long")
    try:
        data = _read(file, length & ~FAILED, deadline, look)
    except MessageLost as error:
        raise MessageLost("cut") if str(error) in {"gone", "late"} else error from error
    if length & FAILED:
        raise MessageLost(f"error: {data[:1000].decode(errors='replace')}")
    return data


def _read(file: int, length: int, deadline: float | None, look: Callable[[], None] | None) -> bytes:
    data = bytearray()
    next_look = time.monotonic() + _LOOK_SECONDS
    while len(data) < length:
        now = time.monotonic()
        if look is not None and now >= next_look:
            look()
            next_look = now + _LOOK_SECONDS
        ends = [end for end in (deadline, next_look if look else None) if end is not None]
        if select.select([file], [], [], max(0.0, min(ends) - now) if ends else None)[0]:
            part = os.read(file, min(length - len(data), 1 << 20))
            if not part:
                raise MessageLost("gone")
            data += part
        elif deadline is not None and time.monotonic() >= deadline:
            raise MessageLost("late")
    return bytes(data)
