"""Names of other tools for tables that no benchmark here reads by itself (`other_names.toml`)."""

from __future__ import annotations

import fnmatch
import functools
from pathlib import Path

import msgspec


def advice_on_name(name: str) -> str:
    """What a name means elsewhere and how it could be run, in one sentence; "" for a name of no such table."""
    lower = name.lower()
    found = (text for pattern, text in _advice().items() if fnmatch.fnmatchcase(lower, pattern.lower()))
    return next((f"{name} is {text}" for text in found), "")


@functools.cache
def _advice() -> dict[str, str]:
    """Ends of sentences that begin with the name and "is", by pattern."""
    return msgspec.toml.decode(Path(__file__).with_suffix(".toml").read_bytes(), type=dict[str, str])
