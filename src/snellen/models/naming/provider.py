"""How a provider says what it offers: a line per model, and options with their meaning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, NamedTuple

from snellen.core.errors import UsageError


class ModelListing(NamedTuple):
    """A line of `snellen list models`. A provider's module lists its own as `KNOWN`; a name with
    `<...>` in it is a pattern."""

    name: str
    title: str


class ModelOption(NamedTuple):
    """An option a provider understands: `name=value` after the model's name."""

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    """Accepted values; empty when any value may be given."""
    kind: Literal["text", "count"] = "text"


def read_options(
    provider: str, options: Mapping[str, str], declared: tuple[ModelOption, ...]
) -> dict[str, str]:
    """The options as given, checked. Raises UsageError naming the known ones."""
    by_name = {option.name: option for option in declared}
    for name, value in options.items():
        option = by_name.get(name)
        if option is None:
            listed = ", ".join(sorted(by_name)) or "none"
            raise UsageError(f"{provider} models have no option {name!r}; known options: {listed}")
        if option.choices and value not in option.choices:
            raise UsageError(
                f"option {name}={value!r} of {provider} models: expected one of "
                + ", ".join(option.choices)
            )
        if option.kind == "count" and not (value.isdecimal() and int(value) > 0):
            raise UsageError(
                f"option {name}={value!r} of {provider} models: expected a whole number above 0"
            )
    return dict(options)
