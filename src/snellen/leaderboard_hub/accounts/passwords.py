"""Passwords: Argon2id with the parameters of RFC 9106's second recommendation."""

from __future__ import annotations

from argon2 import PasswordHasher
from argon2.exceptions import InvalidHashError, VerificationError
from argon2.profiles import RFC_9106_LOW_MEMORY

from snellen.core.errors import UsageError

SHORTEST, LONGEST = 10, 200
_hasher = PasswordHasher.from_parameters(RFC_9106_LOW_MEMORY)
_NOBODY = _hasher.hash("a password that nobody has")


def hash_password(password: str) -> str:
    """The hash to store. Raises UsageError for a password that is too short or too long."""
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(
            f"a password has {SHORTEST} to {LONGEST} characters; this one has {len(password)}"
        )
    return _hasher.hash(password)


def verify_password(stored: str | None, password: str) -> bool:
    """Whether the password is right. Takes as long where there is no account as where there is."""
    try:
        return _hasher.verify(stored or _NOBODY, password[:LONGEST]) and stored is not None
    except (VerificationError, InvalidHashError):
        return False


def needs_rehash(stored: str) -> bool:
    """Whether the parameters have changed since the hash was made."""
    return _hasher.check_needs_rehash(stored)
