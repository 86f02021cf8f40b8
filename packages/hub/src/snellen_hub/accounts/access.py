"""Making accounts, and finding out who makes a request."""

from __future__ import annotations

import re
from datetime import datetime, timedelta
from ipaddress import ip_address, ip_network
from typing import NamedTuple

from sqlalchemy import delete, func, select, update
from sqlalchemy.orm import Session, joinedload

from snellen.core.errors import UsageError
from snellen_hub.accounts.attempts import (
    MAX_FAILURES,
    MAX_FAILURES_OF_ACCOUNT,
    MAX_FAILURES_OF_ADDRESS,
    AttemptLimit,
    count_attempt,
    is_reached,
)
from snellen_hub.accounts.passwords import hash_password, needs_rehash, verify_password
from snellen_hub.accounts.random_secrets import TOKEN_PREFIX, add_link, find_link, new_secret, secret_digest
from snellen_hub.accounts.roles import SCOPES, Caller, check_role, scopes_of
from snellen_hub.config import SessionLimits
from snellen_hub.database.connection import Database
from snellen_hub.database.tables import AccessToken, Account, Attempt, EmailLink, Invitation, OpenIdRequest, SignIn
from snellen_hub.errors import NotThere
from snellen_hub.moment_text import now

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{1,62}")
_USED_EVERY = timedelta(minutes=5)
"""How exact the time of a token's last use is: a write for every request would cost too much."""


class AccessDenied(NotThere):
    """A password, token or invitation that is wrong, expired or used up."""


class NewSignIn(NamedTuple):
    secret: str
    """Goes into the cookie, once."""
    csrf: str
    expires: datetime


def create_account(
    session: Session,
    name: str,
    role: str,
    password: str | None,
    *,
    subject: str | None = None,
    is_confirmed: bool = True,
) -> Account:
    """Add an account. Raises UsageError for a name that is taken or malformed, a password that is
    too short, an unknown role."""
    if not is_account_name(name):
        raise UsageError(f"an account cannot be called {name!r}; expected 2 to 63 letters, digits and . _ -")
    if session.scalar(select(Account.id).where(func.lower(Account.name) == name.lower())):
        raise UsageError(f"there is an account called {name} already; choose another name")
    hashed = hash_password(password) if password is not None else None
    account = Account(
        name=name,
        role=check_role(role),
        password_hash=hashed,
        subject=subject,
        confirmed=now() if is_confirmed else None,
    )
    session.add(account)
    session.flush()
    return account


def sign_in(
    database: Database, name: str, password: str, address: str, limits: SessionLimits, agent: str = ""
) -> tuple[Account, NewSignIn] | None:
    """Sign in with a password; None if it is wrong, which is counted. An unknown name, an account
    that is disabled and one without a password take the same steps and as long.

    Raises AccessDenied after too many failures, whether the password is right or not.
    """
    of_account, of_pair, of_address = _failure_limits(name, address)
    with database.writing() as session:
        limits_of_failures = [of_address]
        if is_account_name(name):
            limits_of_failures.append(of_pair)
            # Whoever fails elsewhere locks nobody out of an address where the account is signed in.
            if not _is_signed_in_at(session, name, network_of(address)):
                limits_of_failures.append(of_account)
        # Counted before the password is checked, so that many guesses at once are many guesses.
        noted = count_attempt(session, *limits_of_failures)
        if noted is None:
            if of_account in limits_of_failures and is_reached(session, of_account):
                raise AccessDenied(
                    "too many failed sign-ins to this account; try again tomorrow, sign in where "
                    "you are signed in already, or ask an owner of this hub for a new password"
                )
            raise AccessDenied("too many failed sign-ins; try again in 15 minutes")
        account = account_called(session, name)
    right = verify_password(account.password_hash if account else None, password)
    if account is None or not right or account.disabled is not None:
        return None
    with database.writing() as session:
        account = session.get_one(Account, account.id, with_for_update=True)
        if account.disabled is not None or account.password_hash is None:
            return None
        if needs_rehash(account.password_hash):
            account.password_hash = hash_password(password)
        # Those from elsewhere stay: a guesser who waits for a sign-in gains no further guesses.
        session.execute(delete(Attempt).where(Attempt.id.in_(noted) | (Attempt.key == of_pair.key)))
        return account, start_sign_in(session, account, limits, address, agent)


def is_account_name(name: str) -> bool:
    """Whether an account can be called so."""
    return _NAME.fullmatch(name) is not None


def account_called(session: Session, name: str) -> Account | None:
    """The account of a name in any case; None if there is none."""
    if not is_account_name(name):
        return None
    return session.scalar(select(Account).where(func.lower(Account.name) == name.lower()))


def deletion_mark(identity: str) -> str:
    """What stays of an e-mail address or an OpenID Connect subject whose account was deleted: a
    digest, so that a person who comes again is no new one where accounts are counted."""
    return f"deleted {secret_digest(identity).hex()}"


def find_account(session: Session, name: str) -> Account:
    """As `account_called`. Raises UsageError."""
    account = account_called(session, name)
    if account is None:
        raise UsageError(f"there is no account called {name}")
    return account


def find_owner(session: Session, name: str | None = None) -> Account:
    """The first owner who can sign in, or the one of a name. Raises UsageError."""
    query = select(Account).where(Account.role == "owner", Account.disabled.is_(None)).order_by(Account.id)
    owner = session.scalars(query if name is None else query.where(Account.name == name)).first()
    if owner is None:
        who = f"no owner called {name}" if name else "no owner"
        raise UsageError(f"this hub has {who}; add one with: snellen hub account HUB NAME --role owner")
    return owner


def _failure_limits(name: str, address: str) -> tuple[AttemptLimit, AttemptLimit, AttemptLimit]:
    """What failed sign-ins are counted by: an account, an account at an address, an address."""
    network = network_of(address)
    return (
        AttemptLimit(f"sign-in {name.lower()}", MAX_FAILURES_OF_ACCOUNT, timedelta(days=1)),
        AttemptLimit(f"sign-in {name.lower()} from {network}", MAX_FAILURES),
        AttemptLimit(f"sign-in from {network}", MAX_FAILURES_OF_ADDRESS),
    )


def _is_signed_in_at(session: Session, name: str, network: str) -> bool:
    """Whether a browser of this network is signed in to the account of a name."""
    addresses = session.scalars(
        select(SignIn.address)
        .join(SignIn.account)
        .where(func.lower(Account.name) == name.lower(), SignIn.expires > now())
    )
    return network in map(network_of, addresses)


def forget_failures(session: Session, account: Account) -> None:
    """Let an account be signed in to again after failures from many addresses."""
    (of_account, *_) = _failure_limits(account.name, "")
    session.execute(delete(Attempt).where(Attempt.key == of_account.key))


def network_of(address: str) -> str:
    """The network of a client whose attempts are counted: an IPv6 client owns a whole /64."""
    try:
        if ip_address(address).version == 6:
            return str(ip_network(f"{address.partition('%')[0]}/64", strict=False))
    except ValueError:
        return address
    return address


def start_sign_in(
    session: Session, account: Account, limits: SessionLimits, address: str = "", agent: str = ""
) -> NewSignIn:
    """Sign an account in, after it has shown who it is."""
    created = NewSignIn(new_secret(), new_secret()[:43], now() + timedelta(days=limits.session_days))
    session.add(
        SignIn(
            digest=secret_digest(created.secret),
            account_id=account.id,
            csrf=created.csrf,
            expires=created.expires,
            address=address[:64],
            agent=one_line(agent, 200),
        )
    )
    return created


def one_line(text: str, length: int) -> str:
    """The text on one line, of printable characters, cut to a length."""
    line = " ".join(text.split())
    return "".join(character for character in line if character.isprintable())[:length]


def browser_caller(session: Session, secret: str) -> tuple[Caller, SignIn] | None:
    """Whose browser sends this cookie; None if it is unknown, expired, or the account disabled."""
    row = session.scalar(
        select(SignIn).where(SignIn.digest == secret_digest(secret)).options(joinedload(SignIn.account))
    )
    if row is None or row.expires < now() or row.account.disabled is not None:
        return None
    account = row.account
    return Caller(account.id, account.name, account.role, scopes_of(account.role)), row


def sign_out(session: Session, secret: str) -> None:
    session.execute(delete(SignIn).where(SignIn.digest == secret_digest(secret)))


def sign_out_everywhere(session: Session, account_id: int, but: str = "") -> None:
    """End every sign-in of an account: after a change of its password or role. `but` is the secret
    of one that goes on."""
    session.execute(delete(SignIn).where(SignIn.account_id == account_id, SignIn.digest != secret_digest(but)))


def create_token(
    session: Session,
    account: Account,
    label: str,
    scopes: frozenset[str],
    limits: SessionLimits,
    days: float | None = None,
) -> str:
    """Add a token and return it, once. It expires after so many days, at most those of the limits,
    which are also the default. Raises UsageError for scopes that are unknown or beyond the
    account's role, and for other days."""
    days = limits.token_days if days is None else days
    if not 0 < days <= limits.token_days:
        raise UsageError(f"a token lives for {days:g} days; expected more than 0 and at most {limits.token_days:g}")
    unknown = scopes - frozenset(SCOPES)
    if unknown or not scopes:
        raise UsageError(
            f"a token has the scopes {', '.join(sorted(unknown)) or 'none'}; expected some of {', '.join(SCOPES)}"
        )
    beyond = scopes - scopes_of(account.role)
    if beyond:
        raise UsageError(f"a {account.role} may not have the scope {', '.join(sorted(beyond))}")
    secret = new_secret(TOKEN_PREFIX)
    session.add(
        AccessToken(
            account_id=account.id,
            label=one_line(label, 128),
            digest=secret_digest(secret),
            scopes=sorted(scopes),
            expires=now() + timedelta(days=days),
        )
    )
    return secret


def token_caller(session: Session, secret: str) -> Caller | None:
    """Whose token this is; None if it is unknown, expired, revoked, or the account disabled."""
    row = session.scalar(
        select(AccessToken).where(AccessToken.digest == secret_digest(secret)).options(joinedload(AccessToken.account))
    )
    if row is None or row.revoked is not None or row.expires < now():
        return None
    account = row.account
    if account.disabled is not None:
        return None
    scopes = scopes_of(account.role, frozenset(row.scopes))
    return Caller(account.id, account.name, account.role, scopes)


def is_use_outdated(session: Session, secret: str) -> bool:
    """Whether a token was used although its last noted use is older than five minutes."""
    used = session.scalar(select(AccessToken.used).where(AccessToken.digest == secret_digest(secret)))
    return used is None or now() - used > _USED_EVERY


def note_token_use(session: Session, secret: str) -> None:
    """Note that a token is used now."""
    session.execute(update(AccessToken).where(AccessToken.digest == secret_digest(secret)).values(used=now()))


def invite(session: Session, role: str, invited_by: int, limits: SessionLimits, note: str = "") -> str:
    """Add an invitation; returns its secret, once. `note` says whom it is for."""
    lifetime, note = timedelta(days=limits.invitation_days), one_line(note, 200)
    return add_link(session, Invitation, lifetime, role=check_role(role), invited_by=invited_by, note=note)


def accept_invitation(session: Session, secret: str, name: str, password: str) -> Account:
    """Make the account of an invitation. Raises AccessDenied if it is used up or expired, and as
    `create_account`."""
    row = open_invitation(session, secret)
    account = create_account(session, name, row.role, password)
    row.used_by = account.id
    return account


def open_invitation(session: Session, secret: str) -> Invitation:
    """The invitation, locked until the transaction ends. Raises AccessDenied if it is used up,
    expired or unknown."""
    row = find_link(session, Invitation, secret)
    if row is None or row.used_by is not None:
        raise AccessDenied("this invitation is unknown, used or expired; ask for a new one")
    return row


def delete_expired(session: Session) -> None:
    """Delete what has expired: sign-ins at a browser or half done, and attempts that no limit looks
    at any more."""
    for table in (SignIn, OpenIdRequest, EmailLink):
        session.execute(delete(table).where(table.expires < now()))
    session.execute(delete(Attempt).where(Attempt.at < now() - timedelta(days=2)))
