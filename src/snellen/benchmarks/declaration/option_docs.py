"""What a benchmark's options mean and which values they take, for people."""

from __future__ import annotations

import functools
import tomllib
from collections.abc import Mapping, Sequence
from importlib.resources import files
from typing import NamedTuple

import msgspec

_FILE = "option_meanings.toml"


class OptionMeaning(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """An entry of the list; `values` says what the option takes where that is no closed list."""

    meaning: str
    values: str = ""


class OptionDoc(NamedTuple):
    """One option of a benchmark; `values` leaves out the default where it is no closed list."""

    name: str
    default: str
    values: str
    meaning: str


@functools.cache
def option_meanings() -> Mapping[str, OptionMeaning]:
    """Every option of a registered benchmark, by its name."""
    text = (files("snellen.benchmarks") / "data" / _FILE).read_text(encoding="utf-8")
    return msgspec.convert(tomllib.loads(text), dict[str, OptionMeaning])


def option_docs(options: Mapping[str, Sequence[str]]) -> list[OptionDoc]:
    """A benchmark's options in their order. Those of plug-ins, which the list does not know, have
    no meaning here but their values."""
    unknown = OptionMeaning("")
    docs = []
    for name, values in options.items():
        entry = option_meanings().get(name, unknown)
        allowed = entry.values or ", ".join(f"`{value}`" for value in values)
        docs.append(OptionDoc(name, values[0], allowed, entry.meaning))
    return docs
