"""What stands behind an entry point of `snellen.models`: a provider, or a model's class.

A class with `answer` or `answer_batch` is a model as in a file given to `--load`; the options
after its name are given to it by name, as text.
"""

from __future__ import annotations

import hashlib
import inspect
import sys
from collections.abc import Mapping
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any, cast

from snellen.core.entry_points import load_entry_point
from snellen.core.errors import UnknownName, UsageError
from snellen.core.model import Model, Provider
from snellen.models.naming.custom import answers_requests, wrap
from snellen.models.naming.provider import ModelListing


def provider_of(entry: EntryPoint) -> Provider:
    """Raises UsageError when the plug-in cannot be imported."""
    found = load_entry_point(entry)
    if not (inspect.isclass(found) and answers_requests(found)):
        return cast(Provider, found)

    def provider(name: str, options: Mapping[str, str]) -> Model:
        if name:
            raise UnknownName("model", f"{entry.name}/{name}", [entry.name])
        return wrap(_instantiate(found, entry.name, options), entry.name, _digest(found))

    return provider


def known_of(entry: EntryPoint) -> tuple[ModelListing, ...]:
    """The lines of a provider's module, or one of a class: the first of its docstring.

    Raises UsageError when the plug-in cannot be imported."""
    found = load_entry_point(entry)
    if inspect.isclass(found) and answers_requests(found):
        lines = (inspect.getdoc(found) or "A model from a plug-in.").splitlines()
        return (ModelListing(entry.name, lines[0]),)
    return tuple(getattr(sys.modules[entry.module], "KNOWN", ()))


def _instantiate(kind: type, name: str, options: Mapping[str, str]) -> Any:
    try:
        inspect.signature(kind).bind(**options)
    except TypeError as error:
        takes = ", ".join(inspect.signature(kind).parameters) or "none"
        raise UsageError(
            f"model {name!r} cannot be made with the options {', '.join(options) or '(none)'} "
            f"({error}); known options: {takes}"
        ) from None
    return kind(**options)


def _digest(kind: type) -> str:
    """SHA-256 (hex) of the file that holds the class."""
    file = sys.modules[kind.__module__].__file__
    return hashlib.sha256(Path(file).read_bytes() if file else b"").hexdigest()
