"""Browsers that are signed in: the cookie, and the check that a form was sent by our own page.

A form is taken only with the secret of its sign-in (a synchronizer token) and from our own origin,
so that no other site can send it with the reader's cookie. Forms of people who are not signed in,
such as the sign-in itself, carry a secret of a cookie of their own: another site could otherwise
sign a reader in to an account of its choice.
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlsplit

from fastapi import Form, HTTPException, Request, Response
from sqlalchemy.orm import Session

from snellen_hub.accounts.access import NewSignIn, browser_caller, start_sign_in
from snellen_hub.accounts.random_secrets import new_secret
from snellen_hub.accounts.roles import Caller, Scope
from snellen_hub.database.tables import Account
from snellen_hub.web.access import client_address, hub_of

SIGN_IN_COOKIE = "snellen_hub"
_VISITOR_COOKIE = "snellen_visitor"
_VISITOR_LIFETIME = timedelta(hours=12)


class Browser(NamedTuple):
    """A browser that is signed in."""

    caller: Caller
    csrf: str
    """What every form of its pages must send back in the field `csrf`."""
    secret: str
    """Of the cookie."""

    @property
    def account_id(self) -> int:
        return self.caller.account_id


class SignInNeeded(Exception):
    """A page that only people who are signed in may see; answered by going to the sign-in page."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def browser_of(request: Request) -> Browser | None:
    """The browser that sends a request; None if it is not signed in. Read once per request."""
    if not hasattr(request.state, "browser"):
        secret, known = read_hub_cookie(request, SIGN_IN_COOKIE), None
        if secret:
            with hub_of(request).database.reading() as session:
                known = browser_caller(session, secret)
        request.state.browser = None if known is None else Browser(known[0], known[1].csrf, secret)
    browser: Browser | None = request.state.browser
    return browser


def require_browser(scope: Scope) -> Callable[..., Any]:
    """A dependency that gives the browser of a request with this scope.

    Raises SignInNeeded if it is not signed in, and 403 without the scope.
    """

    def browser(request: Request) -> Browser:
        found = browser_of(request)
        if found is None:
            # What a form held is lost, and its address may not be a page.
            raise SignInNeeded(local_target(request) if request.method == "GET" else "/account")
        if not found.caller.may(scope):
            raise HTTPException(403, f"an account with the role {found.caller.role} may not {scope}")
        return found

    return browser


def require_form(scope: Scope) -> Callable[..., Any]:
    """As `require_browser`, for a form: raises 403 if another site's page sent it, or none of this
    sign-in."""

    find: Callable[[Request], Browser] = require_browser(scope)

    def browser(request: Request, csrf: Annotated[str, Form()] = "") -> Browser:
        found = find(request)
        check_origin(request)
        if not _are_equal(csrf, found.csrf):
            raise HTTPException(403, "this form is of another sign-in; load the page again")
        return found

    return browser


def require_visitor_form(request: Request, csrf: Annotated[str, Form()] = "") -> None:
    """A dependency for forms that need no sign-in. Raises 403 if another site's page sent it, or
    none of this browser."""
    check_origin(request)
    found, secret = browser_of(request), read_hub_cookie(request, _VISITOR_COOKIE)
    expected = _visitor_csrf(secret) if found is None else found.csrf
    if (found is None and not secret) or not _are_equal(csrf, expected):
        raise HTTPException(403, "this form is out of date, or your browser takes no cookies; load the page again")


def visitor_csrf(request: Request) -> str:
    """What forms of people who are not signed in must send back; call `keep_visitor` on the
    response."""
    if not hasattr(request.state, "visitor"):
        request.state.visitor = read_hub_cookie(request, _VISITOR_COOKIE) or new_secret()
    return _visitor_csrf(request.state.visitor)


def keep_visitor(request: Request, response: Response) -> None:
    """Give the browser the cookie that belongs to `visitor_csrf`."""
    expires = datetime.now(UTC) + _VISITOR_LIFETIME
    set_hub_cookie(request, response, _VISITOR_COOKIE, request.state.visitor, expires)


def check_origin(request: Request) -> None:
    """Raises 403 if the page of another origin sent a request. Browsers name the origin of every
    form; programs that name none are not led by another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "this form was sent by a page of another site")
    origin = request.headers.get("origin", "")
    own = {hub_of(request).config.url, f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if origin and origin not in own:
        raise HTTPException(403, "this form was sent by a page of another site")


def sign_in_browser(request: Request, response: Response, created: NewSignIn) -> None:
    """Sign the browser in that gets this response, under a secret that nobody had before."""
    set_hub_cookie(request, response, SIGN_IN_COOKIE, created.secret, created.expires)
    delete_hub_cookie(request, response, _VISITOR_COOKIE)


def start_browser(session: Session, request: Request, account: Account) -> NewSignIn:
    """Sign an account in at the browser of a request, after it has shown who it is; call
    `sign_in_browser` on the response."""
    agent = request.headers.get("user-agent", "")
    limits = hub_of(request).config.sessions
    return start_sign_in(session, account, limits, client_address(request), agent)


def sign_out_browser(request: Request, response: Response) -> None:
    delete_hub_cookie(request, response, SIGN_IN_COOKIE)


def set_hub_cookie(request: Request, response: Response, name: str, secret: str, expires: datetime) -> None:
    """A cookie that scripts cannot read and other sites' forms do not carry."""
    response.set_cookie(
        _cookie_name(request, name),
        secret,
        expires=expires,
        path="/",
        httponly=True,
        samesite="lax",
        secure=is_https(request),
    )


def read_hub_cookie(request: Request, name: str) -> str:
    return request.cookies.get(_cookie_name(request, name), "")


def delete_hub_cookie(request: Request, response: Response, name: str) -> None:
    response.delete_cookie(
        _cookie_name(request, name), path="/", httponly=True, samesite="lax", secure=is_https(request)
    )


def local_target(request: Request) -> str:
    """Path and query of a request, to come back to."""
    query = request.url.query
    return request.url.path + (f"?{query}" if query else "")


def checked_target(target: str) -> str:
    """A path of this hub to go to; `/` for whatever could lead elsewhere."""
    parts = urlsplit(target)
    is_local = target.startswith("/") and not target.startswith(("//", "/\\"))
    if parts.scheme or parts.netloc or not is_local or not target.isprintable():
        return "/"
    return quote(target, safe="/?&=%+,:;@!$*()~.-_#[]")


def is_https(request: Request) -> bool:
    """Whether people reach this hub over https."""
    return hub_of(request).config.url.startswith("https://")


def _visitor_csrf(secret: str) -> str:
    return hashlib.sha256(f"form {secret}".encode("utf-8", "surrogatepass")).hexdigest()


def _are_equal(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _cookie_name(request: Request, name: str) -> str:
    # A browser takes the prefix only over https, from this host alone and for every path, so that
    # no neighbouring host can set the cookie.
    return f"__Host-{name}" if is_https(request) else name
