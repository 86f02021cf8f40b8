"""Models by name: `provider/model`, a bare provider, or a local model folder.

Options may follow the name, `hf/org/model:dtype=bfloat16,device=cuda:1`; a colon starts options
only when a `key=` stands behind it, since paths, URLs and devices hold colons too.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple, cast

from snellen.core.doors import doors, load
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Capabilities, Identity, Model, Provider
from snellen.models.known import KnownModel

GROUP = "snellen.models"

_OPTIONS = re.compile(r":(?=[a-z_]+=)")
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


def split_spec(spec: str) -> ModelSpec:
    """Take `provider/model:key=value,...` apart; an existing model folder is `hf/<folder>`.

    Raises UsageError for an empty name or a malformed option.
    """
    stem, *rest = _OPTIONS.split(spec.strip(), maxsplit=1)
    options = _options(spec, rest[0]) if rest else {}
    if not stem:
        raise UsageError("a model's name is empty; expected provider/model, e.g. snellen/tiny")
    provider, _, name = stem.partition("/")
    if stem.startswith(_PATH_STARTS) or (provider not in doors(GROUP) and _is_model(stem)):
        return ModelSpec("hf", stem, options)
    return ModelSpec(provider, name, options)


def open_model(spec: str, options: Mapping[str, str] | None = None) -> Model:
    """The model of that name, weights not yet loaded. `options` win over those in the name.

    Raises UnknownName (no such provider or model), UsageError (option, folder) and MissingExtra.
    """
    parts = split_spec(spec)
    return _provider(parts, spec)(parts.name, {**parts.options, **(options or {})})


def known_models() -> tuple[KnownModel, ...]:
    """Every model and pattern the installed providers list, by name; a plug-in that is broken
    says so in its line."""
    found: list[KnownModel] = []
    for name, entry in doors(GROUP).items():
        try:
            load(entry)
        except UsageError as error:
            found.append(KnownModel(name, str(error)))
            continue
        found.extend(getattr(sys.modules[entry.module], "KNOWN", ()))
    return tuple(sorted(found))


def describe_model(spec: str, options: Mapping[str, str] | None = None) -> ModelInfo:
    """Identity and capabilities of a model, without loading its weights. Raises as `open_model`."""
    model = open_model(spec, options)
    return ModelInfo(spec, model.identity, model.capabilities)


def _provider(parts: ModelSpec, spec: str) -> Provider:
    providers = doors(GROUP)
    if parts.provider not in providers:
        names = [known.name for known in known_models()]
        hint = "a Hugging Face model is named hf/<hub id or folder>."
        raise UnknownName("model", spec, names, hint)
    return cast(Provider, load(providers[parts.provider]))


def _is_model(path: str) -> bool:
    return (Path(path).expanduser() / "config.json").is_file()


def _options(spec: str, text: str) -> dict[str, str]:
    options: dict[str, str] = {}
    for pair in text.split(","):
        key, equals, value = pair.partition("=")
        if not key or not equals or not value:
            raise UsageError(f"model {spec!r}: option {pair!r} is not of the form key=value")
        options[key] = value
    return options
