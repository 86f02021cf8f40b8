"""Files of a hub: predictions, data and records, in a folder or in any storage that fsspec knows.

Files are named by the SHA-256 of their content and never changed. What belongs to a hidden split is
encrypted before it is stored, with the key that the environment holds.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from secrets import token_hex
from typing import Any, BinaryIO, NamedTuple

from snellen.core.errors import MissingExtra, StorageError, UsageError
from snellen.core.secret import Secret
from snellen_hub.errors import HubUnavailable

KEY_VARIABLE = "SNELLEN_HUB_KEY"
SEALED = ".sealed"
"""How the keys of encrypted files end."""
_NONCE_BYTES = 12
_PROBE = b"snellen"
PROBE_KEY = hashlib.sha256(_PROBE).hexdigest()
"""The file by which a storage is tried out."""


class StoredFile(NamedTuple):
    """A file as the storage lists it."""

    key: str
    size: int
    changed: datetime


class Storage:
    """Content by key. Raises HubUnavailable if it cannot be read or written, and StorageError for a
    file that is missing or damaged."""

    def __init__(self, url: str, key: Secret | None = None) -> None:
        """`key` is for sealed content. Raises UsageError and MissingExtra."""
        import fsspec

        try:
            self._files, root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            scheme = url.partition("://")[0]
            what = f"the storage {scheme}://"
            raise MissingExtra(what, "s3", str(error), "snellen-hub") from error
        except ValueError as error:
            raise UsageError(f"the URL of the storage cannot be read: {error}") from error
        self._root = str(root).rstrip("/")
        self._key = key

    def put(self, content: bytes, *, seal: bool = False) -> str:
        """Store content; returns its key. With `seal` it is encrypted: raises HubUnavailable if the
        environment holds no key."""
        digest = hashlib.sha256(content).hexdigest()
        if seal:
            # The name must not tell what is in it: answers are few enough to be guessed.
            key = f"{token_hex(32)}{SEALED}"
            return self._write(key, self._encrypt(content, key))
        return self._write(digest, content)

    def get(self, key: str) -> bytes:
        """The content of a key, decrypted. Raises StorageError if it is missing or damaged."""
        content = self._read(key)
        if key.endswith(SEALED):
            return self._decrypt(content, key)
        if hashlib.sha256(content).hexdigest() != key:
            raise StorageError(f"the file {key} in the storage is damaged")
        return content

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Bytes of content that is not sealed, from an offset on; fewer at its end. They are not
        checked against the key. Raises StorageError."""
        if key.endswith(SEALED):
            raise StorageError(f"the file {key} is sealed, and can only be read as a whole")
        return self._read(key, start, length) if length > 0 else b""

    def delete(self, *keys: str) -> None:
        """Delete content, if it is there."""
        for key in keys:
            with _outages_as_sentences("deleted"), suppress(FileNotFoundError):
                self._files.rm_file(self._path(key))

    def list_files(self) -> Iterator[StoredFile]:
        """Every file, unfinished ones included."""
        with _outages_as_sentences("read"), suppress(FileNotFoundError):
            self._files.invalidate_cache()
            for path, info in self._files.find(self._root, detail=True).items():
                key = str(path).rsplit("/", 1)[-1]
                yield StoredFile(key, int(info["size"]), _change_time(info))

    def describe(self, key: str) -> StoredFile | None:
        """Size and date of a file; None if it is missing."""
        with _outages_as_sentences("read"):
            try:
                self._files.invalidate_cache()
                info = self._files.info(self._path(key))
            except FileNotFoundError:
                return None
        return StoredFile(key, int(info["size"]), _change_time(info))

    def open_stored(self, key: str) -> BinaryIO:
        """A file as it is stored, sealed ones encrypted. Raises StorageError if it is missing."""
        with _outages_as_sentences("read", key):
            opened: BinaryIO = self._files.open(self._path(key), "rb")
        return opened

    def put_stored(self, key: str, source: Path) -> None:
        """Store a file as `open_stored` gave it, under its key."""
        path = self._path(key)
        with _outages_as_sentences("written"):
            self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            with self._complete(path) as part:
                self._files.put_file(str(source), part)

    @property
    def has_key(self) -> bool:
        """Whether sealed files can be opened."""
        return self._key is not None

    @property
    def key_length(self) -> int:
        """Characters of the key."""
        return 0 if self._key is None else len(self._key.reveal())

    @property
    def folder(self) -> Path | None:
        """Where the files are, if they are on a disk of this machine."""
        from fsspec.implementations.local import LocalFileSystem

        return Path(self._root) if isinstance(self._files, LocalFileSystem) else None

    def check(self) -> None:
        """Write a file and read it. Raises StorageError."""
        if self.get(self.put(_PROBE)) != _PROBE:
            raise StorageError("the storage gives back other bytes than were written")

    def _path(self, key: str) -> str:
        if not key or not key.replace(".", "").isalnum() or ".." in key:
            raise StorageError(f"{key!r} is no key of the storage")
        return f"{self._root}/{key[:2]}/{key}"

    def _write(self, key: str, content: bytes) -> str:
        path = self._path(key)
        with _outages_as_sentences("written"):
            self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            # What is there keeps its content and gets today's date: `snellen hub doctor --repair`
            # deletes old files to which no row refers, as none may do yet.
            with suppress(FileNotFoundError):
                if self.folder is not None:
                    # Another user's worker may have written it.
                    with suppress(PermissionError):
                        os.utime(path)
                    return key
            with self._complete(path) as part:
                self._files.pipe_file(part, content)
        return key

    @contextmanager
    def _complete(self, path: str) -> Iterator[str]:
        """A name to write to: a file of a disk has its own once it is complete, as objects of a
        store have anyway."""
        if self.folder is None:
            yield path
            return
        part = f"{path}.{token_hex(4)}.part"
        yield part
        Path(part).replace(path)

    def _read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        span = {} if length is None else {"start": start, "end": start + length}
        with _outages_as_sentences("read", key):
            content: bytes = self._files.cat_file(self._path(key), **span)
        return content

    def _encrypt(self, content: bytes, key: str) -> bytes:
        nonce = hashlib.sha256(key.encode()).digest()[:_NONCE_BYTES]
        # Keys are random and used once, and so is the nonce.
        return bytes(self._cipher().encrypt(nonce, content, key.encode()))

    def _decrypt(self, content: bytes, key: str) -> bytes:
        from cryptography.exceptions import InvalidTag

        nonce = hashlib.sha256(key.encode()).digest()[:_NONCE_BYTES]
        try:
            return bytes(self._cipher().decrypt(nonce, content, key.encode()))
        except InvalidTag:
            raise StorageError(
                f"the file {key} in the storage is damaged, or was sealed with another {KEY_VARIABLE}"
            ) from None

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self._key is None:
            # For this process: others may have it.
            raise HubUnavailable(
                f"hidden answers are stored encrypted, and {KEY_VARIABLE} is not set; make a key "
                "with: openssl rand -base64 32"
            )
        return AESGCM(hashlib.sha256(self._key.reveal().encode()).digest())


@contextmanager
def _outages_as_sentences(what: str, key: str = "") -> Iterator[None]:
    """Raises HubUnavailable where the storage fails, and StorageError where it has no file of a key
    that must be there."""
    kinds: tuple[type[Exception], ...] = (OSError,)
    botocore = sys.modules.get("botocore.exceptions")
    if botocore is not None:
        # A server that does not answer, and credentials that are missing, are no OSError there.
        kinds += (botocore.BotoCoreError, botocore.ClientError)
    try:
        yield
    except kinds as error:
        if key and isinstance(error, FileNotFoundError):
            raise StorageError(f"the storage has no file {key}") from error
        raise HubUnavailable(f"the storage cannot be {what}: {error}") from error


def _change_time(info: dict[str, Any]) -> datetime:
    """When a file was changed, as the file systems of fsspec say it: as seconds or as a date."""
    value = info.get("LastModified") or info.get("mtime") or info.get("created") or 0
    return value if isinstance(value, datetime) else datetime.fromtimestamp(float(value), UTC)
