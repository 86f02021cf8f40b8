"""Errors as pages, for browsers."""

from __future__ import annotations

from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.responses import RedirectResponse

from snellen_hub.web.browser import SignInNeeded
from snellen_hub.web.pages.frame import render

_TITLES = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Nothing here",
    413: "Too large",
    422: "This cannot be taken",
    429: "Too many requests",
    503: "Not available for the moment",
}


def error_page(request: Request, status: int, sentence: str) -> Response:
    """A page that says what went wrong."""
    title = _TITLES.get(status, "Something went wrong")
    return render(request, "error.html", status, title=title, sentence=sentence, status_code=status)


async def go_to_sign_in(_: Request, error: Exception) -> Response:
    """Answer a page that only people who are signed in may see."""
    assert isinstance(error, SignInNeeded)
    return RedirectResponse(f"/sign-in?{urlencode({'next': error.path})}", 303)
