"""The server of a hub as an ASGI application."""

from __future__ import annotations

from fastapi import FastAPI

from snellen import __version__
from snellen_hub.hub import Hub
from snellen_hub.web.api import router as api_router
from snellen_hub.web.board_api import board_router, feed_router
from snellen_hub.web.limits import BodyLimit
from snellen_hub.web.operation import add_operation
from snellen_hub.web.pages import ROUTERS
from snellen_hub.web.pages.errors import HANDLERS
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
_API_ROUTERS = (api_router, board_router, samples_router, token_router, feed_router)


def create_app(hub: Hub) -> FastAPI:
    """The application of a hub. The hub is closed by whoever opened it."""
    app = FastAPI(
        title=hub.config.title, version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json"
    )
    app.state.hub = hub
    for router in (*_API_ROUTERS, *ROUTERS):
        app.include_router(router)
    for kind, handler in HANDLERS.items():
        app.add_exception_handler(kind, handler)
    limit = hub.config.submissions.megabytes * 1_000_000 + _FORM_BYTES
    app.add_middleware(BodyLimit, limit=limit)
    app.add_middleware(KeptPages)
    # Last, so that it sees every answer.
    add_operation(app, hub, _HEADERS)
    return app
