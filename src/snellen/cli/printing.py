"""What a command found: as tables on the terminal, or in a form for other programs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypeVar

from snellen.core.terminal_text import escape_controls

if TYPE_CHECKING:
    from rich.console import Console

JSON = "json"
"""A form whose texts have control characters in letters already."""
TABLE = "table"

T = TypeVar("T")


def print_line(text: object = "", *, error: bool = False, flush: bool = False) -> None:
    """Print a line, on standard error for an `error`, with control characters in letters: it may
    hold words of a data file, a model or a server."""
    print(escape_controls(str(text)), file=sys.stderr if error else sys.stdout, flush=flush)


def print_result(
    form: str,
    result: T,
    print_tables: Callable[[T, Console], None],
    exports: Mapping[str, Callable[[T], str]],
) -> None:
    """Print `result` by `print_tables`, or as the text that `exports` has for another form."""
    if form != TABLE:
        text = exports[form](result)
        sys.stdout.write(text if form == JSON else escape_controls(text))
        return
    from snellen.report.console import Terminal

    print_tables(result, Terminal())
