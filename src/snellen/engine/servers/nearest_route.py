"""The nearest way to a checkpoint that transformers alone does not load: its own code, a server that
Snellen starts, or a one-file server, whichever can be taken on this machine."""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import msgspec

from snellen.core.errors import UsageError
from snellen.engine.servers.managed import ADDRESS_OPTION, OWN_CODE_OPTION, presets, server_options
from snellen.engine.servers.process import find_program
from snellen.models.hf.hub import fetch_config
from snellen.models.hf.routing import NoRoute, code_needs
from snellen.models.naming.consent import CodeOfOthers
from snellen.models.naming.environments import PROVIDER, environment_recipes
from snellen.models.naming.registry import split_spec
from snellen.models.naming.routes import Route, checkpoint_routes, config_type, layout_routes, layouts
from snellen.models.naming.spec import REVISION

_BY_ITSELF = ("transformers", "twin", "api", "pipeline", "none")
"""Kinds of routes that `-m NAME` takes without code of others."""
_HUB_ID = re.compile(r"[\w.-]+/[\w.-]+")
_COMMIT = re.compile(r"[0-9a-f]{40}")


class NearestRoute(NamedTuple):
    """Where a name leads, and whose code runs there."""

    spec: str
    """The model's name by that route, with the commit that runs."""
    code: CodeOfOthers | None
    """None if no code runs but that of released libraries."""
    place: str
    """Where it runs: the end of a sentence."""


def nearest_route(spec: str) -> NearestRoute | None:
    """The route of a checkpoint that needs one; None for a name that opens as it stands.

    Raises NoRoute if no way is open on this machine, with what is missing, and UsageError if the commit is not pinned
    and the hub cannot be asked for it.
    """
    parts = split_spec(spec)
    if parts.provider not in ("hf", PROVIDER):
        return None
    if OWN_CODE_OPTION in parts.options or ADDRESS_OPTION in parts.options or Path(parts.name).expanduser().is_dir():
        return None
    routes = checkpoint_routes(parts.name) or _routes_by_config(parts.name, parts.options.get(REVISION))
    if parts.provider == PROVIDER:
        # Its route was named: what it lacks is said by the server that it starts.
        named = next((route for route in routes if route.kind == PROVIDER), None)
        return _take(named, spec, parts.name, parts.options) if named else None
    if not routes or routes[0].kind in _BY_ITSELF:
        return None
    missing = [(route, missing_program(route, parts.name)) for route in routes if route.kind not in _BY_ITSELF]
    route = next((route for route, lacks in missing if not lacks), None)
    if route is None:
        ways = "; or ".join(f"{route}, which needs {lacks}" for route, lacks in missing)
        raise NoRoute(f"what asks {parts.name} is not on this machine: {ways}; then repeat the command")
    return _take(route, spec, parts.name, parts.options)


def _routes_by_config(name: str, revision: str | None) -> tuple[Route, ...]:
    """The routes of a hub id that no family has, by its config.json; none if that cannot be had, which opening the
    model explains."""
    if not _HUB_ID.fullmatch(name):
        return ()
    try:
        config = msgspec.json.decode(fetch_config(name, revision).read_bytes())
    except (UsageError, msgspec.DecodeError):
        return ()
    type = config_type(config)
    if type in layouts():
        return tuple(layout_routes(type))
    return (Route("code", "as transformers asks it", "read", ""),) if "auto_map" in config and not type else ()


def missing_program(route: Route, name: str) -> str:
    """What a route needs that is not on this machine; "" if it can be taken."""
    if route.kind == "code":
        if importlib.util.find_spec("torch") is None:
            return "pip install 'snellen[hf]'"
        return code_needs(name)
    if route.kind == "server":
        launch = presets()[route.target]
        program = launch.command.split()[0]
        is_here = importlib.util.find_spec(route.target) if program == "python" else find_program(program)
        return "" if is_here else launch.install
    return "" if find_program("uv") else "pip install uv"


def _take(route: Route, spec: str, name: str, options: Mapping[str, str]) -> NearestRoute:
    own_code = route.kind != PROVIDER or environment_recipes()[route.target].own_code
    if route.kind == "code":
        provider, kept, place = "hf", dict(options), "in this process"
    else:
        provider = route.target if route.kind == "server" else PROVIDER
        kept = server_options(spec, options)
        place = f"in a server that Snellen starts ({route.target})"
    if not own_code:
        return NearestRoute(_join(provider, name, kept), None, place)
    commit = options.get(REVISION, "")
    if not _COMMIT.fullmatch(commit):
        commit = fetch_config(name, commit or None).parent.name
    kept |= {REVISION: commit, OWN_CODE_OPTION: "yes"}
    return NearestRoute(_join(provider, name, kept), CodeOfOthers(name, commit), place)


def _join(provider: str, name: str, options: Mapping[str, str]) -> str:
    text = ",".join(f"{key}={value}" for key, value in options.items())
    return f"{provider}/{name}:{text}" if text else f"{provider}/{name}"
