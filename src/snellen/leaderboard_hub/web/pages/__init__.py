"""The pages of a hub, in English and Chinese; they read without JavaScript.

`ROUTERS` names every router; each is one module with its templates.
"""

from __future__ import annotations

from fastapi import APIRouter

from snellen.leaderboard_hub.web.pages import (
    benchmark_pages,
    boards,
    compare,
    errors,
    frame,
    home,
    submissions,
)

ROUTERS: tuple[APIRouter, ...] = (
    frame.router,
    home.router,
    boards.router,
    benchmark_pages.router,
    submissions.router,
    compare.router,
)

__all__ = ["ROUTERS", "errors"]
