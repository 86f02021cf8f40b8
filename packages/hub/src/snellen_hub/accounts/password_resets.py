"""Links by which a person who forgot a password chooses another; an owner makes and sends them."""

from __future__ import annotations

from datetime import timedelta

from sqlalchemy import update
from sqlalchemy.orm import Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import AccessDenied
from snellen_hub.accounts.random_secrets import add_link, find_link
from snellen_hub.database.tables import Account, PasswordReset
from snellen_hub.moment_text import now

LIFETIME = timedelta(hours=24)


def create_reset(session: Session, account: Account, made_by: int) -> str:
    """Add a link for a new password and end earlier ones; returns its secret, once. Raises
    UsageError for an account that cannot sign in."""
    if account.disabled is not None:
        raise UsageError(f"{account.name} is disabled; enable the account first")
    session.execute(
        update(PasswordReset)
        .where(PasswordReset.account_id == account.id, PasswordReset.used.is_(None))
        .values(used=now())
    )
    return add_link(session, PasswordReset, LIFETIME, account_id=account.id, made_by=made_by)


def open_reset(session: Session, secret: str) -> PasswordReset:
    """The link, locked until the transaction ends. Raises AccessDenied if it is used, expired or
    unknown."""
    row = find_link(session, PasswordReset, secret)
    if row is None or row.used is not None or row.account.disabled is not None:
        raise AccessDenied("this link is unknown, used or expired; ask an owner for a new one")
    return row
