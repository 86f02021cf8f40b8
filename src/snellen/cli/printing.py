"""What a command found: as tables on the terminal, or in a form for other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from rich.console import Console

TABLE = "table"

T = TypeVar("T")


def print_in(
    form: str,
    found: T,
    tables: Callable[[T, Console], None],
    exports: Mapping[str, Callable[[T], str]],
) -> None:
    """Print `found` by `tables`, or as the text that `exports` has for another form."""
    if form != TABLE:
        sys.stdout.write(exports[form](found))
        return
    from rich.console import Console

    tables(found, Console())
