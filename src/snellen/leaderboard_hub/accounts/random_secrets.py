"""Random secrets of tokens, sign-ins and invitations, stored as hashes only."""

from __future__ import annotations

import hashlib
import secrets

TOKEN_PREFIX = "snl_"
"""Starts every token, so that scanners for leaked keys know one."""


def new_secret(prefix: str = "") -> str:
    """A secret of 256 bits, in URL-safe characters."""
    return prefix + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> bytes:
    """What is stored of a secret. It is random, so that a plain hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()
