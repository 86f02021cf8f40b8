"""The server of a hub as an ASGI application."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException

from snellen import __version__
from snellen.core.errors import StorageError, UsageError
from snellen_hub.database.connection import unreachable
from snellen_hub.errors import NotAllowed, NotThere, TooMany, WrongState
from snellen_hub.hub import Hub
from snellen_hub.web.api import router as api_router
from snellen_hub.web.board_api import board_router
from snellen_hub.web.browser import SignInNeeded
from snellen_hub.web.feed_pages import feed_router
from snellen_hub.web.limits import BodyLimit
from snellen_hub.web.logs import log_error
from snellen_hub.web.operation import add_operation
from snellen_hub.web.pages import ROUTERS
from snellen_hub.web.pages.errors import error_page, go_to_sign_in
from snellen_hub.web.pages.frame import wants_page
from snellen_hub.web.pages.page_cache import KeptPages
from snellen_hub.web.samples_api import samples_router
from snellen_hub.web.token_api import token_router

_FORM_BYTES = 2_000_000
"""Bytes of a request beside the uploaded file."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_TRY_AGAIN = {"Retry-After": "10"}
_STATUS = {NotThere: 404, NotAllowed: 403, WrongState: 409, TooMany: 429}
_API_ROUTERS = (api_router, board_router, samples_router, token_router, feed_router)


def create_app(hub: Hub) -> FastAPI:
    """The application of a hub. The hub is closed by whoever opened it."""
    app = FastAPI(
        title=hub.config.title, version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json"
    )
    app.state.hub = hub
    for router in (*_API_ROUTERS, *ROUTERS):
        app.include_router(router)
    _add_errors(app)
    limit = hub.config.submissions.megabytes * 1_000_000 + _FORM_BYTES
    app.add_middleware(BodyLimit, limit=limit)
    app.add_middleware(KeptPages)
    # Last, so that it sees every answer.
    add_operation(app, hub, _HEADERS)
    return app


def _add_errors(app: FastAPI) -> None:
    """Every error is one sentence: on a page for browsers, else in the field `detail`."""

    def answer(request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None) -> Response:
        if wants_page(request):
            response = error_page(request, status, sentence)
            response.headers.update(headers or {})
            return response
        return JSONResponse({"detail": sentence}, status, headers)

    def answer_http_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        return answer(request, error.status_code, error.detail, error.headers)

    def answer_invalid_request(request: Request, error: Exception) -> Response:
        assert isinstance(error, RequestValidationError)
        problems = [f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()]
        return answer(request, 422, "; ".join(problems))

    def answer_usage_error(request: Request, error: Exception) -> Response:
        if isinstance(error, StorageError):
            log_error("outage", why=str(error))
            # Who is signed in stands in the database.
            request.state.browser = None
            return answer(request, 503, str(error), _TRY_AGAIN)
        status = next((code for kind, code in _STATUS.items() if isinstance(error, kind)), 422)
        return answer(request, status, str(error))

    def answer_database_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, SQLAlchemyError)
        log_error("database", error=type(error).__name__)
        # Who is signed in stands in the database.
        request.state.browser = None
        return answer(request, 503, str(unreachable(error)), _TRY_AGAIN)

    def answer_mistake(request: Request, _: Exception) -> Response:
        # The error goes on to the server's log after this answer.
        request.state.browser = None
        return answer(request, 500, "the hub made a mistake; its owner finds it in the log")

    handlers: dict[Any, Any] = {
        Exception: answer_mistake,
        HTTPException: answer_http_error,
        RequestValidationError: answer_invalid_request,
        UsageError: answer_usage_error,
        SQLAlchemyError: answer_database_error,
        SignInNeeded: go_to_sign_in,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
