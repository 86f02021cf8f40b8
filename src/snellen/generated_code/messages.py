"""What a runner and its worker say to each other: length and MessagePack, over two pipes."""

from __future__ import annotations

import os
import select
import struct
import time
from typing import Literal

import msgspec
from msgspec import Struct

from snellen.generated_code.charts import ChartContents
from snellen.generated_code.limits import ProgramFailure, ProgramLimits
from snellen.generated_code.protection import Protection

_LENGTH = struct.Struct("=Q")

Wanted = Literal["contents", "picture"]
"""What is asked of a program: what its chart holds, or the chart drawn as PNG."""


class ProgramJob(Struct, frozen=True):
    """A program that a worker is to run."""

    program: str
    wanted: Wanted
    limits: ProgramLimits


class ProgramReport(Struct, frozen=True, omit_defaults=True):
    """What came of a program: exactly one of the three is there."""

    failure: ProgramFailure | None = None
    contents: ChartContents | None = None
    picture: bytes = b""


class ReadyWorker(Struct, frozen=True):
    """What a worker says once its libraries are loaded."""

    protection: Protection


class MessageLost(Exception):
    """The other side is gone, took too long, or sent more than it may."""


def send(file: int, message: Struct) -> None:
    """Write a message. Raises OSError if nobody reads."""
    data = msgspec.msgpack.encode(message)
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[os.write(file, view) :]


def receive(file: int, deadline: float | None, most: int) -> bytes:
    """Read a message of at most `most` bytes until `deadline` (by the monotonic clock; None: for
    ever). Raises MessageLost, whose text is `gone`, `late` or `long`."""
    (length,) = _LENGTH.unpack(_read(file, _LENGTH.size, deadline))
    if length > most:
        raise MessageLost("long")
    return _read(file, length, deadline)


def _read(file: int, length: int, deadline: float | None) -> bytes:
    data = bytearray()
    while len(data) < length:
        left = None if deadline is None else max(0.0, deadline - time.monotonic())
        if not select.select([file], [], [], left)[0]:
            raise MessageLost("late")
        part = os.read(file, min(length - len(data), 1 << 20))
        if not part:
            raise MessageLost("gone")
        data += part
    return bytes(data)
