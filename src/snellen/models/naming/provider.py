"""What a provider is: the name before the slash, and how its models are opened."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

from snellen.core.errors import UsageError
from snellen.core.model import Model


class ModelListing(NamedTuple):
    """A line of `snellen list models`; a name with `<...>` in it is a pattern."""

    name: str
    title: str


class ModelOption(NamedTuple):
    """An option a provider understands: `name=value` after the model's name."""

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    """Accepted values; empty if any value may be given."""
    kind: Literal["text", "count"] = "text"


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """What `name/...` opens.

    Making the value must be cheap: clients and libraries are imported inside `open`.
    """

    name: str
    open: Callable[[str, Mapping[str, str]], Model]
    """Opens a model by the name after the slash and the options as typed, weights not yet loaded.
    Raises UsageError."""
    options: tuple[ModelOption, ...] = ()
    """Options that `open` understands, for help and for error messages."""
    models: tuple[ModelListing, ...] = ()
    """Lines of `snellen list models`."""


def read_options(provider: str, options: Mapping[str, str], declared: tuple[ModelOption, ...]) -> dict[str, str]:
    """The options as typed, checked. Raises UsageError that names the declared options."""
    by_name = {option.name: option for option in declared}
    for name, value in options.items():
        option = by_name.get(name)
        if option is None:
            names = ", ".join(sorted(by_name)) or "none"
            raise UsageError(f"{provider} models have no option {name!r}; known options: {names}")
        if option.choices and value not in option.choices:
            raise UsageError(
                f"option {name}={value!r} of {provider} models: expected one of " + ", ".join(option.choices)
            )
        if option.kind == "count" and not (value.isdecimal() and int(value) > 0):
            raise UsageError(f"option {name}={value!r} of {provider} models: expected a whole number above 0")
    return dict(options)
