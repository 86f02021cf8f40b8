"""Commands of other packages, found by the entry-point group `snellen.commands`.

An entry point NAME is a module as `cli.command_modules` has it, or one with `add(parser)` and
`main(arguments)`.
"""

from __future__ import annotations

from typing import Any

from snellen.core.entry_points import load_entry_point, plugin_entry_points
from snellen.core.errors import UsageError

GROUP = "snellen.commands"
PACKAGES = {"curate": "snellen-curate", "hub": "snellen-hub"}
"""Packages of this repository that bring a command, and are installed beside `snellen`."""


def package_commands() -> dict[str, str]:
    """The commands that installed packages bring, with the names of the packages."""
    entries = sorted(plugin_entry_points(GROUP).items())
    return {name: entry.dist.name if entry.dist else entry.module for name, entry in entries}


def import_package_command(name: str) -> Any:
    """The module of a command. Raises UsageError if its package is missing or broken."""
    entry = plugin_entry_points(GROUP).get(name)
    if entry is not None:
        return load_entry_point(entry)
    raise UsageError(
        f"snellen {name} needs the package {PACKAGES[name]}, which is not installed; in a clone of "
        f"the repository: pip install ./packages/{name} (docs/installing.md has other ways)"
    )
