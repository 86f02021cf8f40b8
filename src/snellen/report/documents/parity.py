"""What `snellen parity` shows."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from snellen.core.terminal_text import shorten
from snellen.engine.offline.parity import Parity, ParityCheck, ParityDifference
from snellen.report import format as fmt
from snellen.report.document import Document, Line
from snellen.report.table import Column, Table

_MAX_LENGTH = 400
"""The number of printed characters of a difference."""


def parity_document(parity: Parity) -> Document:
    """A row for each aspect, the first differences, and the verdict."""
    heading = f"{parity.first} and {parity.second} on {parity.benchmark}, {fmt.plural(parity.questions, 'question')}"
    columns = (Column("aspect"), Column("equal", "count"), Column("compared", "count"), Column("remarks"))
    rows = [(check.aspect, check.equal, check.compared, _remark(check)) for check in parity.checks]
    lines = [Line(text, is_unbroken=True) for text in _sentences(parity)]
    data = {**structs.asdict(parity), "equal": parity.equal}
    return Document([Line(heading, "heading"), Table("", columns, rows), *lines], data)


def _sentences(parity: Parity) -> Iterator[str]:
    for check in parity.checks:
        yield from _differences(check, parity)
    for name, count in parity.failed.items():
        if count:
            yield f"{name}: {fmt.plural(count, 'request')} failed"
    if parity.failure:
        yield f"the first failure: {parity.failure}"
    yield verdict(parity)


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


def _differences(check: ParityCheck, parity: Parity) -> Iterator[str]:
    """The first differences of an aspect, and how many more there are."""
    if not check.differences:
        return
    count = check.compared - check.equal
    yield f"{check.aspect}: {fmt.plural(count, 'difference')}"
    for difference in check.differences:
        yield f"  {difference.sample}: {_difference_text(difference, parity)}"
    if more := count - len(check.differences):
        yield f"  and {more} more"


def _difference_text(difference: ParityDifference, parity: Parity) -> str:
    if difference.words:
        return shorten(difference.words, _MAX_LENGTH)
    first, second = shorten(difference.first, _MAX_LENGTH), shorten(difference.second, _MAX_LENGTH)
    return f"{first} ({parity.first}), {second} ({parity.second})"
