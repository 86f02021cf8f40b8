"""Lines of text between the tables of a terminal."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console


def print_text(console: Console, line: str) -> None:
    """Print a line as it is: nothing in it is markup, and the terminal alone wraps it."""
    console.print(line, highlight=False, markup=False, soft_wrap=True)
