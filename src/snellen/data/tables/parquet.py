"""Rows of Parquet files, one row group after the other."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import msgspec

from snellen.core.errors import DataError
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits, check_size, is_too_deep, nesting_error, raising_advice
from snellen.core.media import digest_bytes
from snellen.data.columns import check_distinct
from snellen.data.media.sources import ParquetLocation
from snellen.data.tables.index import Scan
from snellen.data.tables.typed_rows import ImageLocator, Keys, Record, typed_rows

ROWS_MARK = b"snellen.rows"
"""Key in the metadata of files of rows that were in memory: their digest is that of the rows, so
that it is the same whichever version of the library wrote the file."""
_BATCH_SIZE = 32
"""Rows decoded at once: few, because a row may hold several images."""


def scan_parquet(
    paths: Sequence[Path], column_map: Mapping[str, str], name: str, limits: Limits = DEFAULT_LIMITS
) -> Scan:
    """Read Parquet files of one schema, in order, for the first time. Raises DataError."""
    from pyarrow.parquet import ParquetFile

    rows_digest = RowsDigest()

    def records() -> Iterator[tuple[Record, ImageLocator]]:
        for path in paths:
            with _readable(path), ParquetFile(path) as file:
                if (count := file.metadata.num_rows) > limits.rows:
                    raise DataError(f"{path} has {count:,} rows; {raising_advice('rows')}")
                for record, locate in _records(file, path):
                    _check_record(record, path, limits)
                    if are_kept_rows:
                        rows_digest.add(record)
                    yield record, locate

    with _readable(paths[0]), ParquetFile(paths[0]) as file:
        columns = tuple(file.schema_arrow.names)
        are_kept_rows = ROWS_MARK in (file.schema_arrow.metadata or {})
    if not columns:
        raise DataError(f"{name} has no columns")
    check_distinct(columns, name)
    if len(columns) > limits.columns:
        raise DataError(f"{name} has {len(columns):,} columns; {raising_advice('columns')}")
    digest = rows_digest.hexdigest if are_kept_rows else partial(files_digest, paths)
    return Scan((), typed_rows(records(), column_map, name), digest)


class RowsDigest:
    """SHA-256 over records of text, numbers, bytes, lists and dicts; values that are None do not
    count."""

    def __init__(self) -> None:
        self._hash = hashlib.sha256()

    def add(self, record: Record) -> None:
        """Add the next record."""
        present = {key: value for key, value in record.items() if value is not None}
        self._hash.update(msgspec.msgpack.encode(present))

    def hexdigest(self) -> str:
        """The digest of all records so far."""
        return self._hash.hexdigest()


def _check_record(record: Record, path: Path, limits: Limits) -> None:
    """Raises DataError for a value over the limits."""
    if is_too_deep(record, limits.depth):
        raise nesting_error(str(path), limits.depth)
    longest = limits.row_mb * MB
    for value in record.values():
        if isinstance(value, str) and len(value) > longest:
            check_size(len(value), longest, "row_mb", f"{path}: a text")


@contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Turns what Arrow raises about a file into DataError."""
    from pyarrow import ArrowException

    try:
        yield
    except (ArrowException, OSError, ValueError, OverflowError) as error:
        # Arrow's messages about damaged metadata are long; the first line has the reason.
        message = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise DataError(f"{path} cannot be read as Parquet: {message[:300]}") from error
    except MemoryError:
        raise DataError(f"{path} holds more than fits into memory") from None


def files_digest(paths: Sequence[Path]) -> str:
    """SHA-256 in hex of a file, or of the digests of several."""
    digests = []
    for path in paths:
        with path.open("rb") as file:
            digests.append(hashlib.file_digest(file, "sha256").hexdigest())
    return digests[0] if len(digests) == 1 else digest_bytes("\n".join(digests).encode())


def _records(file: Any, path: Path) -> Iterator[tuple[Record, ImageLocator]]:
    for group in range(file.num_row_groups):
        number = 0
        for batch in file.iter_batches(batch_size=_BATCH_SIZE, row_groups=[group]):
            for record in batch.to_pylist():
                yield record, partial(_image_location, str(path), group, number)
                number += 1


def _image_location(path: str, group: int, number: int, keys: Keys, image: bytes) -> ParquetLocation:
    return ParquetLocation(path, group, number, keys, digest_bytes(image), len(image))
