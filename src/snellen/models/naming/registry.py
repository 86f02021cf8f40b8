"""Models by name: `provider/model`, a bare provider, a URL, a local model folder, or a name of
the catalog.

Options may follow the name, `hf/org/model:dtype=bfloat16,device=cuda:1`; a colon starts options
only when a `key=` stands behind it, since paths, URLs and devices hold colons too.
"""

from __future__ import annotations

import difflib
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, Provider
from snellen.models.naming.plugins import known_of, provider_of
from snellen.models.naming.provider import ModelListing, ModelOption
from snellen.models.url_passwords import refuse_password

if TYPE_CHECKING:
    from snellen.models.naming.catalog import CatalogEntry

GROUP = "snellen.models"
_MAX_NEW_TOKENS = "max_new_tokens"

_OPTIONS_START = re.compile(r":(?=[a-z_]+(?:\.[\w.]*)?=)")
_URL_SCHEMES = ("http:", "https:")
_PATH_STARTS = ("./", "../", "/", "~", ".\\", "..\\")


class ModelSpec(NamedTuple):
    """A model's name, taken apart. `name` is empty for a bare provider."""

    provider: str
    name: str
    options: dict[str, str]


class ModelInfo(NamedTuple):
    """What is known of a model before its weights are loaded."""

    spec: str
    identity: Identity
    capabilities: Capabilities


def split_options(spec: str) -> tuple[str, dict[str, str]]:
    """A name and the options behind it. Raises UsageError for a malformed option."""
    stem, *rest = _OPTIONS_START.split(spec.strip(), maxsplit=1)
    return stem, _parse_options(spec, rest[0]) if rest else {}


def split_spec(spec: str) -> ModelSpec:
    """Take `provider/model:key=value,...` apart; an existing model folder is `hf/<folder>`, and a
    name of the catalog its provider and id with the options it needs.

    Raises UsageError for an empty name, a malformed option and an address that holds a password.
    """
    refuse_password(spec)
    stem, options = split_options(spec)
    if not stem:
        raise UsageError("a model's name is empty; expected provider/model, e.g. snellen/tiny")
    provider, slash, name = stem.partition("/")
    if slash and provider in _URL_SCHEMES:
        return ModelSpec(provider.removesuffix(":"), stem, options)
    if stem.startswith(_PATH_STARTS) or (
        provider not in plugin_entry_points(GROUP) and _is_model_folder(stem)
    ):
        return ModelSpec("hf", stem, options)
    if provider not in plugin_entry_points(GROUP):
        from snellen.models.naming.catalog import find_entry

        entry = find_entry(stem)
        if entry is not None:
            return ModelSpec(entry.provider, entry.id, {**_entry_options(entry), **options})
    return ModelSpec(provider, name, options)


def full_name(spec: str, model: Model) -> str:
    """`provider/name` of a model that was opened by some name, options left out; the name itself
    where another model goes by it."""
    try:
        parts = split_spec(spec)
    except UsageError:
        return spec
    is_named = parts.name and parts.provider == model.identity.provider
    return f"{parts.provider}/{parts.name}" if is_named else spec


def open_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """The model of that name, weights not yet loaded. `options` win over those in the name.

    Raises UnknownName (no such provider or model), UsageError (option, folder) and MissingExtra.
    """
    parts = split_spec(spec)
    return _provider(parts, spec)(parts.name, {**parts.options, **(options or {})})


def registered_models() -> tuple[ModelListing, ...]:
    """Every model and pattern the installed providers list, by name; a plug-in that is broken
    says so in its line."""
    listings: list[ModelListing] = []
    for name, entry in plugin_entry_points(GROUP).items():
        try:
            listings.extend(known_of(entry))
        except UsageError as error:
            listings.append(ModelListing(name, str(error)))
    return tuple(sorted(set(listings)))


def describe_model(spec: str, options: Mapping[str, str] | None = None) -> ModelInfo:
    """Identity and capabilities of a model, without loading its weights. Raises as `open_model`."""
    model = open_model(spec, options)
    return ModelInfo(spec, model.identity, model.capabilities)


def _provider(parts: ModelSpec, spec: str) -> Provider:
    providers = plugin_entry_points(GROUP)
    if parts.provider not in providers:
        from snellen.models.naming.catalog import catalog_names

        names = [*(known.name for known in registered_models()), *catalog_names()]
        hint = "a Hugging Face model is named hf/<hub id or folder>."
        near = difflib.get_close_matches(parts.provider.lower(), providers, 1, 0.75)
        if near and parts.name:
            names.append(f"{near[0]}/{parts.name}")
        if re.match(r"[\w.-]+:\d+(/|#|$)", spec):
            hint = f"a server is named by its whole address: http://{spec}"
        raise UnknownName("model", spec, names, hint)
    return provider_of(providers[parts.provider])


def _entry_options(entry: CatalogEntry) -> dict[str, str]:
    """The options a catalogued model is opened with; the longest reply where its provider has
    such an option."""
    options = dict(entry.options)
    if entry.revision:
        options["revision"] = entry.revision
    if entry.max_new_tokens and _MAX_NEW_TOKENS in {one.name for one in options_of(entry.provider)}:
        options[_MAX_NEW_TOKENS] = str(entry.max_new_tokens)
    return options


def options_of(provider: str) -> tuple[ModelOption, ...]:
    """The options a provider lists; none where it is not installed. `_OPTIONS_START` stands before
    `OPTIONS`: a module that takes only some of another's imports those."""
    if provider not in plugin_entry_points(GROUP):
        return ()
    entry = plugin_entry_points(GROUP)[provider]
    load_entry_point(entry)
    names = vars(sys.modules[entry.module])
    options: tuple[ModelOption, ...] = names.get("_OPTIONS") or names.get("OPTIONS", ())
    return options


def all_options() -> tuple[ModelOption, ...]:
    """The options of every installed provider; one that is broken has none."""
    collected: list[ModelOption] = []
    for provider in plugin_entry_points(GROUP):
        try:
            collected.extend(options_of(provider))
        except UsageError:
            continue
    return tuple(collected)


def _is_model_folder(path: str) -> bool:
    return (Path(path).expanduser() / "config.json").is_file()


def _parse_options(spec: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"model {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    return options
