"""Names of ours that mean something else in another tool, and names of other tools for tables that no benchmark
here reads by itself (`other_names.toml`).
"""

from __future__ import annotations

import fnmatch
import functools
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import msgspec


@dataclass(frozen=True, slots=True)
class OtherToolName:
    """What another tool means by one of our names.

    `difference` completes the sentence "lmms-eval's SEEDBench ...". With `options` the benchmark
    does the same here; there are none if it cannot.
    """

    tool: str
    difference: str
    options: Mapping[str, str] = field(default_factory=dict)
    protocol: bool = False
    """Whether the same questions are asked in another way: then the number says so as well."""

    def sentence(self, name: str) -> str:
        options = ",".join(f"{key}={value}" for key, value in self.options.items())
        same = f"; the same here: {name}:{options}" if options else ""
        return f"{self.tool}'s {name} {self.difference}{same}"

    def differs(self, options: Mapping[str, str]) -> bool:
        """Whether a variant with these options is something else than the other tool's
        benchmark."""
        return not (self.options and self.options.items() <= options.items())


def advice_on_name(name: str) -> str:
    """What a name means elsewhere and how it could be run, in one sentence; "" for a name of no such table."""
    lower = name.lower()
    found = (text for pattern, text in _advice().items() if fnmatch.fnmatchcase(lower, pattern.lower()))
    return next((f"{name} is {text}" for text in found), "")


@functools.cache
def _advice() -> dict[str, str]:
    """Ends of sentences that begin with the name and "is", by pattern."""
    return msgspec.toml.decode(Path(__file__).with_name("other_names.toml").read_bytes(), type=dict[str, str])
