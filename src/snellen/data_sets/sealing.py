"""Answers kept back, in a file of their own that only holders of a key can read.

Plain form, JSON Lines: the first line is a `SealedHeader`, each further line a `SealedAnswer`.
Encrypted form: one line of JSON (`_Envelope`), then the plain form encrypted with AES-SIV
(RFC 5297), a deterministic authenticated cipher: the same answers and key give the same bytes, and
a changed byte, also of the first line, is noticed. A key is 64 bytes in URL-safe base64.
"""

from __future__ import annotations

import base64
import hashlib
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec
from msgspec import Struct

from snellen.core.errors import DataError, StorageError, UsageError, storage_errors
from snellen.core.secret import Secret
from snellen.settings import read_secret

if TYPE_CHECKING:
    from cryptography.hazmat.primitives.ciphers.aead import AESSIV

PUBLICATION_FILE = "publication.json"
"""In the folder of a published data set: what was published."""
DATA_FOLDER, HELD_OUT = "data", "test"
"""Its folder of tables, and the split whose answers are kept back."""
KEY_VARIABLE = "SNELLEN_SEAL_KEY"
_KEY_BYTES = 64


class SealedHeader(Struct, frozen=True):
    """The first line: which questions the answers belong to."""

    benchmark: str
    release: str
    split: str
    questions: str
    """SHA-256 of the public Parquet file of the split, in hex."""
    items: int
    format: Literal["snellen-answers"] = "snellen-answers"
    version: int = 1


class SealedAnswer(Struct, frozen=True):
    """The accepted answers of one question; of a multiple-choice question, the label."""

    index: str
    answers: tuple[str, ...]


class SealedAnswers(Struct, frozen=True):
    """A file of answers that was read."""

    header: SealedHeader
    answers: Mapping[str, tuple[str, ...]]


class _Envelope(Struct, frozen=True):
    format: Literal["snellen-sealed"]
    version: Literal[1]
    cipher: Literal["AES-256-SIV"]
    key: str
    """The first 16 hex digits of the SHA-256 of the key."""


def read_key(path: Path | None, *, create: bool = False) -> Secret | None:
    """The key in a file, else that of `SNELLEN_SEAL_KEY`; None if there is neither.

    With `create`, a file that does not exist is made with a new key, readable by its owner alone.
    Raises UsageError for a key of another form, StorageError.
    """
    if path is None:
        secret = read_secret([KEY_VARIABLE])
        if secret is not None:
            _key_bytes(secret, KEY_VARIABLE)
        return secret
    try:
        if create and not path.exists():
            _write_key(path)
        secret = Secret(path.read_text(encoding="ascii").strip())
    except UnicodeDecodeError:
        raise UsageError(f"{path} holds no key: expected one line of base64") from None
    except OSError as error:
        raise StorageError(f"cannot read the key {path}: {error.strerror or error}") from error
    _key_bytes(secret, str(path))
    return secret


def _write_key(path: Path) -> None:
    key = base64.urlsafe_b64encode(secrets.token_bytes(_KEY_BYTES))
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(key + b"\n")
        file.flush()
        os.fsync(file.fileno())


def _key_bytes(key: Secret, where: str) -> bytes:
    try:
        data = base64.b64decode(key.reveal(), altchars=b"-_", validate=True)
    except ValueError:
        data = b""
    if len(data) != _KEY_BYTES:
        raise UsageError(
            f"{where} holds no key: expected {_KEY_BYTES} bytes in URL-safe base64 "
            f"({len(base64.b64encode(bytes(_KEY_BYTES)))} characters); --seal-key FILE makes one "
            "if FILE does not exist"
        )
    return data


def encode_answers(header: SealedHeader, answers: Mapping[str, tuple[str, ...]]) -> bytes:
    """The plain form, answers in the order of their ids."""
    lines: list[Struct] = [header]
    lines += [SealedAnswer(index, answers[index]) for index in sorted(answers)]
    return b"".join(msgspec.json.encode(line) + b"\n" for line in lines)


def seal(plain: bytes, key: Secret) -> bytes:
    """Encrypt the plain form. Raises UsageError for a key of another form."""
    data = _key_bytes(key, "the key")
    envelope = _Envelope("snellen-sealed", 1, "AES-256-SIV", _fingerprint(data))
    first = msgspec.json.encode(envelope) + b"\n"
    return first + bytes(_cipher(data).encrypt(plain, [first]))


def open_sealed(path: Path | str, key: Secret | None = None) -> SealedAnswers:
    """Read a file of answers, encrypted or not. Raises UsageError, DataError, StorageError."""
    with storage_errors("read", path):
        content = Path(path).read_bytes()
    first, _, rest = content.partition(b"\n")
    try:
        envelope = msgspec.json.decode(first, type=_Envelope)
    except msgspec.DecodeError:
        return _decode_answers(content, path)
    if key is None:
        raise UsageError(f"{path} is encrypted: name its key file with --seal-key, or set {KEY_VARIABLE}")
    return _decode_answers(_decrypt(first + b"\n", rest, envelope, key, path), path)


def _decrypt(first: bytes, rest: bytes, envelope: _Envelope, key: Secret, path: Path | str) -> bytes:
    from cryptography.exceptions import InvalidTag

    data = _key_bytes(key, "the key")
    if _fingerprint(data) != envelope.key:
        raise UsageError(f"{path} was encrypted with another key ({envelope.key}); got {_fingerprint(data)}")
    try:
        return bytes(_cipher(data).decrypt(rest, [first]))
    except InvalidTag:
        raise DataError(f"{path} was damaged or changed after it was encrypted") from None


def _decode_answers(content: bytes, path: Path | str) -> SealedAnswers:
    try:
        first, *lines = content.splitlines()
        header = msgspec.json.decode(first, type=SealedHeader)
        rows = [msgspec.json.decode(line, type=SealedAnswer) for line in lines]
    except (ValueError, msgspec.DecodeError) as error:
        raise DataError(f"{path} is no file of answers: {error}") from error
    if len(rows) != header.items:
        raise DataError(f"{path} is cut short: {header.items} answers expected, got {len(rows)}")
    return SealedAnswers(header, {row.index: row.answers for row in rows})


def _cipher(key: bytes) -> AESSIV:
    try:
        from cryptography.hazmat.primitives.ciphers.aead import AESSIV
    except ImportError:
        raise UsageError(
            "encrypting answers needs cryptography, which is not installed; install it with: pip install cryptography"
        ) from None
    return AESSIV(key)


def _fingerprint(key: bytes) -> str:
    return hashlib.sha256(key).hexdigest()[:16]
