"""Random secrets of tokens, sign-ins and links, stored as hashes only."""

from __future__ import annotations

import hashlib
import secrets
from datetime import UTC, datetime
from typing import TypeVar

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.database.tables import EmailLink, Invitation, OpenIdRequest, PasswordReset

Link = TypeVar("Link", Invitation, PasswordReset, EmailLink, OpenIdRequest)

TOKEN_PREFIX = "snl_"
"""Starts every token, so that scanners for leaked keys know one."""


def new_secret(prefix: str = "") -> str:
    """A secret of 256 bits, in URL-safe characters."""
    return prefix + secrets.token_urlsafe(32)


def secret_digest(secret: str) -> bytes:
    """What is stored of a secret. It is random, so that a plain hash suffices."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).digest()


def find_link(session: Session, table: type[Link], secret: str) -> Link | None:
    """The row of a secret, locked until the transaction ends; None if there is none, or it has
    expired."""
    query = select(table).where(table.digest == secret_digest(secret))
    row = session.scalar(query.with_for_update())
    return None if row is None or row.expires < datetime.now(UTC) else row
