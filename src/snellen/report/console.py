"""The console that prints tables and lines."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from snellen.core.terminal_text import escape_controls

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table


_UNBOUNDED = 100_000
"""A width in characters that no table reaches."""


def natural_width(table: Table, console: Console) -> int:
    """The characters of the table's longest line if no cell is folded."""
    return console.measure(table, options=console.options.update(width=_UNBOUNDED)).maximum


class Terminal(Console):
    """Rich's console, with control characters of texts made visible and harmless: names, categories
    and messages come from data files, models and servers."""

    def render(
        self, renderable: RenderableType, options: ConsoleOptions | None = None
    ) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield (
                segment if segment.control else segment._replace(text=escape_controls(segment.text))
            )
