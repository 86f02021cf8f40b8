"""Plug-ins: entry points of other installed packages.

What comes with Snellen is not an entry point: each room has a table of its own, so that a source
checkout works without metadata.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

from snellen.core.errors import UsageError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


@functools.cache
def plugin_entry_points(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name. Those of Snellen itself, in stale metadata of an older
    version, are left out."""
    from importlib.metadata import entry_points

    return {
        entry.name: entry for entry in entry_points(group=group) if entry.dist is None or entry.dist.name != "snellen"
    }


def load_entry_point(entry: EntryPoint) -> Any:
    """The object behind an entry point. Raises UsageError if the plug-in cannot be imported."""
    try:
        return entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        package = entry.dist.name if entry.dist else "another package"
        raise UsageError(
            f"the plug-in {entry.name!r} ({entry.value}, from {package}) cannot be loaded: "
            f"{error}; update or uninstall that package"
        ) from error
