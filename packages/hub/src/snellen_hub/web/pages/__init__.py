"""The pages of a hub, in English and Chinese; they read without JavaScript.

`ROUTERS` names every router; each is one module with its templates.
"""

from __future__ import annotations

from snellen_hub.web.pages import (
    account,
    benchmark_pages,
    boards,
    compare,
    email,
    frame,
    home,
    host,
    manage,
    manage_accounts,
    openid,
    own_submissions,
    samples,
    sign_in,
    submissions,
    submit,
    team,
)

_PAGES = (
    frame,
    home,
    boards,
    benchmark_pages,
    submissions,
    compare,
    samples,
    sign_in,
    account,
    email,
    own_submissions,
    submit,
    team,
    manage,
    host,
    manage_accounts,
    openid,
)
ROUTERS = tuple(page.router for page in _PAGES)
