"""The resolver of models' names: `provider/model`, a bare provider, a URL, a local model folder, or
a name of the catalog.

A name is split into provider, id and options (`split_spec`), its provider is found
(`find_provider`), and that opens the model (`open_model`). `maker_name` goes the other way.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.benchmark import COORDINATES
from snellen.core.errors import NotHere, UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, abilities
from snellen.core.place import parse_space
from snellen.models.naming.builtin import builtin_names, builtin_provider, is_builtin
from snellen.models.naming.provider import ModelListing, ModelOption, Provider
from snellen.models.naming.spec import (
    GENERIC_PROVIDER,
    HUB_PROVIDERS,
    REVISION,
    SERVERS_OF_HUB_MODELS,
    model_folder,
    refuse_password,
    split_options,
    split_revision,
    split_served_revision,
)

if TYPE_CHECKING:
    from snellen.models.naming.catalog import CatalogEntry
    from snellen.models.naming.coordinates import DeclaredSpace

_MAX_NEW_TOKENS = "max_new_tokens"

_URL_SCHEMES = ("http:", "https:")
_PATH_STARTS = ("./", "../", "/", "~", ".\\", "..\\")


class ModelSpec(NamedTuple):
    """Parts of a model's name. `name` is empty for a provider alone."""

    provider: str
    name: str
    options: dict[str, str]


class ModelInfo(NamedTuple):
    """Facts about a model before its weights are loaded."""

    spec: str
    identity: Identity
    capabilities: Capabilities
    space: DeclaredSpace | None = None
    """The coordinate space in which it writes places, if that is known."""


def split_spec(spec: str) -> ModelSpec:
    """Parse `provider/model:key=value,...`.

    An existing model folder stands for `hf/<folder>`, a name of the catalog for its provider and id
    with the options of its entry; behind a server of hub models (`vllm/InternVL2-8B`) for its id.
    `ORG/NAME@COMMIT` is `ORG/NAME:revision=COMMIT`.

    Raises UsageError for an empty name, a malformed option and an address that holds a password.
    """
    refuse_password(spec)
    stem, options = split_options(spec)
    if not stem:
        raise UsageError("a model's name is empty; expected provider/model, e.g. snellen/tiny")
    provider, slash, name = stem.partition("/")
    if slash and provider in _URL_SCHEMES:
        url, revision = split_served_revision(stem)
        return ModelSpec(provider.removesuffix(":"), url, _pin(revision, options))
    if stem.startswith(_PATH_STARTS) or (not is_provider(provider) and model_folder(stem)):
        return ModelSpec("hf", stem, options)
    if not is_provider(provider):
        return _split_catalog_name(stem, options) or ModelSpec(provider, name, options)
    if provider in HUB_PROVIDERS:
        name, revision = split_revision(name)
        options = _pin(revision, options)
        if provider in SERVERS_OF_HUB_MODELS and name and "/" not in name:
            return _split_served_name(provider, name, options)
    return ModelSpec(provider, name, options)


def _pin(revision: str, options: Mapping[str, str]) -> dict[str, str]:
    """The options with the revision of a name; one that is given as an option overrides it."""
    return {REVISION: revision, **options} if revision else dict(options)


def _split_catalog_name(stem: str, options: Mapping[str, str]) -> ModelSpec | None:
    """The spec that a name of the catalog stands for, with the options of its entry; None if it
    is no such name."""
    from snellen.models.naming.catalog import find_entry

    entry, revision = find_entry(stem), ""
    if entry is None:
        stem, revision = split_revision(stem)
        entry = find_entry(stem) if revision else None
    if entry is None or (revision and entry.provider not in HUB_PROVIDERS):
        return None
    return ModelSpec(entry.provider, entry.id, {**_entry_options(entry), **_pin(revision, options)})


def _split_served_name(provider: str, name: str, options: Mapping[str, str]) -> ModelSpec:
    """The hub id of a catalog name behind a server, pinned as the catalog has it if Snellen starts
    the server: what runs at an address of the user's is not known."""
    from snellen.models.naming.catalog import find_entry

    entry = find_entry(name)
    if entry is None or entry.provider != "hf" or model_folder(name):
        return ModelSpec(provider, name, dict(options))
    pinned = entry.revision if "base_url" not in options else ""
    return ModelSpec(provider, entry.id, _pin(pinned, options))


def maker_name(spec: str, identity: Identity) -> str:
    """`provider/org/name` of a model that was opened by `spec`, by which its makers know it: its
    hub id also behind a server, and for a server that calls it by a name of the catalog
    (`Qwen2.5-VL-7B-Instruct`)."""
    full = full_name(spec, identity)
    if identity.provider == GENERIC_PROVIDER:
        full = f"{GENERIC_PROVIDER}/{identity.name.removeprefix('hf/')}"
    elif full.partition(":")[0] == identity.name:
        full = f"{identity.provider}/{identity.name}"
    if identity.provider in SERVERS_OF_HUB_MODELS and full.count("/") == 1:
        from snellen.models.naming.catalog import find_entry

        entry = find_entry(full.partition("/")[2])
        if entry is not None and entry.provider == "hf":
            return entry.spec
    return full


def declared_space(spec: str, model: Model) -> DeclaredSpace | None:
    """The coordinate space in which a model writes that was opened by `spec`, as the user declared it
    or the catalog knows it; None if neither does. Raises UsageError for a name of no space."""
    from snellen.models.naming.catalog import facts_of, find_entry
    from snellen.models.naming.coordinates import DeclaredSpace

    own = abilities(model).coordinates
    if own:
        return DeclaredSpace(parse_space(own).name, "model option")
    provider = model.identity.provider
    if not is_provider(provider) and provider != GENERIC_PROVIDER:
        return None
    known_as = maker_name(spec, model.identity)
    entry = facts_of(known_as) or find_entry(known_as.partition("/")[2])
    return DeclaredSpace(entry.coordinates, "catalog") if entry is not None and entry.coordinates else None


def full_name(spec: str, identity: Identity) -> str:
    """`provider/name` of a model that was opened by `spec`, without options; `spec` itself if it
    stands for another model."""
    if not is_provider(identity.provider):
        # A model of the user's own: no name leads to it, and the catalog need not be read.
        return spec
    try:
        parts = split_spec(spec)
    except UsageError:
        return spec
    is_named = parts.name and parts.provider == identity.provider
    return f"{parts.provider}/{parts.name}" if is_named else spec


def open_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """Open a model by name, without loading its weights. `options` override those in the name.

    The option `coordinates` goes with every provider. Raises UnknownName (no such provider or
    model), UsageError (option, folder) and MissingExtra.
    """
    parts = split_spec(spec)
    provider = _provider_of(parts, spec)
    chosen = {**parts.options, **(options or {})}
    if COORDINATES not in chosen:
        return provider.open(parts.name, chosen)
    from snellen.models.naming.coordinates import declare_space, pop_space

    chosen, space = pop_space(chosen)
    return declare_space(provider.open(parts.name, chosen), space)


def is_provider(name: str) -> bool:
    """Whether a provider of this name is installed."""
    return is_builtin(name) or name in _plugins()


def find_provider(name: str) -> Provider | None:
    """The provider of this name; None if none is installed."""
    return builtin_provider(name) if is_builtin(name) else _plugins().get(name)


def registered_providers() -> Iterator[Provider]:
    """Every installed provider: those of Snellen, then those of other packages."""
    yield from map(builtin_provider, builtin_names())
    yield from _plugins().values()


def registered_models() -> tuple[ModelListing, ...]:
    """Models and patterns of all installed providers, by name; a broken plug-in is listed with its
    error."""
    return tuple(sorted({listing for provider in registered_providers() for listing in provider.models}))


def _plugins() -> Mapping[str, Provider]:
    from snellen.models.naming.plugins import plugin_providers

    return plugin_providers()


def describe_model(spec: str, options: Mapping[str, str] | None = None) -> ModelInfo:
    """Identity and capabilities of a model, without loading its weights. Raises as `open_model`."""
    model = open_model(spec, options)
    return ModelInfo(spec, model.identity, model.capabilities, declared_space(spec, model))


def _provider_of(parts: ModelSpec, spec: str) -> Provider:
    """The provider of a name. Raises UnknownName with the nearest names, and NotHere for a name that is known to
    have none."""
    provider = find_provider(parts.provider)
    if provider is not None:
        return provider
    from snellen.models.naming.catalog import catalog_names, find_other_name

    stem, _ = split_options(spec)
    if (other := find_other_name(stem)) is not None:
        raise NotHere(other.sentence(stem))
    names = [*(listing.name for listing in registered_models()), *catalog_names()]
    hint = "a Hugging Face model is named hf/<hub id or folder>."
    providers = [provider.name for provider in registered_providers()]
    near = difflib.get_close_matches(parts.provider.lower(), providers, 1, 0.75)
    if near and parts.name:
        names.append(f"{near[0]}/{parts.name}")
    if spec == "exact_matching":
        hint = "the rules of a benchmark, VLMEvalKit's exact_matching, grade without --judge."
    if re.match(r"[\w.-]+:\d+(/|#|$)", spec):
        hint = f"a server is named by its whole address: http://{spec}"
    raise UnknownName("model", spec, names, hint)


def _entry_options(entry: CatalogEntry) -> dict[str, str]:
    """Options of a catalogued model, with `max_new_tokens` if its provider has that option."""
    options = dict(entry.options)
    if entry.revision:
        options[REVISION] = entry.revision
    if entry.max_new_tokens and _MAX_NEW_TOKENS in {option.name for option in options_of(entry.provider)}:
        options[_MAX_NEW_TOKENS] = str(entry.max_new_tokens)
    return options


def options_of(name: str) -> tuple[ModelOption, ...]:
    """The options of a provider; none if it is not installed."""
    provider = find_provider(name)
    return () if provider is None else provider.options


def all_options() -> tuple[ModelOption, ...]:
    """The options of every installed provider."""
    return tuple(option for provider in registered_providers() for option in provider.options)
