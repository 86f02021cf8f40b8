"""Metadata files: JSON Lines with an optional header line, read as a stream, and single records by
their offset. Several are read as one: those of the data sets that a benchmark is made of."""

from __future__ import annotations

import hashlib
import os
from bisect import bisect_right
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from snellen.core.atomic_write import save_json_lines
from snellen.core.errors import DataError, refuse_pipe
from snellen.core.limits import DEFAULT_LIMITS, MB, Limits
from snellen.data.documents import read_lines
from snellen.data_sets.decisions import Exclusion
from snellen.data_sets.step import SourceInfo
from snellen_curate.metadata.records import (
    VERSION,
    CategorySpace,
    MetadataHeader,
    MetadataRecord,
    SourceFacts,
    record_problem,
)

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


class RecordLine(NamedTuple):
    name: str
    """The record's id, or `line N` if it cannot be read."""
    offset: int
    record: MetadataRecord | None
    problem: Exclusion | None = None


class _Named(msgspec.Struct):
    """A record of which only the id is read."""

    id: str = ""


class RecordFiles:
    """Records of files in order, under one header. Offsets go on from file to file."""

    def __init__(self, *paths: Path, limits: Limits = DEFAULT_LIMITS) -> None:
        """Raises DataError for a file that is absent, or whose header is of another version, and
        for headers that say different things of the same source or category space."""
        if not paths:
            raise DataError("no metadata file is named")
        self._paths, self._limits = paths, limits
        self.header = _merge_headers({path: _read_header(path, limits) for path in paths})
        self._starts = [0]
        for path in paths:
            self._starts.append(self._starts[-1] + path.stat().st_size)

    def __str__(self) -> str:
        return ", ".join(map(str, self._paths))

    @property
    def folders(self) -> tuple[str, ...]:
        """The folders of the files, in which the media that they name are searched."""
        return tuple(dict.fromkeys(str(path.absolute().parent) for path in self._paths))

    def __iter__(self) -> Iterator[RecordLine]:
        """All lines with a record or a problem. Raises DataError for a file without any."""
        for start, path in zip(self._starts, self._paths, strict=False):
            # A line that cannot be read is named by its file as well, if there are several.
            place = f"{path.name} line" if len(self._paths) > 1 else "line"
            offset, is_empty = start, True
            with path.open("rb") as file:
                for number, data in enumerate(read_lines(file, self._limits, str(path)), 1):
                    if data.strip() and not (number == 1 and _is_header(data)):
                        is_empty = False
                        line = data.removeprefix(_BOM)
                        yield _read_line(f"{place} {number}", offset, line, self.header)
                    offset += len(data)
            if is_empty:
                raise DataError(f"{path} holds no records")

    def read(self, offset: int) -> MetadataRecord:
        """The record at an offset that `__iter__` gave, with absolute paths of its media."""
        index = bisect_right(self._starts, offset) - 1
        path = self._paths[index]
        with path.open("rb") as file:
            file.seek(offset - self._starts[index])
            record = _decode(file.readline().removeprefix(_BOM))
        folder = path.absolute().parent
        return replace(
            record,
            images=tuple(os.path.join(folder, name) for name in record.images),  # noqa: PTH118
            video=str(folder / record.video) if record.video else "",
        )

    def describe(self) -> list[SourceInfo]:
        """The files with their digests and numbers of lines."""
        return [_describe(path) for path in self._paths]


_decode = msgspec.json.Decoder(MetadataRecord).decode
_decode_name = msgspec.json.Decoder(_Named).decode


def _describe(path: Path) -> SourceInfo:
    content, lines = hashlib.sha256(), 0
    with path.open("rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            content.update(block)
            lines += block.count(b"\n")
    return SourceInfo(path.stem, str(path), content.hexdigest(), lines)


def _read_line(place: str, offset: int, data: bytes, header: MetadataHeader) -> RecordLine:
    """A line of a file; `place` names it if it has no id."""
    try:
        record = _decode(data)
    except msgspec.ValidationError as error:
        with suppress(msgspec.ValidationError):
            place = _decode_name(data).id or place
        problem = Exclusion("field", f"{error}; expected the fields of a metadata record")
        return RecordLine(place, offset, None, problem)
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        return RecordLine(place, offset, None, Exclusion("json", f"no JSON: {error}"))
    return RecordLine(record.id or place, offset, record, record_problem(record, header))


def _is_header(line: bytes) -> bool:
    return line.removeprefix(_BOM).lstrip().startswith(b'{"metadata"')


def _read_header(path: Path, limits: Limits) -> MetadataHeader:
    """Read the first line if it is a header; without one, the header is empty. Raises DataError."""
    refuse_pipe(path)
    try:
        with path.open("rb") as file:
            first = file.readline(limits.row_mb * MB)
    except FileNotFoundError:
        raise DataError(f"{path}: there is no such file") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}") from error
    if not _is_header(first):
        return MetadataHeader()
    try:
        header = msgspec.json.decode(first.removeprefix(_BOM), type=MetadataHeader)
    except msgspec.DecodeError as error:
        raise DataError(f"{path}, line 1: the header cannot be used: {error}") from error
    if not 1 <= header.metadata <= VERSION:
        raise DataError(f"{path}: metadata of version {header.metadata}; this Snellen reads version {VERSION}")
    return header


def _merge_headers(headers: dict[Path, MetadataHeader]) -> MetadataHeader:
    sources: dict[str, SourceFacts] = {}
    spaces: dict[str, CategorySpace] = {}
    for path, header in headers.items():
        again = [
            f"the source {name!r}" for name, facts in header.sources.items() if sources.setdefault(name, facts) != facts
        ] + [
            f"the category space {name!r}"
            for name, space in header.spaces.items()
            if spaces.setdefault(name, space) != space
        ]
        if again:
            raise DataError(
                f"{path} describes {again[0]} in another way than the files before it; give one of them another name"
            )
    return MetadataHeader(sources=sources, spaces=spaces)


def write_records(path: Path, header: MetadataHeader, records: Iterable[MetadataRecord]) -> int:
    """Write a metadata file; it appears when it is complete. Returns the number of records.

    Raises StorageError, and whatever `records` raise.
    """
    head = {"metadata": VERSION, **msgspec.to_builtins(header)}
    return save_json_lines(path, chain([head], records)) - 1
