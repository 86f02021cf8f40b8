"""Where a checkpoint's name leads when it is opened, decided before anything is downloaded."""

from __future__ import annotations

import importlib.metadata
import importlib.util
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from snellen.core.errors import UsageError
from snellen.models.hf.checkpoint import Checkpoint
from snellen.models.naming.catalog import CatalogEntry, find_entry
from snellen.models.naming.environments import PROVIDER, environment_recipes
from snellen.models.naming.routes import (
    SERVERS,
    CheckpointLayout,
    Route,
    checkpoint_layout,
    checkpoint_routes,
    layout_routes,
    layouts,
    route_sources,
    routes_of,
)

_CONSENT = "trust_remote_code"
_REVISION = "revision"
_WITHOUT_OWN_CODE = ("twin", "server", "environment")
"""Routes in which the checkpoint's own code does not run in this process."""


class NoRoute(UsageError):
    """A model that cannot be asked as it was named. The sentence names what works instead."""


class Destination(NamedTuple):
    """What is opened for a name."""

    name: str
    """A folder or a hub id: the one that was named, or its twin."""
    values: dict[str, str]
    """The options for it."""
    remark: str = ""
    """What to say of a twin."""


def destination(name: str, values: Mapping[str, str]) -> Destination:
    """What is opened for a folder or hub id: itself, or its twin in the layout of transformers.

    Raises NoRoute for a checkpoint that neither transformers nor, with consent, its own code loads.
    """
    if Path(name).expanduser().is_dir():
        return Destination(name, dict(values))
    routes = checkpoint_routes(name)
    consents = values.get(_CONSENT) == "yes"
    if not routes or routes[0].kind == "transformers":
        return Destination(name, dict(values))
    if consents:
        type = checkpoint_layout(name, {})
        _check_version(name, type, routes)
        _check_packages(name, type, routes)
        return Destination(name, dict(values))
    if routes[0].kind == "twin":
        return _twin(name, routes[0], values)
    raise NoRoute(_advice(name, routes))


def code_needs(name: str) -> str:
    """What the own code of a hub id needs that is not installed; "" if it can run."""
    layout = layouts().get(checkpoint_layout(name, {}))
    if layout is None:
        return ""
    if layout.below and _release(importlib.metadata.version("transformers")) >= _release(layout.below):
        return f"transformers before {layout.below}"
    packages = _missing_packages(layout)
    return f"pip install {' '.join(packages)}" if packages else ""


def adapter_of(checkpoint: Checkpoint, values: Mapping[str, str]) -> str | None:
    """The adapter that asks a checkpoint by its own code, if it has one and the user consents.

    Raises NoRoute for a checkpoint that transformers cannot load, or not without consent.
    """
    type = checkpoint_layout(checkpoint.name if checkpoint.commit else "", checkpoint.config)
    code = "auto_map" in checkpoint.config
    consents = values.get(_CONSENT) == "yes"
    if type in layouts():
        routes = tuple(layout_routes(type))
        adapter = next((route.target for route in routes if route.kind == "code"), None)
        if not consents:
            raise NoRoute(_advice(checkpoint.name, routes))
        _check_version(checkpoint.name, type, routes)
        return adapter
    if not type and code and not consents:
        raise NoRoute(
            f"{checkpoint.name} brings code of its own ({_architecture(checkpoint)}), which "
            "transformers would have to run: read it, then give "
            f"-m hf/{checkpoint.name}:{_CONSENT}=yes"
        )
    if not type and checkpoint.multimodal and not checkpoint.has_processor:
        raise NoRoute(
            f"{checkpoint.name} ({_architecture(checkpoint)}) takes images, but its files declare "
            "no processor that joins images and text, and there is no adapter for its code; serve "
            "it, and name the address: -m http://HOST:PORT/v1#NAME"
        )
    return None


def _architecture(checkpoint: Checkpoint) -> str:
    return ", ".join(checkpoint.config.get("architectures") or ["no architecture"])


def _twin(name: str, route: Route, values: Mapping[str, str]) -> Destination:
    """The twin of a checkpoint. A revision of the original is none of the twin's: one that the
    catalog pins is left out; raises UsageError for one that was typed."""
    twin, _, revision = route.target.partition("@")
    changed = {key: value for key, value in values.items() if key != _REVISION}
    entry = find_entry(name)
    typed = values.get(_REVISION, "")
    if typed and not (entry is not None and entry.revision == typed):
        raise UsageError(
            f"{_REVISION}={typed} is of {name}, which transformers loads as its twin "
            f"{route.target}; name that one: -m hf/{twin}:{_REVISION}=..."
        )
    if revision:
        changed[_REVISION] = revision
    what = route_sources()[route.source].what.partition(":")[0]
    remark = f"{name} is loaded as its converted twin {route.target} (named in: {what})"
    return Destination(twin, changed, remark)


def _check_version(name: str, type: str, routes: Sequence[Route]) -> None:
    """Raises NoRoute if the installed transformers is too new for the checkpoint's own code."""
    installed = importlib.metadata.version("transformers")
    layout = layouts().get(type)
    below = layout.below if layout else ""
    if below and _release(installed) >= _release(below):
        raise NoRoute(
            f"the own code of {name} needs transformers before {below}, and {installed} is "
            f"installed; {_older_library(name, routes)}"
        )


def _release(version: str) -> tuple[int, int]:
    """The first two numbers of a version: (4, 50) of 4.50.1."""
    major, minor = version.split(".")[:2]
    return int(major), int(minor)


def _other_ways(name: str, routes: Sequence[Route]) -> str:
    """The ways besides the checkpoint's own code, in front of another piece of advice."""
    ways = _ways(name, [route for route in routes if route.kind in _WITHOUT_OWN_CODE])
    return f"take another way: {ways}; or " if ways else ""


def _older_library(name: str, routes: Sequence[Route]) -> str:
    """What to do about code that needs an older transformers: the other ways, or an environment
    that the user makes, if none of them is one."""
    advice = _other_ways(name, routes)
    if any(route.kind == "environment" for route in routes):
        return advice.removesuffix("; or ")
    return f"{advice}run it in an environment of its own"


def own_code_fails(name: str, type: str, error: str) -> UsageError:
    """The error of own code that does not run here, with the ways that remain."""
    installed = importlib.metadata.version("transformers")
    layout = layouts().get(type)
    wanted = f", written for {layout.written_for}," if layout and layout.written_for else ""
    return UsageError(
        f"the own code of {name}{wanted} does not run with transformers {installed}: {error}; "
        f"{_older_library(name, tuple(layout_routes(type)))}"
    )


def _check_packages(name: str, type: str, routes: Sequence[Route]) -> None:
    """Raises NoRoute if the checkpoint's own code imports packages that are not installed."""
    layout = layouts().get(type)
    packages = _missing_packages(layout) if layout else []
    if not packages:
        return
    raise NoRoute(
        f"the own code of {name} imports {' and '.join(packages)}; {_other_ways(name, routes)}"
        f"install with: pip install {' '.join(packages)}"
    )


def _missing_packages(layout: CheckpointLayout) -> list[str]:
    return [package for package in layout.requires if importlib.util.find_spec(package) is None]


def _advice(name: str, routes: Sequence[Route]) -> str:
    """Why transformers does not load a checkpoint, and the ways that work, the nearest first."""
    ways = _ways(name, routes)
    if ways:
        return f"Snellen does not load {name} with transformers alone; what does: {ways}"
    reason = next(route.note for route in routes if route.kind == "none")
    return (
        f"there is no way to {name} yet: {reason}; have a file call its authors' code in an "
        f"environment of its own (-m {name} --serve FILE.py), serve it elsewhere and name the "
        "address (-m http://HOST:PORT/v1#NAME), or score predictions that it made there (snellen "
        "score)"
    )


def command_of(entry: CatalogEntry) -> str:
    """The arguments of `snellen run` that ask a model of the catalog, e.g. `-m InternVL3-8B`: it takes the nearest
    route by itself. "" if there is none."""
    return "" if routes_of(entry)[0].kind == "none" else f"-m {entry.name}"


def _model_flag(route: Route, name: str) -> str:
    """`-m` with the name that takes a route, and consent to own code where that runs there."""
    if route.kind == "environment":
        consents = environment_recipes()[route.target].own_code
        return f"-m {PROVIDER}/{name}" + (f":{_CONSENT}=yes" if consents else "")
    if route.kind == "server":
        name = f"{route.target}/{name}"
    return f"-m {name}" + (f":{_CONSENT}=yes" if route.kind in ("server", "code") else "")


def _ways(name: str, routes: Sequence[Route]) -> str:
    """Commands for routes, separated by semicolons."""
    ways = []
    for route in routes:
        if route.kind == "twin":
            ways.append(f"-m hf/{route.target} (its converted twin)")
        elif route.kind == "code" and not route.note.startswith("needs transformers"):
            flag = _model_flag(route, f"hf/{name}")
            ways.append(f"{flag} (the checkpoint's own code, here; read it first)")
    servers = sorted(
        (route for route in routes if route.kind == "server"), key=lambda route: SERVERS.index(route.target)
    )
    if servers:
        named = " and ".join(route.target for route in servers[1:])
        others = f"; {named} too" if named else ""
        flag = _model_flag(servers[0], name)
        ways.append(f"{flag} (a server that Snellen starts{others})")
    own = next((route for route in routes if route.kind == "environment"), None)
    if own is not None:
        ways.append(f"{_model_flag(own, name)} (a one-file server with an environment of its own: {own.note})")
    return "; ".join(ways)
