"""Who makes a request, by its token, and what it may do."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from ipaddress import ip_address
from typing import Annotated, Any

from fastapi import Depends, HTTPException, Request
from sqlalchemy.orm import Session

from snellen_hub.accounts.access import is_use_outdated, network_of, note_token_use, token_caller
from snellen_hub.accounts.attempts import AttemptLimit, count_attempt, is_reached
from snellen_hub.accounts.audit import note_action
from snellen_hub.accounts.roles import Caller, Scope
from snellen_hub.hub import Hub

_MAX_BAD_TOKENS = 30
_BEARER = "bearer "


def hub_of(request: Request) -> Hub:
    """The hub that serves a request."""
    hub: Hub = request.app.state.hub
    return hub


def client_address(request: Request) -> str:
    """The address of the client; behind a proxy that the configuration trusts, the one that the
    proxy names."""
    direct = request.client.host if request.client is not None else ""
    trusted = hub_of(request).config.trusted_proxies
    if direct in trusted:
        # The last address was added by the proxy; those before it may be made up.
        named = request.headers.get("x-forwarded-for", "").rpartition(",")[2].strip()
        with suppress(ValueError):
            ip_address(named)
            return named
    return direct


def note_request(
    session: Session, request: Request, action: str, account_id: int | None, subject: str = "", **detail: Any
) -> None:
    """Add what a request did to the audit log, as `note_action`."""
    note_action(session, action, account_id=account_id, address=client_address(request), subject=subject, **detail)


def token_of(request: Request) -> str:
    """The token that a request carries; empty without one."""
    header = request.headers.get("authorization", "")
    return header[len(_BEARER) :].strip() if header.lower().startswith(_BEARER) else ""


def identify(request: Request) -> Caller | None:
    """The owner of the token that a request carries; None without one.

    Raises 401 for a token that is unknown, expired or revoked, and 429 for an address that tried
    too many of these.
    """
    if not request.headers.get("authorization", ""):
        return None
    hub, address = hub_of(request), client_address(request)
    secret = token_of(request)
    limit = AttemptLimit(f"token from {network_of(address)}", _MAX_BAD_TOKENS)
    with hub.database.reading() as session:
        identity = token_caller(session, secret) if secret else None
        is_refused = identity is None and is_reached(session, limit)
        must_note = identity is not None and is_use_outdated(session, secret)
    if identity is None:
        if not is_refused:
            with hub.database.writing() as session:
                is_refused = count_attempt(session, limit) is None
        if is_refused:
            raise HTTPException(429, "too many unknown tokens from this address; try again later")
        raise HTTPException(
            401,
            "this token is unknown, expired or revoked; make one on the page /account/tokens",
            {"WWW-Authenticate": "Bearer"},
        )
    if must_note:
        with hub.database.writing() as session:
            note_token_use(session, secret)
    return identity


def check_token(found: Caller | None) -> Caller:
    """Raises 401 without a caller."""
    if found is None:
        raise HTTPException(
            401, "this needs a token in the header Authorization: Bearer ...", {"WWW-Authenticate": "Bearer"}
        )
    return found


def require(scope: Scope) -> Callable[..., Any]:
    """A dependency that gives the identity of a request with this scope; raises 401 and 403."""

    def identity(found: Annotated[Caller | None, Depends(identify)]) -> Caller:
        found = check_token(found)
        if not found.may(scope):
            raise HTTPException(
                403, f"this token may not {scope}; its scopes are {', '.join(sorted(found.scopes)) or 'none'}"
            )
        return found

    return identity
