"""The archive of a backup: its members with their checksums."""

from __future__ import annotations

import hashlib
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import IO, TypeVar

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError
from snellen_hub.storage import SEALED

HEADER, CONFIG, MANIFEST = "hub.json", "hub.toml", "manifest.json"
TABLES, FILES = "tables/", "files/"
FORMAT = 1
_CHUNK = 1 << 20

T = TypeVar("T")


class BackupHeader(Struct, frozen=True):
    """What a backup is of."""

    format: int
    schema: str
    """Version of the schema that the tables are of."""
    snellen: str
    database: str
    """`sqlite` or `postgresql`."""
    created: datetime


class Member(Struct, frozen=True):
    """A part of the archive."""

    size: int
    sha256: str


class Manifest(Struct, frozen=True):
    """The end of a backup: what it holds."""

    members: dict[str, Member]
    rows: dict[str, int]
    """Rows by table."""
    missing: tuple[str, ...] = ()
    """Files that rows name and the storage did not have."""


class BackupWriter:
    """Writes the members of a backup one after the other."""

    def __init__(self, path: Path, header: BackupHeader) -> None:
        self._archive = zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=6)
        self.members: dict[str, Member] = {}
        self.write(HEADER, [msgspec.json.encode(header)])

    def write(self, name: str, chunks: Iterable[bytes]) -> Member:
        """Write a member. Encrypted files are not compressed: it would not make them smaller."""
        info = zipfile.ZipInfo(name)
        info.compress_type = zipfile.ZIP_STORED if name.endswith(SEALED) else zipfile.ZIP_DEFLATED
        info.external_attr = 0o600 << 16
        digest, size = hashlib.sha256(), 0
        with self._archive.open(info, "w", force_zip64=True) as member:
            for chunk in chunks:
                digest.update(chunk)
                size += len(chunk)
                member.write(chunk)
        self.members[name] = Member(size, digest.hexdigest())
        return self.members[name]

    def finish(self, rows: dict[str, int], missing: Iterable[str]) -> Manifest:
        """Write the manifest and close the archive."""
        manifest = Manifest(self.members, rows, tuple(missing))
        self._archive.writestr(MANIFEST, msgspec.json.encode(manifest))
        self._archive.close()
        return manifest

    def close(self) -> None:
        self._archive.close()


class BackupReader:
    """Reads a backup. Raises DataError for a file that is none, or damaged."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            self._archive = zipfile.ZipFile(path)
        except FileNotFoundError:
            raise DataError(f"{path}: there is no such file") from None
        except (OSError, zipfile.BadZipFile, ValueError) as error:
            raise self._damage_error(f"{error}") from error
        self.header = self._decode(HEADER, BackupHeader)
        if self.header.format != FORMAT:
            raise DataError(
                f"{path} is a backup of format {self.header.format}, and this version of Snellen "
                f"reads {FORMAT}; use the version that made it, {self.header.snellen}"
            )
        self.manifest = self._decode(MANIFEST, Manifest)

    def check(self) -> None:
        """Read everything and compare it with the checksums."""
        names = {*self.manifest.members, MANIFEST}
        if set(self._archive.namelist()) != names:
            raise self._damage_error("its parts are not those that it lists")
        for name in self.manifest.members:
            for _ in self.chunks(name):
                pass

    def chunks(self, name: str) -> Iterator[bytes]:
        """The content of a member; the end is reached only if its checksum is right."""
        expected = self.manifest.members[name]
        digest, size = hashlib.sha256(), 0
        with self.open_member(name) as member:
            while chunk := self._read(member, name):
                digest.update(chunk)
                size += len(chunk)
                yield chunk
        if (size, digest.hexdigest()) != (expected.size, expected.sha256):
            raise self._damage_error(f"{name} has another checksum than it was written with")

    def lines(self, name: str) -> Iterator[bytes]:
        """The lines of a member."""
        rest = b""
        for chunk in self.chunks(name):
            *complete, rest = (rest + chunk).split(b"\n")
            yield from complete
        if rest:
            raise self._damage_error(f"{name} ends within a line")

    def names(self, prefix: str) -> list[str]:
        """Members of a kind, without the prefix."""
        return [name[len(prefix) :] for name in self.manifest.members if name.startswith(prefix)]

    def open_member(self, name: str) -> IO[bytes]:
        try:
            return self._archive.open(name)
        except (KeyError, OSError, zipfile.BadZipFile, ValueError) as error:
            raise self._damage_error(f"{name}: {error}") from error

    def close(self) -> None:
        self._archive.close()

    def _read(self, member: IO[bytes], name: str) -> bytes:
        try:
            return member.read(_CHUNK)
        except (OSError, EOFError, zipfile.BadZipFile, ValueError, zlib.error) as error:
            raise self._damage_error(f"{name}: {error}") from error

    def _decode(self, name: str, kind: type[T]) -> T:
        with self.open_member(name) as member:
            content = b"".join(iter(lambda: self._read(member, name), b""))
        try:
            return msgspec.json.decode(content, type=kind)
        except msgspec.DecodeError as error:
            raise self._damage_error(f"{name}: {error}") from error

    def _damage_error(self, why: str) -> DataError:
        return DataError(f"{self._path} is no complete backup of a hub: {why}; use another copy of it")
