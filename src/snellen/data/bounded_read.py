"""Files that are held in memory whole, up to a limit, and lines up to a limit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from snellen.core.errors import DataError
from snellen.core.limits import MB, Limits, check_size, raising_advice


def read_bounded(path: Path, limits: Limits, name: str) -> bytes:
    """The content of a file. Raises DataError for one that is too long, OSError."""
    check_size(path.stat().st_size, limits.document_mb * MB, "document_mb", name)
    return path.read_bytes()


def read_lines(stream: BinaryIO, limits: Limits, name: str) -> Iterator[bytes]:
    """The lines of a stream with their ends. Raises DataError for one that is too long."""
    max_bytes = limits.row_mb * MB
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes:
            raise DataError(
                f"{name}, line {number}: longer than {limits.row_mb} MB; {raising_advice('row_mb')}"
            )
        yield line
