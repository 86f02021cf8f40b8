"""A model's name by the nearest route, with consent where code of others runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from snellen.core.errors import UsageError
from snellen.models.naming.environments import PROVIDER
from snellen.models.naming.registry import split_spec

if TYPE_CHECKING:
    from snellen.engine.servers.nearest_route import NearestRoute
    from snellen.models.naming.consent import CodeOfOthers


class NoConsent(UsageError):
    """Code of others would run, and the user has not consented."""


def consented_spec(name: str, *, may_ask: bool = True) -> str:
    """The name by its nearest route; a name that opens as it stands is returned.

    Asks once on the terminal where code of others runs, and keeps the answer. Raises NoConsent without
    a terminal, or for any other answer than yes, and as `nearest_route`.
    """
    if split_spec(name).provider not in ("hf", PROVIDER):
        return name
    from snellen.core.terminal_text import escape_controls
    from snellen.engine.servers.nearest_route import nearest_route
    from snellen.models.naming.consent import keep_consent, may_run

    route = nearest_route(name)
    if route is None:
        return name
    if route.code is None or may_run(route.code):
        return route.spec
    what = _what_runs(name, route, route.code)
    if not (may_ask and _is_interactive()):
        raise NoConsent(f"{what}; read it, and let it run with --load {route.code}")
    print(escape_controls(f"{what}. Run it? [y/N] "), end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise NoConsent(f"{name} was not asked: its code may not run")
    keep_consent(route.code)
    return route.spec


def _what_runs(name: str, route: NearestRoute, code: CodeOfOthers) -> str:
    from snellen.settings import Settings

    page = f"{Settings.from_environment().hf_endpoint}/{code.repository}/tree/{code.commit}"
    return f"{name} runs Python of {code.repository} and its authors {route.place}: {page}"


def _is_interactive() -> bool:
    return all(stream is not None and stream.isatty() for stream in (sys.stdin, sys.stderr))
