"""The console that prints tables and lines."""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable

from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from snellen.core.terminal_text import escape_controls

_WIDTH = 120
"""Width, in characters, of a table that is not printed to a terminal."""


class Terminal(Console):
    """Rich's console, with control characters of texts made visible and harmless: names, categories
    and messages come from data files, models and servers."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        for segment in super().render(renderable, options):
            yield (segment if segment.control else segment._replace(text=escape_controls(segment.text)))


def printed_text(print_to: Callable[[Console], None]) -> str:
    """The output that a function prints, as plain text as wide as the terminal."""
    usual = Terminal()
    width = usual.width if usual.is_terminal else _WIDTH
    out = io.StringIO()
    print_to(Terminal(file=out, width=width, color_system=None, force_jupyter=False))
    return "\n".join(line.rstrip() for line in out.getvalue().rstrip().split("\n"))
