"""The console that prints tables and lines."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from snellen.core.terminal_text import escape_controls


class Terminal(Console):
    """Rich's console, with control characters of texts made visible and harmless: names, categories
    and messages come from data files, models and servers."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield (segment if segment.control else segment._replace(text=escape_controls(segment.text)))
