"""Browsers that are signed in: the cookie, and the check that a form was sent by our own page.

A form is taken only with the secret of its sign-in (a synchronizer token) and from our own origin,
so that no other site can send it with the reader's cookie.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from datetime import datetime
from typing import Annotated, Any, NamedTuple
from urllib.parse import quote, urlsplit

from fastapi import Depends, Form, HTTPException, Request, Response

from snellen.leaderboard_hub.accounts.access import browser_caller
from snellen.leaderboard_hub.accounts.roles import Caller, Scope
from snellen.leaderboard_hub.web.access import hub_of

_COOKIE = "snellen_hub"


class Browser(NamedTuple):
    """A browser that is signed in."""

    caller: Caller
    csrf: str
    """What every form of its pages must send back in the field `csrf`."""
    secret: str
    """Of the cookie."""


class SignInNeeded(Exception):
    """A page that only people who are signed in may see; answered by going to the sign-in page."""

    def __init__(self, path: str) -> None:
        super().__init__(path)
        self.path = path


def browser_of(request: Request) -> Browser | None:
    """The browser that sends a request; None if it is not signed in. Read once per request."""
    if not hasattr(request.state, "browser"):
        request.state.browser = _read_browser(request)
    browser: Browser | None = request.state.browser
    return browser


def require_browser(scope: Scope) -> Callable[..., Any]:
    """A dependency that gives the browser of a request with this scope.

    Raises SignInNeeded if it is not signed in, and 403 without the scope.
    """

    def browser(request: Request) -> Browser:
        found = browser_of(request)
        if found is None:
            raise SignInNeeded(local_target(request))
        if not found.caller.may(scope):
            raise HTTPException(403, f"an account with the role {found.caller.role} may not "
                                     f"{scope}")  # fmt: skip
        return found

    return browser


def require_form(scope: Scope) -> Callable[..., Any]:
    """As `require_browser`, for a form: raises 403 if another site's page sent it, or none of this
    sign-in."""

    def browser(
        request: Request,
        found: Annotated[Browser, Depends(require_browser(scope))],
        csrf: Annotated[str, Form()] = "",
    ) -> Browser:
        check_origin(request)
        if not hmac.compare_digest(csrf.encode(), found.csrf.encode()):
            raise HTTPException(403, "this form is of another sign-in; load the page again")
        return found

    return browser


def check_origin(request: Request) -> None:
    """Raises 403 if the page of another origin sent a request. Browsers name the origin of every
    form; programs that name none are not led by another site."""
    if request.headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        raise HTTPException(403, "this form was sent by a page of another site")
    origin = request.headers.get("origin", "")
    own = {hub_of(request).config.url, f"{request.url.scheme}://{request.headers.get('host', '')}"}
    if origin and origin not in own:
        raise HTTPException(403, "this form was sent by a page of another site")


def set_cookie(request: Request, response: Response, secret: str, expires: datetime) -> None:
    """Sign the browser in that gets this response."""
    is_https = _is_https(request)
    response.set_cookie(_cookie_name(request), secret, expires=expires, path="/", httponly=True,
                        samesite="lax", secure=is_https)  # fmt: skip


def delete_cookie(request: Request, response: Response) -> None:
    response.delete_cookie(_cookie_name(request), path="/", httponly=True, samesite="lax",
                           secure=_is_https(request))  # fmt: skip


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


def _read_browser(request: Request) -> Browser | None:
    secret = request.cookies.get(_cookie_name(request), "")
    if not secret:
        return None
    with hub_of(request).database.reading() as session:
        known = browser_caller(session, secret)
    return None if known is None else Browser(known[0], known[1].csrf, secret)


def _cookie_name(request: Request) -> str:
    # A browser takes the prefix only over https, from this host alone and for every path, so that
    # no neighbouring host can set the cookie.
    return f"__Host-{_COOKIE}" if _is_https(request) else _COOKIE


def _is_https(request: Request) -> bool:
    return hub_of(request).config.url.startswith("https://")
