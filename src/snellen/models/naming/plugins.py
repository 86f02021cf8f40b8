"""Providers of installed packages: entry points of the group `snellen.models`.

An entry point names a `Provider`, a tuple of them, a function `open(name, options)`, or a model's
class. A class with `answer` or `answer_batch` is a model as in a file given to `--load`, and takes
the options after its name as such a class does.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import sys
from collections.abc import Iterator, Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import NoReturn

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Model
from snellen.models.naming.builtin import is_builtin
from snellen.models.naming.class_options import instantiate, option_parameters
from snellen.models.naming.provider import ModelListing, ModelOption, Provider
from snellen.models.naming.user_model import answers_requests, user_model

GROUP = "snellen.models"


@functools.cache
def plugin_providers() -> Mapping[str, Provider]:
    """Providers of installed packages by name, which imports these packages.

    A plug-in that cannot be loaded is a provider whose line in the list of models says so, and
    whose `open` raises the UsageError.
    """
    providers: dict[str, Provider] = {}
    for name, entry in plugin_entry_points(GROUP).items():
        if is_builtin(name):
            continue
        try:
            providers |= {provider.name: provider for provider in _load_providers(entry)}
        except UsageError as error:
            providers[name] = _broken_provider(name, error)
    return providers


def _load_providers(entry: EntryPoint) -> Iterator[Provider]:
    """The providers of one entry point. Raises UsageError if it is broken or is none of these."""
    value = load_entry_point(entry)
    if isinstance(value, Provider):
        yield value
    elif isinstance(value, tuple) and all(isinstance(item, Provider) for item in value):
        yield from value
    elif inspect.isclass(value) and answers_requests(value):
        yield _class_provider(entry.name, value)
    elif callable(value):
        listing = ModelListing(f"{entry.name}/<model>", _first_line(value))
        yield Provider(name=entry.name, open=value, models=(listing,))
    else:
        raise UsageError(
            f"the plug-in {entry.name!r} ({entry.value}) is of type {type(value).__name__}; "
            "expected a Provider, a tuple of them, a model's class, or a function of a name and "
            "options"
        )


def _class_provider(name: str, model_class: type) -> Provider:
    """A provider of one model, which goes by the provider's name alone."""

    def open_model(model_name: str, options: Mapping[str, str]) -> Model:
        if model_name:
            raise UnknownName("model", f"{name}/{model_name}", [name])
        facts = {"revision": f"sha256:{_file_digest(model_class)}"}
        return user_model(instantiate(model_class, name, options), name, facts, options)

    return Provider(
        name=name,
        open=open_model,
        options=tuple(ModelOption(parameter.name, "") for parameter in option_parameters(model_class)),
        models=(ModelListing(name, _first_line(model_class)),),
    )


def _broken_provider(name: str, error: UsageError) -> Provider:
    def refuse(model_name: str, options: Mapping[str, str]) -> NoReturn:
        raise UsageError(str(error))

    return Provider(name=name, open=refuse, models=(ModelListing(name, str(error)),))


def _first_line(value: object) -> str:
    return (inspect.getdoc(value) or "A model from a plug-in.").splitlines()[0]


def _file_digest(model_class: type) -> str:
    """SHA-256 (hex) of the file that holds the class."""
    file = sys.modules[model_class.__module__].__file__
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()
