"""The server of a hub as an ASGI application."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Awaitable, Callable, Mapping
from secrets import token_hex
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from sqlalchemy import func, select
from sqlalchemy.exc import SQLAlchemyError
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from snellen import __version__
from snellen.core.errors import StorageError, UsageError
from snellen.leaderboard_hub.database.connection import unreachable
from snellen.leaderboard_hub.database.tables import ScoringJob
from snellen.leaderboard_hub.hub import Hub
from snellen.leaderboard_hub.intake import TooManySubmissions
from snellen.leaderboard_hub.publishing import PublicationRefused
from snellen.leaderboard_hub.samples.browsing import NoSuchItem
from snellen.leaderboard_hub.samples.flags import TooManyFlags
from snellen.leaderboard_hub.web.access import client_address
from snellen.leaderboard_hub.web.api import router as api_router
from snellen.leaderboard_hub.web.board_api import board_router
from snellen.leaderboard_hub.web.browser import SignInNeeded
from snellen.leaderboard_hub.web.feed_pages import feed_router
from snellen.leaderboard_hub.web.pages import ROUTERS
from snellen.leaderboard_hub.web.pages.errors import error_page, go_to_sign_in
from snellen.leaderboard_hub.web.pages.frame import wants_page
from snellen.leaderboard_hub.web.samples_api import samples_router
from snellen.leaderboard_hub.web.token_api import token_router

_FORM_BYTES = 2_000_000
"""Bytes of a request beside the uploaded file."""
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cache-Control": "no-cache",
}
_API_ROUTERS = (
    api_router,
    board_router,
    samples_router,
    token_router,
    feed_router,
)
_log = logging.getLogger("snellen.hub")


def create_app(hub: Hub) -> FastAPI:
    """The application of a hub. The hub is closed by whoever opened it."""
    app = FastAPI(title=hub.config.title, version=__version__, docs_url=None, redoc_url=None,
                  openapi_url="/api/v1/openapi.json")  # fmt: skip
    app.state.hub = hub
    for router in (*_API_ROUTERS, *ROUTERS):
        app.include_router(router)
    _add_operation(app, hub)
    _add_errors(app)
    limit = hub.config.submissions.megabytes * 1_000_000 + _FORM_BYTES
    app.add_middleware(BodyLimit, limit=limit)
    return app


class BodyLimit:
    """Refuses requests whose body is longer than a limit, declared or not."""

    def __init__(self, app: ASGIApp, limit: int) -> None:
        self._app = app
        self._limit = limit

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse a body whose declared length is too long, and stop reading one that grows too
        long."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        declared = next(
            (value for name, value in scope["headers"] if name == b"content-length"), b"0"
        )
        if not declared.isdigit() or int(declared) > self._limit:
            await _refuse_body(self._limit)(scope, receive, send)
            return
        received = 0

        async def receive_within_limit() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self._limit:
                raise HTTPException(413, _too_long(self._limit))
            return message

        await self._app(scope, receive_within_limit, send)


def _refuse_body(limit: int) -> JSONResponse:
    return JSONResponse({"detail": _too_long(limit)}, 413, _HEADERS)


def _too_long(limit: int) -> str:
    return f"the body of the request is too long; expected at most {limit:,} bytes"


def _add_operation(app: FastAPI, hub: Hub) -> None:
    """Logs, metrics and health."""
    registry = CollectorRegistry()
    requests = Counter("snellen_hub_requests", "Requests", ["route", "method", "status"],
                       registry=registry)  # fmt: skip
    seconds = Histogram("snellen_hub_request_seconds", "Seconds of a request", ["route"],
                        registry=registry)  # fmt: skip
    jobs = Gauge("snellen_hub_jobs", "Jobs by status", ["status"], registry=registry)

    @app.middleware("http")
    async def observe(
        request: Request, call_next: Callable[[Request], Awaitable[Response]]
    ) -> Response:
        """Count and log each request with its status and duration."""
        started, name = time.monotonic(), token_hex(8)
        status = 500
        try:
            response = await call_next(request)
            status = response.status_code
            for header, value in _HEADERS.items():
                response.headers.setdefault(header, value)
            response.headers["X-Request-Id"] = name
            return response
        finally:
            route = getattr(request.scope.get("route"), "path", "unknown")
            duration = time.monotonic() - started
            requests.labels(route, request.method, status).inc()
            seconds.labels(route).observe(duration)
            _log.info(
                json.dumps(
                    {"request": name, "method": request.method, "route": route, "status": status,
                     "ms": round(1000 * duration, 1), "address": client_address(request)}
                )
            )  # fmt: skip

    @app.get("/health")
    def health() -> dict[str, str]:
        """Whether database and storage answer."""
        hub.database.check()
        hub.storage.check()
        return {"status": "ok", "version": __version__}

    @app.get("/metrics")
    def metrics() -> Response:
        """Counts for Prometheus."""
        with hub.database.reading() as session:
            rows = session.execute(
                select(ScoringJob.status, func.count()).group_by(ScoringJob.status)
            ).all()
        counts = {row[0]: row[1] for row in rows}
        for status in ("queued", "leased", "done", "failed"):
            jobs.labels(status).set(counts.get(status, 0))
        return Response(generate_latest(registry), media_type="text/plain; version=0.0.4")


def _add_errors(app: FastAPI) -> None:
    """Every error is one sentence: on a page for browsers, else in the field `detail`."""

    def answer(
        request: Request, status: int, sentence: str, headers: Mapping[str, str] | None = None
    ) -> Response:
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
        problems = [
            f"{'.'.join(map(str, each['loc'][1:]))}: {each['msg']}" for each in error.errors()
        ]
        return answer(request, 422, "; ".join(problems))

    def answer_usage_error(request: Request, error: Exception) -> Response:
        status = 422
        if isinstance(error, TooManySubmissions | TooManyFlags):
            status = 429
        elif isinstance(error, NoSuchItem):
            status = 404
        elif isinstance(error, PublicationRefused):
            status = 409
        elif isinstance(error, StorageError):
            status = 503
            # Who is signed in stands in the database.
            request.state.browser = None
        return answer(request, status, str(error))

    def answer_database_error(request: Request, error: Exception) -> Response:
        assert isinstance(error, SQLAlchemyError)
        _log.error(json.dumps({"error": type(error).__name__}))
        # Who is signed in stands in the database.
        request.state.browser = None
        return answer(request, 503, str(unreachable(error)))

    handlers: dict[Any, Any] = {
        HTTPException: answer_http_error,
        RequestValidationError: answer_invalid_request,
        UsageError: answer_usage_error,
        SQLAlchemyError: answer_database_error,
        SignInNeeded: go_to_sign_in,
    }
    for kind, handler in handlers.items():
        app.add_exception_handler(kind, handler)
