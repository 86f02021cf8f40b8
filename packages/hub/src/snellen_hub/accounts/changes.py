"""Changes of accounts: role, password and links for a new one, disabling, deletion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from snellen.core.errors import UsageError
from snellen_hub.accounts.access import AccessDenied, deletion_mark, forget_failures, sign_out_everywhere
from snellen_hub.accounts.passwords import hash_password
from snellen_hub.accounts.random_secrets import add_link, find_link
from snellen_hub.accounts.roles import check_role
from snellen_hub.database.tables import (
    AccessToken,
    Account,
    BoardHost,
    EmailLink,
    PasswordReset,
    Submission,
    SubmissionScore,
)
from snellen_hub.moment_text import now

RESET_LIFETIME = timedelta(hours=24)


def set_role(session: Session, account: Account, role: str) -> None:
    """Change the role of an account and end its sign-ins; its tokens keep the scopes that the new
    role has. Raises UsageError for an unknown role, and for the last owner."""
    if account.role == "owner" and check_role(role) != "owner":
        _check_other_owner(session, account)
    account.role = check_role(role)
    sign_out_everywhere(session, account.id)


def set_password(session: Session, account: Account, password: str) -> None:
    """Give an account a password; its sign-ins and links for a new password end, and failures with
    the earlier password count no more, but for those of an address.

    Raises UsageError for a password that is too short or too long.
    """
    account.password_hash = hash_password(password)
    sign_out_everywhere(session, account.id)
    forget_failures(session, account)
    _end_resets(session, account)


def create_reset(session: Session, account: Account, made_by: int) -> str:
    """Add a link by which a person who forgot the password chooses another, and end earlier ones;
    returns its secret, once. Raises UsageError for an account that cannot sign in."""
    if account.disabled is not None:
        raise UsageError(f"{account.name} is disabled; enable the account first")
    _end_resets(session, account)
    return add_link(session, PasswordReset, RESET_LIFETIME, account_id=account.id, made_by=made_by)


def open_reset(session: Session, secret: str) -> PasswordReset:
    """The link, locked until the transaction ends. Raises AccessDenied if it is used, expired or
    unknown."""
    row = find_link(session, PasswordReset, secret)
    if row is None or row.used is not None or row.account.disabled is not None:
        raise AccessDenied("this link is unknown, used or expired; ask an owner for a new one")
    return row


def _end_resets(session: Session, account: Account) -> None:
    open_links = PasswordReset.account_id == account.id, PasswordReset.used.is_(None)
    session.execute(update(PasswordReset).where(*open_links).values(used=now()))


def disable_account(session: Session, account: Account) -> None:
    """End the sign-ins and tokens of an account and let it start no other ones. Raises UsageError
    for the last owner."""
    if account.role == "owner":
        _check_other_owner(session, account)
    account.disabled = account.disabled or now()
    sign_out_everywhere(session, account.id)
    session.execute(
        update(AccessToken)
        .where(AccessToken.account_id == account.id, AccessToken.revoked.is_(None))
        .values(revoked=now())
    )


def enable_account(account: Account) -> None:
    """Let a disabled account sign in again; it makes new tokens. Raises UsageError if it was
    deleted."""
    if account.deleted is not None:
        raise UsageError("this account was deleted, and nobody can sign in to it any more")
    account.disabled = None


def confirm_account(account: Account) -> None:
    """Let an account that signed up submit where answers are hidden."""
    account.confirmed = account.confirmed or now()


CHANGES: Mapping[str, Callable[[Session, Account], None]] = {
    "disabled": disable_account,
    "enabled": lambda _, account: enable_account(account),
    "confirmed": lambda _, account: confirm_account(account),
}
"""By what the account is afterwards."""


def delete_account(session: Session, account: Account) -> list[str]:
    """Delete an account for good: its name, password, address, sign-ins, tokens and whatever of its
    submissions was not published. Published submissions and the audit log stay, under the name
    `deleted account N`, and of address and subject their `deletion_mark`.

    Returns the keys of files that nothing refers to any more; delete them after the transaction.
    Raises UsageError for the last owner.
    """
    disable_account(session, account)
    for table in (AccessToken, PasswordReset, EmailLink, BoardHost):
        session.execute(delete(table).where(table.account_id == account.id))
    account.name = f"deleted account {account.id}"
    account.password_hash = None
    account.subject, account.email = (
        _leave_mark(session, column, identity)
        for column, identity in ((Account.subject, account.subject), (Account.email, account.email))
    )
    account.deleted = now()
    return _clear_submissions(session, account)


def _leave_mark(session: Session, column: InstrumentedAttribute[str | None], identity: str | None) -> str | None:
    """The mark of an identity, unless an account that was deleted before has it in this column."""
    mark = None if identity is None else deletion_mark(identity)
    return None if mark is None or session.scalar(select(column).where(column == mark)) else mark


def _clear_submissions(session: Session, account: Account) -> list[str]:
    """Empty the submissions that are not published. Their rows stay, because scores, jobs and
    replacements refer to them."""
    query = select(Submission).where(Submission.account_id == account.id, Submission.visibility != "published")
    keys: set[str] = set()
    for row in session.scalars(query).all():
        scores = session.scalars(select(SubmissionScore).where(SubmissionScore.submission_id == row.id)).all()
        keys.add(row.file or "")
        keys |= {key or "" for score in scores for key in (score.records, score.replies)}
        for score in scores:
            session.delete(score)
        row.visibility, row.model, row.problem = "withdrawn", "deleted", ""
        row.facts, row.run, row.file, row.file_name, row.digest = {}, {}, None, "", ""
    session.flush()
    # Equal files of open benchmarks are stored once.
    for column in (Submission.file, SubmissionScore.records, SubmissionScore.replies):
        keys -= {key or "" for key in session.scalars(select(column).where(column.in_(keys)))}
    return sorted(keys - {""})


def _check_other_owner(session: Session, account: Account) -> None:
    """Raises UsageError if this is the last owner who can sign in."""
    query = select(func.count()).where(Account.role == "owner", Account.disabled.is_(None), Account.id != account.id)
    if account.disabled is None and not session.scalar(query):
        raise UsageError(f"{account.name} is the only owner of this hub; make another account an owner first")
