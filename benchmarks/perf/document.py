"""Results as a table for the terminal and as `docs/performance.md`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from benchmarks.perf.comparison import BAR, WIDE, Comparison, Rates
from benchmarks.perf.figures import MET, MISSED, Figure, Part
from benchmarks.perf.machine import Machine
from benchmarks.perf.origin import Origin, changed_rooms
from msgspec import Struct

NOTE = "<!-- Written by `python -m benchmarks.perf --page` from benchmarks/perf/results.json. -->"

NOT_SINCE = "Not measured since"
"""How the line begins that says which measured files have changed since."""


class Results(Struct, frozen=True):
    """What `results.json` holds."""

    command: str
    machine: Machine
    parts: tuple[Part, ...]


def table(part: Part) -> str:
    """A part for the terminal."""
    rows = [("", "median", "least", "most", "of", "ratio", "bar", "")]
    rows += [
        (
            one.name,
            f"{number(one.value)} {one.unit}",
            number(one.low),
            number(one.high),
            str(one.repeats),
            "" if one.ratio is None else f"{one.ratio:.2f}",
            _bar(one),
            one.verdict,
        )
        for one in part.figures
    ]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    lines = [part.title]
    for first, *rest in rows:
        cells = (cell.rjust(width) for cell, width in zip(rest, widths[1:], strict=True))
        lines.append(f"  {first:<{widths[0]}}  {'  '.join(cells)}".rstrip())
    if part.limits:
        lines.append(f"  time goes to: {_limits(part)}")
    return "\n".join(lines)


def page(results: Results, peers: Comparison | None = None, *others: Results | None) -> str:
    """`docs/performance.md`; `others` were taken on another machine, or at another time."""
    elsewhere = [line for other in others if other is not None for line in _elsewhere(other)]
    beside = () if peers is None else beside_peers(peers)
    return "\n".join((*_page(results), *elsewhere, *beside)) + "\n"


def _elsewhere(results: Results) -> Iterator[str]:
    """Parts of another machine or time, which are named."""
    machine = results.machine
    for part in results.parts:
        yield from section(part)
        yield ""
        yield (
            f"Measured on {machine.day} with `{results.command}` on {machine.cores} cores of "
            f"{machine.processor}, {machine.memory_gb:.0f} GB, {machine.system}; load average "
            f"before {machine.load:.2f}."
        )


def _page(results: Results) -> Iterator[str]:
    machine = results.machine
    yield "# Performance"
    yield ""
    yield NOTE
    yield ""
    yield (
        f"Measured with `make perf` or parts of it on {machine.cores} cores, "
        f"{machine.memory_gb:.0f} GB, {machine.system}, Python {machine.python}, SQLite "
        f"{machine.sqlite}. Each part says when, on which processor and of which commit, and "
        "whether what it measures has changed since; of one that was taken on a busy machine or at "
        "a small size, read the ratios. `make perf-compare BASE=COMMIT` compares two commits."
    )
    yield ""
    yield (
        "Every figure is the median over repeats, with the least and the most beside it. A ratio "
        "is taken pair by pair against a reference measured in the same run: the least that could "
        "be done, in a plain loop. Absolute figures differ from machine to machine, ratios less "
        "so. A bar is what the project promises."
    )
    for part in results.parts:
        yield from section(part)


def section(part: Part) -> Iterator[str]:
    """A part as a section of the page."""
    yield ""
    yield f"## {part.title}"
    yield ""
    yield part.method
    yield ""
    yield "| | median | least–most | repeats | ratio | bar |"
    yield "|---|---:|---:|---:|---:|---:|"
    yield from map(_row, part.figures)
    if part.limits:
        yield ""
        yield f"What limits it, from a profile: {_limits(part)}."
    if part.origin is not None:
        yield ""
        yield from _age(part.name, part.origin)


def _age(name: str, origin: Origin) -> Iterator[str]:
    yield (
        f"Measured on {origin.day} at commit {origin.commit}, size {origin.size}, at a load "
        f"average of {origin.load:.1f}{', on ' * bool(origin.processor)}{origin.processor}."
    )
    changed = changed_rooms(name, origin)
    if changed:
        yield f"{NOT_SINCE} {origin.commit}: {', '.join(changed)} changed."


def _row(one: Figure) -> str:
    ratio = "" if one.ratio is None else f"{one.ratio:.2f} × {one.reference}"
    bar = f"{_bar(one)}: {one.verdict}" if one.verdict else ""
    spread = f"{number(one.low)}–{number(one.high)}"
    median = f"{number(one.value)} {one.unit}"
    return f"| {one.name} | {median} | {spread} | {one.repeats} | {ratio} | {bar} |"


def _bar(one: Figure) -> str:
    if one.ratio_bar is not None:
        return f"{number(one.ratio_bar)} ×"
    return "" if one.bar is None else f"{number(one.bar)} {one.unit}"


def _limits(part: Part) -> str:
    return ", ".join(f"`{share.what}` {share.percent:.0f} %" for share in part.limits)


def beside_peers(found: Comparison) -> Iterator[str]:
    """The section about other tools."""
    machine = found.machine
    yield ""
    yield "## Beside other tools"
    yield ""
    yield (
        f"{found.requests:,} of the same requests, with a JPEG of about 40 kB each, sent to the "
        "same server by other tools from their package index, each in an environment of its own: "
        "as it comes, and told to use as many connections as Snellen's widest run. Importing and "
        f"starting are not counted. Medians of {found.repeats}; measured on {machine.day} with "
        f"`make perf-peers` on {machine.cores} cores of {machine.processor}, Python "
        f"{machine.python}, load average before {machine.load:.2f}. The bar is that Snellen at "
        f"{WIDE} connections is {BAR:.0f} times as fast as each of them as it comes."
    )
    yield ""
    yield "| | requests per second | CPU per request | Snellen's rate over it |"
    yield "|---|---:|---:|---:|"
    for width, ours in found.snellen.items():
        yield _rates(f"Snellen, {width} connections", ours, "")
    for one in found.peers:
        if one.default is None or one.wide is None or one.ratio is None:
            yield f"| {one.name} | not measured: {one.missing} | | |"
            continue
        verdict = MET if one.ratio >= BAR else MISSED
        name = f"{one.name} {one.version}"
        yield _rates(f"{name}, as it comes", one.default, f"{number(one.ratio)}: {verdict}")
        wide = found.snellen[WIDE].rate / one.wide.rate
        yield _rates(f"{name}, {WIDE} connections", one.wide, number(wide))


def _rates(name: str, rates: Rates, ratio: str) -> str:
    return f"| {name} | {number(rates.rate)} | {number(rates.cpu)} ms | {ratio} |"


def number(value: float) -> str:
    """Three digits, or all before the point."""
    size = abs(value)
    digits = 0 if size >= 100 else 1 if size >= 10 else 2 if size >= 1 else 3
    return f"{value:,.{digits}f}"


def missed(parts: Iterable[Part]) -> list[str]:
    """The bars that are not met, one sentence each."""
    return [
        f"missed: {part.name}: {one.name} is {number(one.value)} {one.unit}"
        + ("" if one.ratio is None else f", {number(one.ratio)} × {one.reference}")
        + f"; the bar is {_bar(one)}"
        for part in parts
        for one in part.figures
        if one.verdict == MISSED
    ]
