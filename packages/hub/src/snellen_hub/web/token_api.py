"""The endpoints of an account's tokens, under /api/v1."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, HTTPException, Request
from fastapi import Path as PathParameter
from sqlalchemy import select
from sqlalchemy.orm import Session

from snellen_hub.accounts.random_secrets import secret_digest
from snellen_hub.database.tables import AccessToken
from snellen_hub.moment_text import iso_time, now
from snellen_hub.web.access import check_token, note_request, token_of
from snellen_hub.web.parameters import AnyToken, HubOf, ReadToken

token_router = APIRouter(prefix="/api/v1")

TokenNumber = Annotated[int, PathParameter(ge=1, lt=2**31)]


def find_token(session: Session, number: int, account_id: int) -> AccessToken:
    """A token of an account. Raises 404."""
    row = session.get(AccessToken, number)
    if row is None or row.account_id != account_id:
        raise HTTPException(404, f"there is no token {number} of yours")
    return row


@token_router.get("/tokens")
def list_tokens(request: Request, hub: HubOf, identity: ReadToken) -> list[dict[str, Any]]:
    """The tokens of the account that are not revoked, the latest first. None is shown itself."""
    own = secret_digest(token_of(request))
    with hub.database.reading() as session:
        query = (
            select(AccessToken)
            .where(AccessToken.account_id == identity.account_id, AccessToken.revoked.is_(None))
            .order_by(AccessToken.id.desc())
        )
        return [
            {
                "id": row.id,
                "label": row.label,
                "scopes": row.scopes,
                "created": iso_time(row.created),
                "expires": iso_time(row.expires),
                "used": None if row.used is None else iso_time(row.used),
                "this": row.digest == own,
            }
            for row in session.scalars(query)
        ]


@token_router.delete("/tokens/{number}", status_code=204)
def delete_token(request: Request, hub: HubOf, identity: AnyToken, number: TokenNumber) -> None:
    """Revoke a token of the account. Any token may revoke itself; others need the scope submit."""
    identity = check_token(identity)
    with hub.database.writing() as session:
        row = find_token(session, number, identity.account_id)
        is_own = row.digest == secret_digest(token_of(request))
        if not is_own and not identity.may("submit"):
            raise HTTPException(
                403,
                f"this token may revoke itself alone; its scopes are {', '.join(sorted(identity.scopes)) or 'none'}",
            )
        row.revoked = row.revoked or now()
        note_request(session, request, "token revoked", identity.account_id, row.label)
