"""Extension points: where built-ins and plug-ins of a group are found, one list for both.

The list is the entry points declared in `pyproject.toml`. An installed package carries it in its
metadata; a source checkout, whose metadata may be stale or absent, is read from the file itself.
"""

from __future__ import annotations

import functools
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

from snellen.core.errors import UsageError


@functools.cache
def plugin_entry_points(group: str) -> dict[str, EntryPoint]:
    """Entry points of a group by name; a checkout's own declaration wins over its metadata."""
    found = {entry.name: entry for entry in entry_points(group=group)}
    return found | {
        name: EntryPoint(name, value, group)
        for name, value in _checkout_entry_points(group).items()
    }


def load_entry_point(entry: EntryPoint) -> Any:
    """The object behind an entry point. Raises UsageError when a plug-in cannot be imported."""
    try:
        return entry.load()
    except (ImportError, AttributeError, SyntaxError) as error:
        package = entry.dist.name if entry.dist else "snellen"
        raise UsageError(
            f"the plug-in {entry.name!r} ({entry.value}, from {package}) cannot be loaded: "
            f"{error}; update or uninstall that package"
        ) from error


def _checkout_entry_points(group: str) -> dict[str, str]:
    import tomllib

    checkout = Path(__file__).parents[3] / "pyproject.toml"
    try:
        project = tomllib.loads(checkout.read_text(encoding="utf-8")).get("project", {})
    except (OSError, ValueError):
        return {}
    if project.get("name") != "snellen":
        return {}
    declared: dict[str, str] = project.get("entry-points", {}).get(group, {})
    return declared
