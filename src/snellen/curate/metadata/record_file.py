"""Metadata files: JSON Lines with an optional header line, read as a stream, and single records by
their offset."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import TracebackType
from typing import BinaryIO, NamedTuple

import msgspec

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import DataError, StorageError
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits
from snellen.core.missing_file import refuse_pipe
from snellen.curate.metadata.records import (
    VERSION,
    MetadataHeader,
    MetadataRecord,
    record_problem,
)
from snellen.data.documents import read_lines

METADATA_FILE = "metadata.jsonl"
"""The file in a folder that `snellen curate metadata` wrote."""
_BOM = b"\xef\xbb\xbf"


def find_metadata(data: Path) -> Path | None:
    """The metadata file that `data` is, or that lies in this folder; None if there is no file with
    a header."""
    file = data / METADATA_FILE if data.is_dir() else data
    if not file.is_file():
        return None
    with file.open("rb") as opened:
        return file if opened.read(12) == b'{"metadata":' else None


class RecordProblem(NamedTuple):
    """A line that is no usable record."""

    rule: str
    """What it breaks: `json`, `field`, `picture`, `box`, ..."""
    reason: str


class RecordLine(NamedTuple):
    name: str
    """The record's id, or `line N` if it cannot be read."""
    offset: int
    record: MetadataRecord | None
    problem: RecordProblem | None = None


class _Named(msgspec.Struct):
    """A record of which only the id is read."""

    id: str = ""


class RecordFile:
    """A metadata file. `header` is read when it is opened, records when they are iterated over."""

    def __init__(self, path: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        """Raises DataError for a file that is absent, or whose header is of another version."""
        refuse_pipe(path)
        self.path = path
        self.folder = path.absolute().parent
        self._limits = limits
        self._decoder = msgspec.json.Decoder(MetadataRecord)
        self.header = self._read_header()
        self._file: BinaryIO = path.open("rb")

    def __enter__(self) -> RecordFile:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[RecordLine]:
        return self.lines(self.header)

    def lines(self, header: MetadataHeader) -> Iterator[RecordLine]:
        """All lines with a record or a problem, under this header. Raises DataError if there are
        none."""
        offset, records = 0, 0
        with self.path.open("rb") as file:
            for number, data in enumerate(read_lines(file, self._limits, str(self.path)), 1):
                if data.strip() and not (number == 1 and _is_header(data)):
                    records += 1
                    yield self._line(number, offset, data, header)
                offset += len(data)
        if not records:
            raise DataError(f"{self.path} holds no records")

    def names(self) -> Iterator[str]:
        """The names of all lines that `__iter__` yields, in order."""
        with self.path.open("rb") as file:
            for number, data in enumerate(read_lines(file, self._limits, str(self.path)), 1):
                if data.strip() and not (number == 1 and _is_header(data)):
                    yield _line_name(data.removeprefix(_BOM), number)

    def digest(self) -> str:
        """SHA-256 of the file, in hex."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def count_lines(self) -> int:
        with self.path.open("rb") as file:
            return sum(block.count(b"\n") for block in iter(lambda: file.read(1 << 20), b""))

    def read(self, offset: int) -> MetadataRecord:
        """The record at an offset that `__iter__` gave."""
        self._file.seek(offset)
        return self._decoder.decode(self._file.readline().removeprefix(_BOM))

    def _line(self, number: int, offset: int, data: bytes, header: MetadataHeader) -> RecordLine:
        data = data.removeprefix(_BOM)
        try:
            record = self._decoder.decode(data)
        except msgspec.ValidationError as error:
            problem = RecordProblem("field", f"{error}; expected the fields of a metadata record")
            return RecordLine(_line_name(data, number), offset, None, problem)
        except (msgspec.DecodeError, UnicodeDecodeError) as error:
            problem = RecordProblem("json", f"no JSON: {error}")
            return RecordLine(_line_name(data, number), offset, None, problem)
        broken = record_problem(record, header)
        name = record.id or f"line {number}"
        return RecordLine(name, offset, record, RecordProblem(*broken) if broken else None)

    def _read_header(self) -> MetadataHeader:
        """Read the first line if it is a header; without one, the header is empty. Raises
        DataError."""
        try:
            with self.path.open("rb") as file:
                first = file.readline(self._limits.row_mb * MB)
        except FileNotFoundError:
            raise DataError(f"{self.path}: there is no such file") from None
        except OSError as error:
            raise DataError(f"{self.path} cannot be read: {error.strerror or error}") from error
        if not _is_header(first):
            return MetadataHeader()
        try:
            header = msgspec.json.decode(first.removeprefix(_BOM), type=MetadataHeader)
        except msgspec.DecodeError as error:
            raise DataError(f"{self.path}, line 1: the header cannot be used: {error}") from error
        if not 1 <= header.metadata <= VERSION:
            raise DataError(
                f"{self.path}: metadata of version {header.metadata}; this Snellen reads version "
                f"{VERSION}"
            )
        return header


_decode_name = msgspec.json.Decoder(_Named).decode


def _line_name(data: bytes, number: int) -> str:
    try:
        return _decode_name(data).id or f"line {number}"
    except (msgspec.DecodeError, UnicodeDecodeError):
        return f"line {number}"


def _is_header(line: bytes) -> bool:
    return line.removeprefix(_BOM).lstrip().startswith(b'{"metadata"')


def write_records(path: Path, header: MetadataHeader, records: Iterable[MetadataRecord]) -> int:
    """Write a metadata file; it appears when it is complete. Returns the number of records.

    Raises StorageError, and whatever `records` raise.
    """
    count = 0
    encoder = msgspec.json.Encoder()
    head = {"metadata": VERSION, **msgspec.to_builtins(header)}
    try:
        path.absolute().parent.mkdir(parents=True, exist_ok=True)
        with atomic_file(path) as part, part.open("wb") as file:
            file.write(encoder.encode(head) + b"\n")
            for record in records:
                file.write(encoder.encode(record) + b"\n")
                count += 1
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return count
