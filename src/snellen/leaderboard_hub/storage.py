"""Files of a hub: predictions, data and records, in a folder or in any storage that fsspec knows.

Files are named by the SHA-256 of their content and never changed. What belongs to a hidden split is
encrypted before it is stored, with the key that the environment holds.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import Any

from snellen.core.errors import MissingExtra, StorageError, UsageError
from snellen.core.secret import Secret

KEY_VARIABLE = "SNELLEN_HUB_KEY"
_SEALED = ".sealed"
_NONCE_BYTES = 12


class Storage:
    """Content by key. Raises StorageError if it cannot be read or written."""

    def __init__(self, url: str, key: Secret | None = None) -> None:
        """`key` is for sealed content. Raises UsageError and MissingExtra."""
        import fsspec

        try:
            self._files, root = fsspec.core.url_to_fs(url)
        except ImportError as error:
            raise MissingExtra(f"the storage {_scheme(url)}://", "hub", str(error)) from error
        except ValueError as error:
            raise UsageError(f"the URL of the storage cannot be read: {error}") from error
        self._root = str(root).rstrip("/")
        self._key = key

    def put(self, content: bytes, *, seal: bool = False) -> str:
        """Store content; returns its key. With `seal` it is encrypted: raises UsageError if the
        environment holds no key."""
        digest = hashlib.sha256(content).hexdigest()
        if seal:
            # The name must not tell what is in it: answers are few enough to be guessed.
            key = f"{token_hex(32)}{_SEALED}"
            return self._write(key, self._encrypt(content, key))
        return self._write(digest, content)

    def get(self, key: str) -> bytes:
        """The content of a key, decrypted. Raises StorageError if it is missing or damaged."""
        content = self._read(key)
        if key.endswith(_SEALED):
            return self._decrypt(content, key)
        if hashlib.sha256(content).hexdigest() != key:
            raise StorageError(f"the file {key} in the storage is damaged")
        return content

    def get_range(self, key: str, start: int, length: int) -> bytes:
        """Bytes of content that is not sealed, from an offset on; fewer at its end. They are not
        checked against the key. Raises StorageError."""
        if key.endswith(_SEALED):
            raise StorageError(f"the file {key} is sealed, and can only be read as a whole")
        return self._read(key, start, length) if length > 0 else b""

    def delete(self, key: str) -> None:
        """Delete content, if it is there."""
        with suppress(FileNotFoundError):
            self._files.rm_file(self._path(key))

    def list_keys(self) -> Iterator[str]:
        """Every key."""
        try:
            for path in self._files.find(self._root):
                yield str(path).rsplit("/", 1)[-1]
        except FileNotFoundError:
            return

    def check(self) -> None:
        """Write, read and delete a file. Raises StorageError and UsageError."""
        key = self.put(b"snellen")
        if self.get(key) != b"snellen":
            raise StorageError("the storage gives back other bytes than were written")

    def _path(self, key: str) -> str:
        if not key or not key.replace(".", "").isalnum() or ".." in key:
            raise StorageError(f"{key!r} is no key of the storage")
        return f"{self._root}/{key[:2]}/{key}"

    def _write(self, key: str, content: bytes) -> str:
        path = self._path(key)
        try:
            if self._files.exists(path):
                return key
            self._files.makedirs(path.rsplit("/", 1)[0], exist_ok=True)
            if isinstance(self._files, _local_type()):
                # Under its name once it is complete.
                part = f"{path}.{token_hex(4)}.part"
                Path(part).write_bytes(content)
                Path(part).replace(path)
            else:
                self._files.pipe_file(path, content)
        except OSError as error:
            raise StorageError(f"the storage cannot be written: {error}") from error
        return key

    def _read(self, key: str, start: int = 0, length: int | None = None) -> bytes:
        span = {} if length is None else {"start": start, "end": start + length}
        try:
            content: bytes = self._files.cat_file(self._path(key), **span)
        except FileNotFoundError as error:
            raise StorageError(f"the storage has no file {key}") from error
        except OSError as error:
            raise StorageError(f"the storage cannot be read: {error}") from error
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
                f"the file {key} in the storage is damaged, or was sealed with another "
                f"{KEY_VARIABLE}"
            ) from None

    def _cipher(self) -> Any:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        if self._key is None:
            raise UsageError(
                f"hidden answers are stored encrypted, and {KEY_VARIABLE} is not set; make a key "
                "with: snellen hub key"
            )
        return AESGCM(hashlib.sha256(self._key.reveal().encode()).digest())


def _scheme(url: str) -> str:
    return url.partition("://")[0] if "://" in url else "file"


def _local_type() -> type:
    from fsspec.implementations.local import LocalFileSystem

    kind: type = LocalFileSystem
    return kind
