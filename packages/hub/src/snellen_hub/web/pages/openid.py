"""Sign-in by OpenID Connect: going to the provider, and coming back."""

from __future__ import annotations

from typing import Annotated

from fastapi import APIRouter, HTTPException, Query, Request, Response
from fastapi.responses import RedirectResponse

from snellen.core.errors import UsageError
from snellen.settings import read_secret
from snellen_hub.accounts.access import AccessDenied, network_of
from snellen_hub.accounts.attempts import AttemptLimit, count_attempt
from snellen_hub.accounts.audit import note_action
from snellen_hub.accounts.openid_accounts import LIFETIME, account_of_claims, start_request, take_request
from snellen_hub.accounts.openid_client import (
    SECRET_VARIABLE,
    OpenIdClient,
    OpenIdRefused,
    OpenIdUnavailable,
    derive_secrets,
    is_same_state,
)
from snellen_hub.config import OpenIdProvider
from snellen_hub.hub import Hub
from snellen_hub.moment_text import now
from snellen_hub.web.access import client_address, note_request
from snellen_hub.web.browser import (
    checked_target,
    delete_hub_cookie,
    read_hub_cookie,
    set_hub_cookie,
    sign_in_browser,
    start_browser,
)
from snellen_hub.web.pages.frame import redirect
from snellen_hub.web.pages.sign_in import end_replaced_sign_in
from snellen_hub.web.parameters import HubOf

router = APIRouter(include_in_schema=False)

_COOKIE = "snellen_openid"
_STATUS = {OpenIdUnavailable: 503, AccessDenied: 403}
_STARTS = 60
"""Sign-ins that one address starts in 15 minutes."""


@router.get("/oidc/start")
def start(request: Request, hub: HubOf, to: Annotated[str, Query(max_length=2_000, alias="next")] = "") -> Response:
    """Send the browser to the provider."""
    client = _client(request, hub)
    address = client_address(request)
    limit = AttemptLimit(f"openid from {network_of(address)}", _STARTS)
    with hub.database.writing() as session:
        if count_attempt(session, limit) is None:
            raise HTTPException(429, "too many sign-ins were started; try again in 15 minutes")
        secret = start_request(session, checked_target(to or "/account"))
    try:
        url = client.authorization_url(derive_secrets(secret))
    except OpenIdUnavailable as error:
        raise HTTPException(503, str(error)) from error
    response = RedirectResponse(url, 303, {"Cache-Control": "no-store"})
    set_hub_cookie(request, response, _COOKIE, secret, now() + LIFETIME)
    return response


@router.get("/oidc/callback")
def come_back(
    request: Request,
    hub: HubOf,
    state: Annotated[str, Query(max_length=200)] = "",
    code: Annotated[str, Query(max_length=4_000)] = "",
    error: Annotated[str, Query(max_length=200)] = "",
    iss: Annotated[str | None, Query(max_length=500)] = None,
) -> Response:
    """Sign in whoever comes back from the provider. Each sign-in that was started ends here once,
    however it ends."""
    client, provider = _client(request, hub), _provider(hub)
    secret, address = read_hub_cookie(request, _COOKIE), client_address(request)
    try:
        with hub.database.writing() as session:
            target = take_request(session, secret) if secret else None
        if target is None or not is_same_state(secret, state):
            raise OpenIdRefused("this sign-in was not started in this browser, took too long, or is over; start again")
        client.check_issuer(iss)
        if error or not code:
            raise OpenIdRefused("the provider ended the sign-in without signing you in")
        claims = client.read_claims(code, derive_secrets(secret))
        with hub.database.writing() as session:
            account = account_of_claims(session, provider, claims)
            end_replaced_sign_in(session, request)
            created = start_browser(session, request, account)
            note_request(session, request, "sign-in", account.id, by="openid")
    except UsageError as problem:
        with hub.database.writing() as session:
            note_action(session, "sign-in failed", address=address, by="openid", problem=str(problem)[:300])
        status = next((code for kind, code in _STATUS.items() if isinstance(problem, kind)), 400)
        raise HTTPException(status, str(problem)) from problem
    response = redirect(target)
    sign_in_browser(request, response, created)
    delete_hub_cookie(request, response, _COOKIE)
    return response


def _provider(hub: Hub) -> OpenIdProvider:
    if hub.config.openid is None:
        raise HTTPException(404, "this hub has no sign-in by OpenID Connect")
    return hub.config.openid


def _client(request: Request, hub: Hub) -> OpenIdClient:
    """The client of the hub, which keeps the provider's description and keys. Raises 404 where the
    hub has no provider."""
    provider = _provider(hub)
    if not hasattr(request.app.state, "openid"):
        request.app.state.openid = OpenIdClient(
            provider, f"{hub.config.url}/oidc/callback", read_secret([SECRET_VARIABLE])
        )
    client: OpenIdClient = request.app.state.openid
    return client
