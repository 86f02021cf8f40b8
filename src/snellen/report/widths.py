"""How much room a table of the terminal would like."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

_UNBOUNDED = 100_000
"""Characters; wider than any table."""


def own_width(table: Table, console: Console) -> int:
    """Characters of its longest line when no cell is folded."""
    return console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum
