"""What `snellen parity` shows: two backends of one model, or the coordinate space of one."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import structs

from snellen.core.terminal_text import shorten
from snellen.engine.offline.parity import Parity, ParityCheck, ParityDifference
from snellen.engine.offline.space_fit import SpaceMeasurement
from snellen.models.naming.spec import split_options
from snellen.report import format as fmt
from snellen.report.document import Column, Document, Line, Table

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


def space_document(measurement: SpaceMeasurement) -> Document:
    """A row for each of the likeliest spaces, and the verdict."""
    asked = fmt.plural(measurement.questions, "question")
    heading = f"places as {measurement.model} writes them: numbers in {measurement.with_numbers} replies to {asked}"
    columns = (
        Column("coordinates"),
        Column("posterior", "number"),
        Column("replies near", "count"),
        Column("median error", "number"),
    )
    rows = [(fit.space, f"{fit.certainty:.4f}", fit.near, f"{fit.error:.2f} %") for fit in measurement.fits]
    lines = [Line(text, is_unbroken=True) for text in _space_sentences(measurement)]
    data = {**structs.asdict(measurement), "space": measurement.space}
    return Document([Line(heading, "heading"), Table("", columns, rows), *lines], data)


def _space_sentences(measurement: SpaceMeasurement) -> Iterator[str]:
    if measurement.failed:
        yield f"{fmt.plural(measurement.failed, 'request')} failed; the first failure: {measurement.failure}"
    for picture in measurement.resized:
        (width, height), (seen_width, seen_height) = picture.size, picture.seen
        yield f"  of {width} x {height} as if of {seen_width:g} x {seen_height:g} pixels"
    if measurement.declared:
        differs = measurement.space and not measurement.declared.startswith(f"{measurement.space} (")
        yield f"declared: {measurement.declared}{', which its replies contradict' if differs else ''}"
    yield space_verdict(measurement)


def space_verdict(measurement: SpaceMeasurement) -> str:
    """The verdict in one sentence, with what to type."""
    if measurement.verdict == "certain":
        stem, options = split_options(measurement.model)
        declared = {**options, "coordinates": measurement.space}
        spec = f"{stem}:{','.join(f'{name}={value}' for name, value in declared.items())}"
        return f"it writes in {measurement.space}; declare it: -m {spec}"
    if measurement.verdict == "several spaces":
        return "it writes in several spaces: replies that are not in the first are in another one"
    if measurement.verdict == "no space fits":
        return "no space fits: its numbers are pixels of pictures of other sizes, which it does not report"
    if not measurement.with_numbers:
        return "cannot tell: no reply names a place"
    return "cannot tell: its replies do not follow the square closely enough in any space"
