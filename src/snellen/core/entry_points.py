"""Extension points: the plug-ins of a group that other installed packages declare."""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from snellen.core.errors import UsageError


@functools.cache
def plugin_entry_points(group: str) -> dict[str, EntryPoint]:
    """The entry points of a group by name, from the metadata of installed packages."""
    return {entry.name: entry for entry in entry_points(group=group)}


def load_entry_point(entry: EntryPoint) -> Any:
    """The object behind an entry point. Raises UsageError if a plug-in cannot be imported."""
    try:
        return entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        package = entry.dist.name if entry.dist else "snellen"
        raise UsageError(
            f"the plug-in {entry.name!r} ({entry.value}, from {package}) cannot be loaded: "
            f"{error}; update or uninstall that package"
        ) from error
