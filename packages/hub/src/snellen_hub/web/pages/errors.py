"""Errors as answers: one sentence, on a page for browsers, else in the field `detail`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from fastapi import Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, RedirectResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from snellen.core.errors import StorageError, UsageError
from snellen_hub.database.connection import unreachable
from snellen_hub.errors import NotAllowed, NotThere, TooMany, WrongState
from snellen_hub.web.browser import SignInNeeded
from snellen_hub.web.logs import log_error
from snellen_hub.web.pages.frame import render, wants_page

_TITLES = {
    401: "Sign in first",
    403: "Not allowed",
    404: "Nothing here",
    413: "Too large",
    422: "This cannot be taken",
    429: "Too many requests",
    503: "Not available for the moment",
}
_STATUS = {NotThere: 404, NotAllowed: 403, WrongState: 409, TooMany: 429}


def _answer(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
    if not wants_page(request):
        return JSONResponse({"detail": sentence}, status, headers)
    title = _TITLES.get(status, "Something went wrong")
    page = render(request, "error.html", status, title=title, sentence=sentence, status_code=status)
    page.headers.update(headers or {})
    return page


def _answer_http_error(request: Request, error: Any) -> Response:
    return _answer(request, error.status_code, error.detail, error.headers)


def _answer_invalid_request(request: Request, error: Any) -> Response:
    problems = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
    return _answer(request, 422, "; ".join(problems))


def _answer_usage_error(request: Request, error: Any) -> Response:
    if isinstance(error, StorageError):
        log_error("outage", why=str(error))
        return _answer_outage(request, str(error))
    status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
    return _answer(request, status, str(error))


def _answer_database_error(request: Request, error: Any) -> Response:
    log_error("database", error=type(error).__name__)
    return _answer_outage(request, str(unreachable(error)))


def _answer_outage(request: Request, sentence: str) -> Response:
    # Who is signed in stands in the database.
    request.state.browser = None
    return _answer(request, 503, sentence, {"Retry-After": "10"})


def _answer_mistake(request: Request, _: Any) -> Response:
    # The error goes on to the server's log after this answer.
    request.state.browser = None
    return _answer(request, 500, "the hub made a mistake; its owner finds it in the log")


def _go_to_sign_in(_: Request, error: Any) -> Response:
    """Answer a page that only people who are signed in may see."""
    return RedirectResponse(f"/sign-in?{urlencode({'next': error.path})}", 303)


HANDLERS: Mapping[type[Exception], Any] = {
    Exception: _answer_mistake,
    HTTPException: _answer_http_error,
    RequestValidationError: _answer_invalid_request,
    UsageError: _answer_usage_error,
    SQLAlchemyError: _answer_database_error,
    SignInNeeded: _go_to_sign_in,
}
"""What answers each kind of error."""
