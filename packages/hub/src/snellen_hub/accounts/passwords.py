"""Passwords: Argon2id with the parameters of RFC 9106's second recommendation."""

from __future__ import annotations

from threading import BoundedSemaphore

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from snellen.core.errors import UsageError

SHORTEST, LONGEST = 10, 200
PARAMETERS = RFC_9106_LOW_MEMORY
_hasher = PasswordHasher.from_parameters(PARAMETERS)
_NOBODY = _hasher.hash("a password that nobody has")
_turns = BoundedSemaphore(4)
"""Hashes at once: each takes 64 MiB, so that many sign-ins together would take all memory."""


def hash_password(password: str) -> str:
    """The hash to store. Raises UsageError for a password that is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"a password has {SHORTEST} to {LONGEST} characters; this one has {len(password)}")
    with _turns:
        return _hasher.hash(_encode(password))


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password is right. Takes as long where there is no account as where there is."""
    try:
        with _turns:
            return _hasher.verify(stored or _NOBODY, _encode(password[:LONGEST])) and bool(stored)
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether the parameters have changed since the hash was made."""
    return _hasher.check_needs_rehash(stored)


def _encode(password: str) -> bytes:
    # Half a surrogate pair, which JSON may hold, has no UTF-8.
    return password.encode("utf-8", "surrogatepass")
