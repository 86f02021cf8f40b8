"""The output of `snellen parity`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from snellen.engine.offline.parity import Parity, ParityCheck, ParityDifference
from snellen.report import format as fmt

if TYPE_CHECKING:
    from rich.console import Console

_MAX_LENGTH = 400
"""The number of printed characters of a difference."""


def print_parity(parity: Parity, console: Console) -> None:
    """Print a row for each aspect, the first differences, and the verdict."""
    from rich import box
    from rich.table import Table

    _print_line(
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
            _print_line(console, f"{name}: {fmt.plural(count, 'request')} failed")
    if parity.failure:
        _print_line(console, f"the first failure: {parity.failure}")
    _print_line(console, verdict(parity))


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
    _print_line(console, f"{check.aspect}: {fmt.plural(count, 'difference')}")
    for difference in check.differences:
        _print_line(console, f"  {difference.sample}: {_difference_lines(difference, parity)}")
    if more:
        _print_line(console, f"  and {more} more")


def _difference_lines(difference: ParityDifference, parity: Parity) -> str:
    if difference.words:
        return _shorten(difference.words)
    first, second = _shorten(difference.first), _shorten(difference.second)
    return f"{first} ({parity.first}), {second} ({parity.second})"


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_LENGTH else line[: _MAX_LENGTH - 1] + "…"


def _print_line(console: Console, line: str) -> None:
    console.print(line, highlight=False, markup=False, soft_wrap=True)
