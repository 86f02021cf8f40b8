"""The pages of a hub, in English and Chinese; they read without JavaScript.

`ROUTERS` names every router; each is one module with its templates.
"""

from __future__ import annotations

from fastapi import APIRouter

from snellen.leaderboard_hub.web.pages import (
    account,
    benchmark_pages,
    boards,
    compare,
    errors,
    frame,
    home,
    manage,
    manage_accounts,
    openid,
    own_submissions,
    samples,
    sign_in,
    submissions,
    submit,
)

ROUTERS: tuple[APIRouter, ...] = (
    frame.router,
    home.router,
    boards.router,
    benchmark_pages.router,
    submissions.router,
    compare.router,
    samples.router,
    sign_in.router,
    account.router,
    own_submissions.router,
    submit.router,
    manage.router,
    manage_accounts.router,
    openid.router,
)

__all__ = ["ROUTERS", "errors"]
