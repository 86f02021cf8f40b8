"""The pages of a hub, in English and Chinese; they read without JavaScript.

`ROUTERS` names every router; each is one module with its templates.
"""

from __future__ import annotations

from fastapi import APIRouter

from snellen.leaderboard_hub.web.pages import errors, frame, home, samples

ROUTERS: tuple[APIRouter, ...] = (frame.router, home.router, samples.router)

__all__ = ["ROUTERS", "errors"]
