"""Random secrets of tokens, sign-ins and links, stored as hashes only."""

from __future__ import annotations

import hashlib
import secrets
from datetime import timedelta
from typing import Any, TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.database.tables import EmailLink, Invitation, OpenIdRequest, PasswordReset
from snellen_hub.moment_text import now

Link = TypeVar("Link", Invitation, PasswordReset, EmailLink, OpenIdRequest)

TOKEN_PREFIX = "snl_"
"""Starts every token, so that scanners for leaked keys know one."""


def new_secret(prefix: str = "") -> str:
    """A secret of 256 bits, in URL-safe characters."""
    return prefix + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> bytes:
    """What is stored of a secret. It is random, so that a plain hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def add_link(session: Session, table: type[Link], lifetime: timedelta, **columns: Any) -> str:
    """Add a row that is found by a new secret until it expires; returns the secret, once."""
    secret = new_secret()
    session.add(table(digest=secret_digest(secret), expires=now() + lifetime, **columns))
    return secret


def find_link(session: Session, table: type[Link], secret: str) -> Link | None:
    """The row of a secret, locked until the transaction ends; None if there is none, or it has
    expired."""
    query = select(table).where(table.digest == secret_digest(secret))
    row = session.scalar(query.with_for_update())
    return None if row is None or row.expires < now() else row
