"""Lists of images: a folder, webdataset tars, or the manifest of a training set.

A manifest is a Parquet, JSON Lines or CSV file with a row for each image: a path to hash, or the
hashes themselves, and a caption if there is one. Lists are read in batches, so that ten million
rows fit through; images are read when they are hashed.
"""

from __future__ import annotations

import csv
import io
import json
import os
import tarfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path
from typing import Any, NamedTuple

from msgspec import Struct

from snellen.core.errors import DataError, MediaError, StorageError, UsageError
from snellen.core.media import FileSource, Source
from snellen.data.media.sources import BrokenSource, DataFile
from snellen_curate.duplicates.image_hashes import hash_from_cell
from snellen_curate.image_files import IMAGE_SUFFIXES, find_files

MANIFEST_SUFFIXES = (".parquet", ".jsonl", ".ndjson", ".csv", ".tsv")
_CAPTION_SUFFIXES = (".txt", ".caption")
_READ_ROWS = 1024
"""Rows of a Parquet file that are read at once, with the images in their cells."""

COLUMNS = {
    "name": ("key", "id", "uid", "name", "image_id", "index", "sample_id"),
    "path": ("path", "image_path", "file_name", "filename", "file", "image", "img_path", "filepath"),
    "url": ("url", "image_url", "img_url"),
    "sha256": ("sha256", "sha_256", "image_sha256"),
    "phash": ("phash", "p_hash", "perceptual_hash", "image_phash"),
    "dhash": ("dhash", "d_hash", "image_dhash"),
    "caption": ("caption", "text", "top_caption", "alt", "alt_text", "txt"),
}
"""What a manifest's columns are called, in lower case, in the order of preference."""
_MATCHED = ("path", "url", "sha256", "phash", "caption")
"""A manifest must have one of these."""


class ListEntry(NamedTuple):
    """An entry of a list."""

    name: str
    source: Source | None = None
    """Where an image that is to be hashed lies; None where nothing is to be read."""
    caption: str = ""
    sha256: bytes | None = None
    phash: int | None = None
    dhash: int | None = None
    problem: str = ""
    """What is wrong with the entry."""


@dataclass(frozen=True, slots=True)
class Listing:
    """A list of images, read anew by each iteration, always in the same order."""

    spec: str
    kind: str
    """`folder`, `tars` or `manifest`."""
    entries: Callable[[], Iterator[ListEntry]]

    def batches(self, size: int) -> Iterator[list[ListEntry]]:
        """Batches of so many entries; the last may be shorter."""
        entries = self.entries()
        while batch := list(islice(entries, size)):
            yield batch


class TarSample(NamedTuple):
    """An image of a webdataset, and what lies beside it."""

    name: str
    source: Source
    caption: str
    cells: Mapping[str, str]
    """Texts of its JSON, by name."""


class TarMember(Struct, frozen=True, gc=False):
    """An image in a tar file that is not compressed."""

    file: DataFile
    offset: int
    length: int
    name: str

    def read(self) -> bytes:
        data = self.file.excerpt(self.offset, self.length).data
        if len(data) < self.length:
            raise MediaError(f"{self.file.path}: {self.name} is cut short")
        return data


def open_listing(spec: str | Path) -> Listing:
    """Open a folder of images or of tars, a tar file, or a manifest, by what it is.

    Raises DataError for a file or folder without images, and UsageError.
    """
    path = Path(spec).expanduser()
    if path.is_dir():
        tars = list(find_files(path, (".tar",)))
        if tars:
            return Listing(str(spec), "tars", lambda: _tar_entries(tars))
        if not any(find_files(path, IMAGE_SUFFIXES)):
            raise DataError(
                f"{spec} holds no picture; expected files such as .jpg and .png, or .tar files of a webdataset"
            )
        return Listing(
            str(spec),
            "folder",
            lambda: (
                ListEntry(file.relative_to(path).as_posix(), FileSource(str(file)))
                for file in find_files(path, IMAGE_SUFFIXES)
            ),
        )
    if not path.is_file():
        raise UsageError(f"there is no file or folder {spec}")
    if path.suffix == ".tar":
        return Listing(str(spec), "tars", lambda: _tar_entries([path]))
    if path.suffix not in MANIFEST_SUFFIXES:
        raise UsageError(
            f"{spec} is no list of pictures; expected a folder, a .tar file, or a manifest "
            f"({', '.join(MANIFEST_SUFFIXES)})"
        )
    columns = manifest_columns(path)
    found = find_columns(columns)
    if not any(name in found for name in _MATCHED):
        raise DataError(
            f"{spec} has no column by which pictures or captions can be compared; it has "
            f"{', '.join(columns) or 'none'}; expected one of path, url, sha256, phash, caption"
        )
    return Listing(str(spec), "manifest", lambda: _manifest_entries(path, found))


def manifest_columns(path: Path) -> list[str]:
    """Names of the columns of a Parquet, JSON Lines or CSV file. Raises DataError, StorageError."""
    if path.suffix == ".parquet":
        from pyarrow import ArrowException
        from pyarrow.parquet import read_schema

        try:
            return list(read_schema(path).names)
        except (ArrowException, OSError) as error:
            raise DataError(f"{path} cannot be read as Parquet: {error}") from error
    rows = list(islice(_text_rows(path), 100))
    if not rows:
        raise DataError(f"{path} is empty; expected a row for each picture")
    return list(dict.fromkeys(name for _, row, _ in rows for name in row))


def find_columns(columns: Sequence[str]) -> dict[str, str]:
    """What each of `COLUMNS` is called in the file, for those that it has."""
    lower = {name.lower(): name for name in reversed(columns)}
    found = {}
    for role, names in COLUMNS.items():
        match = next((lower[name] for name in names if name in lower), None)
        if match is not None:
            found[role] = match
    return found


def _tar_entries(tars: Sequence[Path]) -> Iterator[ListEntry]:
    """Members of the same stem are one sample (webdataset): an image, and a caption beside it."""
    for path in tars:
        for sample in tar_samples(path):
            yield ListEntry(sample.name, sample.source, sample.caption)


def tar_samples(path: Path) -> Iterator[TarSample]:
    """The images of a tar, each with its caption and JSON. Raises DataError."""
    file = DataFile.from_path(str(path))
    key, images, caption = "", list[tuple[str, Source]](), ""
    cells: dict[str, str] = {}
    try:
        with tarfile.open(path, "r:") as archive:
            for member in archive:
                if not member.isfile():
                    continue
                stem = _stem(member.name)
                if stem != key:
                    yield from (TarSample(*each, caption, cells) for each in images)
                    key, images, caption, cells = stem, [], "", {}
                suffix = member.name[len(stem) :].lower()
                if suffix.endswith(IMAGE_SUFFIXES):
                    source = TarMember(file, member.offset_data, member.size, member.name)
                    images.append((f"{path.name}/{member.name}", source))
                elif suffix.endswith((*_CAPTION_SUFFIXES, ".json")):
                    stream = archive.extractfile(member)
                    text = (stream.read() if stream else b"").decode("utf-8", "replace")
                    if suffix == ".json":
                        cells = _json_cells(text)
                        caption = caption or cells.get(find_columns(list(cells)).get("caption", ""), "")
                    else:
                        caption = text.strip() or caption
    except tarfile.TarError as error:
        raise DataError(f"{path} cannot be read as a tar file: {error}; compressed ones must be unpacked") from error
    yield from (TarSample(*each, caption, cells) for each in images)


def _stem(name: str) -> str:
    """The part of a member's name before the first dot of its file name, as webdataset has it."""
    folder, slash, file = name.rpartition("/")
    return f"{folder}{slash}{file.partition('.')[0]}"


def _json_cells(text: str) -> dict[str, str]:
    """The texts and numbers of a JSON object; none of anything else."""
    try:
        record = json.loads(text)
    except ValueError:
        return {}
    pairs = record.items() if isinstance(record, dict) else ()
    return {name: str(value) for name, value in pairs if isinstance(value, str | int | float)}


def _manifest_entries(path: Path, columns: Mapping[str, str]) -> Iterator[ListEntry]:
    """Raises DataError for a row that cannot be read as one."""
    rows = _parquet_rows(path, columns) if path.suffix == ".parquet" else _text_rows(path)
    for number, row, problem in rows:
        yield _row_entry(path, number, row, columns, problem)


def _row_entry(path: Path, number: int, row: Mapping[str, Any], columns: Mapping[str, str], problem: str) -> ListEntry:
    """A row of a manifest. What is wrong with it is recorded with it."""
    cells = {role: row.get(name) for role, name in columns.items()}
    sha256 = phash = dhash = source = None
    try:
        if cells.get("sha256"):
            sha256 = _sha256(cells["sha256"])
        if cells.get("phash") not in (None, ""):
            phash = hash_from_cell(cells["phash"])
        if cells.get("dhash") not in (None, ""):
            dhash = hash_from_cell(cells["dhash"])
    except UsageError as error:
        problem = str(error)
    place = cells.get("path")
    embedded = place.get("bytes") if isinstance(place, dict) else None
    if isinstance(place, dict):
        # An image cell of the Hugging Face libraries: bytes, or a path, or both.
        place = place.get("path")
    if phash is None and not problem and (place or embedded):
        source = _row_source(path, str(place or ""), embedded)
    name = cells.get("name") or place or cells.get("url")
    where = f"row {number}" if name in (None, "") else str(name)
    if not problem and source is None and phash is None and sha256 is None:
        reason = "only an address: it is not downloaded" if cells.get("url") else "no picture"
        problem = "" if cells.get("caption") else f"it has {reason}"
    return ListEntry(
        where,
        source,
        str(cells.get("caption") or ""),
        sha256,
        phash,
        dhash,
        f"{path.name}, row {number}: {problem}" if problem else "",
    )


def _row_source(path: Path, place: str, embedded: bytes | None) -> Source:
    from snellen.core.media import InlineSource

    if embedded:
        return InlineSource(embedded)
    file = Path(place) if os.path.isabs(place) else path.parent / place  # noqa: PTH117
    if not os.path.isfile(file):  # noqa: PTH113
        return BrokenSource(f"there is no file {file}")
    return FileSource(str(file))


def _sha256(value: object) -> bytes:
    if isinstance(value, bytes) and len(value) == 32:
        return value
    if isinstance(value, str) and len(value.strip()) == 64:
        try:
            return bytes.fromhex(value.strip())
        except ValueError:
            pass
    raise UsageError(f"{value!r} is no SHA-256; expected 64 hex digits")


_Row = tuple[int, Mapping[str, Any], str]
"""Number from 1, cells, and what is wrong with the row."""


def _parquet_rows(path: Path, columns: Mapping[str, str]) -> Iterator[_Row]:
    from pyarrow import ArrowException
    from pyarrow.parquet import ParquetFile

    try:
        with ParquetFile(path) as file:
            batches = file.iter_batches(_READ_ROWS, columns=list(columns.values()))
            for number, row in enumerate(chain.from_iterable(batch.to_pylist() for batch in batches), 1):
                yield number, row, ""
    except (ArrowException, OSError) as error:
        raise DataError(f"{path} cannot be read as Parquet: {error}") from error


def _text_rows(path: Path) -> Iterator[_Row]:
    """Rows of a JSON Lines or CSV file. A line that is no JSON object is a row with a problem."""
    try:
        with path.open("rb") as data:
            text = io.TextIOWrapper(data, encoding="utf-8-sig", errors="replace", newline="")
            if path.suffix in (".csv", ".tsv"):
                dialect = "excel-tab" if path.suffix == ".tsv" else "excel"
                for number, row in enumerate(csv.DictReader(text, dialect=dialect), 1):
                    yield number, {name: cell for name, cell in row.items() if name}, ""
            else:
                yield from ((number, *_json_row(line)) for number, line in enumerate(text, 1) if line.strip())
    except csv.Error as error:
        raise DataError(f"{path} cannot be read as CSV: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot read {path}: {error.strerror or error}") from error


def _json_row(line: str) -> tuple[Mapping[str, Any], str]:
    """The cells of a line, and what is wrong with it."""
    try:
        record = json.loads(line)
    except ValueError as error:
        return {}, f"it is no JSON: {error}"
    return (record, "") if isinstance(record, dict) else ({}, "it is no JSON object")
