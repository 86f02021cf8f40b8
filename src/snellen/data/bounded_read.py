"""Read files and lines into memory, up to a limit of bytes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from snellen.core.errors import DataError
from snellen.core.limits import MB, Limits, check_size, raising_advice


def read_bounded(path: Path, limits: Limits, name: str) -> bytes:
    """The content of a file. Raises OSError, and DataError for a file over `document_mb`."""
    check_size(path.stat().st_size, limits.document_mb * MB, "document_mb", name)
    return path.read_bytes()


def read_lines(stream: BinaryIO, limits: Limits, name: str) -> Iterator[bytes]:
    """The lines of a stream with their line ends. Raises DataError for a line over `row_mb`."""
    max_bytes = limits.row_mb * MB
    number = 0
    while line := stream.readline(max_bytes + 1):
        number += 1
        if len(line) > max_bytes:
            raise DataError(
                f"{name}, line {number}: longer than {limits.row_mb} MB; {raising_advice('row_mb')}"
            )
        yield line
