"""Accounts of people who sign in by OpenID Connect."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import timedelta
from typing import Any

from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.accounts.access import AccessDenied, account_called, create_account, deletion_mark, is_account_name
from snellen_hub.accounts.random_secrets import add_link, find_link
from snellen_hub.config import OpenIdProvider
from snellen_hub.database.tables import Account, OpenIdRequest

LIFETIME = timedelta(minutes=10)
"""How long a person may take at the provider."""
_OTHER = re.compile(r"[^A-Za-z0-9._-]+")


def start_request(session: Session, next_path: str) -> str:
    """Note that a browser goes to the provider; returns the secret for its cookie."""
    return add_link(session, OpenIdRequest, LIFETIME, next_path=next_path[:500])


def take_request(session: Session, secret: str) -> str | None:
    """Where the browser of this secret wanted to go; None if it went to no provider, took too long,
    or has come back before."""
    row = find_link(session, OpenIdRequest, secret)
    if row is None:
        return None
    session.delete(row)
    return row.next_path


def account_of_claims(session: Session, provider: OpenIdProvider, claims: Mapping[str, Any]) -> Account:
    """The account of the person that a provider speaks of; made at the first sign-in. One that is
    made again, after it was deleted, is not confirmed: it would have limits and finals anew.

    Raises AccessDenied for a person whom the hub does not take, and a disabled account.
    """
    check_restrictions(provider, claims)
    subject = f"{provider.issuer} {claims['sub']}"
    account = session.scalar(select(Account).where(Account.subject == subject))
    if account is None:
        name = _free_name(session, claims)
        deleted = session.scalar(select(Account.id).where(Account.subject == deletion_mark(subject)))
        return create_account(session, name, provider.role, None, subject=subject, is_confirmed=deleted is None)
    if account.disabled is not None:
        raise AccessDenied("your account is disabled; ask an owner of this hub")
    return account


def check_restrictions(provider: OpenIdProvider, claims: Mapping[str, Any]) -> None:
    """Raises AccessDenied for somebody whose address or groups are not among those of hub.toml."""
    if provider.email_domains:
        email = claims.get("email")
        if not isinstance(email, str) or claims.get("email_verified") is not True:
            raise AccessDenied("this hub needs an e-mail address that your organisation verified")
        domain = email.rpartition("@")[2].lower()
        if domain not in {allowed.lower() for allowed in provider.email_domains}:
            raise AccessDenied(f"this hub takes no people with an address at {domain}")
    if provider.groups:
        groups = claims.get(provider.groups_claim)
        listed = groups if isinstance(groups, list) else [groups]
        names = {each for each in listed if isinstance(each, str)}
        if not names & set(provider.groups):
            raise AccessDenied("this hub takes people of certain groups, and you are in none")


def _free_name(session: Session, claims: Mapping[str, Any]) -> str:
    """A name that no account has, close to what the provider calls the person."""
    named = (claims.get(claim) for claim in ("preferred_username", "email", "name"))
    text = next((name for name in named if isinstance(name, str) and name.strip()), "")
    base = _OTHER.sub("-", text.partition("@")[0]).strip("._-")[:50]
    if not is_account_name(base):
        base = "member"
    name, number = base, 1
    while account_called(session, name) is not None:
        number += 1
        name = f"{base}-{number}"
    return name
