"""The output of `snellen parity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.core.terminal_text import shorten
from snellen.engine.offline.parity import Parity, ParityCheck, ParityDifference
from snellen.report import format as fmt
from snellen.report.terminal.lines import print_text

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LENGTH = 400
"""The number of printed characters of a difference."""


def print_parity(parity: Parity, console: Console) -> None:
    """Print a row for each aspect, the first differences, and the verdict."""
    from rich import box
    from rich.table import Table

    print_text(
        console,
        f"{parity.first} and {parity.second} on {parity.benchmark}, "
        f"{fmt.plural(parity.questions, 'question')}",
    )
    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False)
    table.add_column("aspect")
    table.add_column("equal", justify="right")
    table.add_column("compared", justify="right")
    table.add_column("", overflow="fold")
    for check in parity.checks:
        table.add_row(check.aspect, str(check.equal), str(check.compared), _remark(check))
    console.print(table)
    for check in parity.checks:
        _print_differences(check, parity, console)
    for name, count in parity.failed.items():
        if count:
            print_text(console, f"{name}: {fmt.plural(count, 'request')} failed")
    if parity.failure:
        print_text(console, f"the first failure: {parity.failure}")
    print_text(console, verdict(parity))


def verdict(parity: Parity) -> str:
    """The verdict in one sentence."""
    if parity.equal:
        silent = [check.aspect for check in parity.checks if not check.compared]
        not_compared = f"; not compared: {', '.join(silent)}" if silent else ""
        return f"equal in every aspect that both report{not_compared}"
    different = [check.aspect for check in parity.checks if not check.same]
    if different:
        return f"different: {', '.join(different)}"
    return "undecided: replies are missing"


def _remark(check: ParityCheck) -> str:
    parts = []
    if check.silent:
        parts.append(f"not reported by {' and '.join(check.silent)}")
    if check.largest is not None:
        parts.append(f"largest difference {check.largest:.2g} nats")
    return "; ".join(parts)


def _print_differences(check: ParityCheck, parity: Parity, console: Console) -> None:
    if not check.differences:
        return
    more = check.compared - check.equal - len(check.differences)
    count = check.compared - check.equal
    print_text(console, f"{check.aspect}: {fmt.plural(count, 'difference')}")
    for difference in check.differences:
        print_text(console, f"  {difference.sample}: {_difference_lines(difference, parity)}")
    if more:
        print_text(console, f"  and {more} more")


def _difference_lines(difference: ParityDifference, parity: Parity) -> str:
    if difference.words:
        return shorten(difference.words, _MAX_LENGTH)
    first, second = shorten(difference.first, _MAX_LENGTH), shorten(difference.second, _MAX_LENGTH)
    return f"{first} ({parity.first}), {second} ({parity.second})"
