"""Where each model's name leads: transformers, a converted twin, the checkpoint's own code, a
server that Snellen starts, a one-file server, an API, or the reason why nowhere (`routes/*.toml`).

Checkpoints are known by their id on the hub (`families.toml`); folders and unknown ids by what
their config.json declares (`types.toml`, `lists.toml`).
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, NamedTuple

import msgspec
from msgspec import Struct

from snellen.models.hf.own_code.adapter import Tried, adapter_names, code_adapters
from snellen.models.naming.catalog import CatalogEntry, FactSource
from snellen.models.naming.environments import EnvironmentRecipe, environment_of, environment_recipes
from snellen.models.naming.spec import model_folder

FOLDER = Path(__file__).with_suffix("")
SERVERS = ("vllm", "sglang", "lmdeploy")
"""Servers that Snellen starts with a hub id, in the order in which they are named."""

RouteKind = Literal["transformers", "twin", "code", "server", "environment", "api", "pipeline", "none"]


class Route(Struct, frozen=True):
    """One way to a model."""

    kind: RouteKind
    target: str
    """What answers: a hub id, an adapter, a server, a one-file server or a provider; "" for
    `none`."""
    tried: Tried
    source: str
    """Short name of its source in `routes/sources.toml`."""
    note: str = ""
    """What else it needs, or for `none` the reason."""

    def __str__(self) -> str:
        return {
            "transformers": "transformers",
            "twin": f"twin {self.target}",
            "code": f"own code ({self.target})",
            "server": self.target,
            "environment": f"environment ({self.target})",
            "api": f"API of {self.target}",
            "pipeline": "diffusers",
            "none": "none",
        }[self.kind]


class ModelFamily(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Checkpoints of one layout. See the head of `families.toml`."""

    name: str
    ids: tuple[str, ...]
    source: str
    type: str = ""
    twin: str = ""
    twins: dict[str, str] = {}
    twin_type: str = ""
    twin_source: str = ""
    package: str = ""
    repository: str = ""
    reason: str = ""
    needs: str = ""

    def twin_of(self, id: str) -> str:
        """The converted twin of a checkpoint; "" without one."""
        return self.twins.get(id) or self.twin.replace("{name}", id.rpartition("/")[2])


class CheckpointLayout(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A layout of checkpoints that transformers does not load by itself."""

    source: str
    architecture: str = ""
    """As config.json declares it; "" if that was not seen."""
    requires: tuple[str, ...] = ()
    """Packages that its own code imports."""
    written_for: str = ""
    """Versions of transformers."""
    below: str = ""
    """The version of transformers from which on its own code does not run."""
    inside: str = ""
    """The architecture of its language model, where that makes the difference."""


class ModelLists(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What transformers and servers load, as their own lists say."""

    version: str
    """Version of transformers."""
    asked_small: frozenset[str]
    servers: dict[str, frozenset[str]]
    """Architectures by server."""
    pictures: dict[str, str]
    """Architecture by model type, for models that take media."""
    text: dict[str, str]


class _FamilyFile(Struct, forbid_unknown_fields=True):
    family: list[ModelFamily]


@functools.cache
def families() -> tuple[ModelFamily, ...]:
    """All families, in the order in which ids are looked up."""
    return tuple(msgspec.toml.decode(_read("families"), type=_FamilyFile).family)


@functools.cache
def layouts() -> dict[str, CheckpointLayout]:
    """Layouts that transformers does not load by itself, by name."""
    return msgspec.toml.decode(_read("types"), type=dict[str, CheckpointLayout])


@functools.cache
def model_lists() -> ModelLists:
    """What libraries and servers load."""
    return msgspec.toml.decode(_read("lists"), type=ModelLists)


@functools.cache
def route_sources() -> dict[str, FactSource]:
    """All sources of routes, by their short name."""
    return msgspec.toml.decode(_read("sources"), type=dict[str, FactSource])


def _read(name: str) -> bytes:
    return (FOLDER / f"{name}.toml").read_bytes()


def find_family(id: str) -> ModelFamily | None:
    """The family of a hub id; None for an unknown one."""
    for family in families():
        if any(fnmatch.fnmatchcase(id, pattern) for pattern in family.ids):
            return family
    return None


def routes_of(entry: CatalogEntry) -> tuple[Route, ...]:
    """The routes to a model of the catalog, the best first; at least one."""
    if entry.provider == "hf":
        return checkpoint_routes(entry.id)
    if entry.provider == "diffusers":
        return (Route("pipeline", entry.id, "same interface", "diffusers"),)
    return (Route("api", entry.provider, "provider", entry.sources["names"]),)


def checkpoint_routes(id: str) -> tuple[Route, ...]:
    """The routes to a checkpoint by its id on the hub, the best first; empty for unknown ids."""
    family = find_family(id)
    return () if family is None else tuple(_family_routes(family, id))


def _family_routes(family: ModelFamily, id: str) -> Iterator[Route]:
    twin = family.twin_of(id)
    native = _native_route(family.type, id, family.source, family.needs)
    if native is not None and not family.reason:
        yield native
    if twin:
        source = family.twin_source or family.source
        converted = _native_route(family.twin_type, twin, source, family.needs)
        if converted is not None:
            yield Route("twin", twin, converted.tried, source, converted.note)
    yield from layout_routes(family.type, id)
    if native is None or family.reason:
        reason = family.reason or _package_reason(family)
        if reason:
            yield Route("none", "", "read", family.source, reason)


def _native_route(type: str, id: str, source: str, needs: str) -> Route | None:
    """The route by transformers' own classes, for a model type that it loads."""
    lists = model_lists()
    if type not in lists.pictures and type not in lists.text:
        return None
    tried: Tried = "read"
    if {type, f"{type}_thinker"} & lists.asked_small:
        tried = "small model"
    elif type in lists.text:
        tried = "same interface"
    return Route("transformers", id, tried, source, f"needs {needs}" if needs else "")


def layout_routes(type: str, id: str = "") -> Iterator[Route]:
    """The routes by the checkpoint's own code, by servers and by environments, for a layout or a
    model type, or for a hub id."""
    lists, layout = model_lists(), layouts().get(type)
    own_code = list(_own_code_route(type, layout))
    if layout is None or not layout.below:
        yield from own_code
    architecture = layout.architecture if layout else lists.pictures.get(type) or lists.text.get(type)
    servers = [name for name in SERVERS if is_served(name, architecture or "")]
    for server in servers:
        yield Route("server", server, "provider", server)
    environment = environment_of(id, type)
    if environment:
        recipe = environment_recipes()[environment]
        note = f"uv installs {recipe.installs}"
        yield Route("environment", environment, recipe.tried, recipe.source, note)
    can_be_asked = bool(servers or environment)
    if layout is not None and not can_be_asked and (layout.below or not own_code):
        yield Route("none", "", "read", layout.source, _code_reason(layout, bool(own_code)))
    if layout is not None and layout.below:
        yield from own_code


def _own_code_route(type: str, layout: CheckpointLayout | None) -> Iterator[Route]:
    """The route by the checkpoint's own code, if an adapter has it."""
    name = adapter_names().get(type)
    if name is None or layout is None:
        return
    adapter = code_adapters()[name]
    below = f"needs transformers before {layout.below}" if layout.below else ""
    yield Route("code", name, adapter.tried, layout.source, below or adapter.note)


def is_served(server: str, architecture: str) -> bool:
    """Whether a server's list has an architecture. Lists write Kimi_K25 and KimiK25 for one."""
    return _plain(architecture) in _served_architectures(server)


@functools.cache
def _served_architectures(server: str) -> frozenset[str]:
    return frozenset(map(_plain, model_lists().servers[server]))


def _plain(architecture: str) -> str:
    return architecture.replace("_", "").lower()


def _package_reason(family: ModelFamily) -> str:
    if not family.package:
        return ""
    return f"only its authors' package {family.package} loads it ({family.repository})"


def _code_reason(layout: CheckpointLayout, has_adapter: bool) -> str:
    """Why the checkpoint's own code is no way to it here, whether or not an adapter has it."""
    if has_adapter:
        return f"only its own code loads it, which needs transformers before {layout.below}"
    wanted = f", written for transformers {layout.written_for}" if layout.written_for else ""
    return f"only its own code loads it{wanted}, and there is no adapter for that yet"


def config_type(config: Mapping[str, Any]) -> str:
    """The layout or model type that a config.json declares; "" if it is neither known to
    transformers nor a layout of `types.toml`."""
    declared = set(config.get("architectures") or ())
    language_model = (config.get("llm_config") or {}).get("architectures") or ()
    named = {layout.inside: name for name, layout in reversed(layouts().items()) if layout.architecture in declared}
    for inside in (*language_model, ""):
        if inside in named:
            return named[inside]
    type = str(config.get("model_type") or "")
    lists = model_lists()
    return type if type in lists.pictures or type in lists.text else ""


def checkpoint_layout(name: str, config: Mapping[str, Any]) -> str:
    """The layout or model type of a checkpoint: that of its hub id, or that which its config.json
    declares; "" if neither is known."""
    family = find_family(name)
    return (family.type if family else "") or config_type(config)


class EnvironmentServer(NamedTuple):
    """The one-file server that comes with Snellen for a checkpoint."""

    name: str
    """Its name in `environments.toml`."""
    recipe: EnvironmentRecipe
    adapter: str
    """The adapter by which it asks, with its digest; "" if the file itself says how it asks."""
    one_image: bool
    """Whether the checkpoint takes one picture at most."""


def find_environment(name: str) -> EnvironmentServer | None:
    """The one-file server for a folder or a hub id; None if there is none."""
    layout = _named_layout(name)
    environment = environment_of(name, layout)
    if not environment:
        return None
    recipe = environment_recipes()[environment]
    adapter = adapter_names().get(layout, "")
    limited = bool(adapter) and code_adapters()[adapter].max_images == 1
    asked_by = f"{adapter} {code_adapters()[adapter].digest}" if adapter and recipe.adapters else ""
    return EnvironmentServer(environment, recipe, asked_by, recipe.one_image or limited)


def _named_layout(name: str) -> str:
    """The layout of a folder, by its config.json, or of a hub id."""
    folder = model_folder(name)
    if folder is not None:
        return config_type(msgspec.json.decode((folder / "config.json").read_bytes()))
    return checkpoint_layout(name, {})
