"""What each option of a benchmark means and which values it takes, for readers."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import msgspec

from snellen.data.toml_files import read_packaged

_FILE = "data/option_meanings.toml"


class OptionMeaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the list; `values` describes the values of an option that takes any number or
    name."""

    meaning: str
    values: str = ""


class OptionDoc(NamedTuple):
    """One option; `values` leaves out the default if the option takes any number or name."""

    name: str
    default: str
    values: str
    meaning: str


@functools.cache
def option_meanings() -> Mapping[str, OptionMeaning]:
    """Every option of a registered benchmark, by its name."""
    return msgspec.convert(read_packaged("snellen.benchmarks", _FILE), dict[str, OptionMeaning])


def option_docs(options: Mapping[str, Sequence[str]]) -> list[OptionDoc]:
    """A benchmark's options in their order. Options of plug-ins, which the list does not have,
    come without a meaning."""
    unknown = OptionMeaning("")
    docs = []
    for name, values in options.items():
        entry = option_meanings().get(name, unknown)
        allowed = entry.values or ", ".join(f"`{value}`" for value in values)
        docs.append(OptionDoc(name, values[0], allowed, entry.meaning))
    return docs
