"""`snellen curate diff`: what changed between two versions of a data set."""

from __future__ import annotations

from argparse import Namespace
from typing import TYPE_CHECKING

from snellen.cli.printing import print_line
from snellen.core.errors import UsageError
from snellen_curate.commands import Finished
from snellen_curate.commands._table import Status

if TYPE_CHECKING:
    from snellen_curate.items_diff import DataDiff, ItemChange

_WIDTH = 60
"""Characters of a text that a line shows."""


def main(arguments: Namespace) -> Finished:
    """Compare two versions."""
    from snellen_curate.items_diff import compare_tables
    from snellen_curate.open_data import open_items

    top = 10 if arguments.top is None else arguments.top
    if top < 1:
        raise UsageError(f"--top {top}: expected at least 1")
    old, new = (open_items(name, arguments.columns) for name in (arguments.old, arguments.new))
    diff = compare_tables(old, new, arguments.old, arguments.new)
    status: Status = "clean" if diff.is_empty else "flagged"
    return Finished(status, {"diff": diff}, lambda: _print_diff(diff, top))


def _print_diff(diff: DataDiff, most: int) -> None:
    """Print counts, the table of abilities, and the first items of each list."""
    print_line(f"{diff.old} -> {diff.new}")
    if diff.is_empty:
        print_line(f"no item differs ({diff.same} are the same)")
        return
    counts = {
        "the same": diff.same,
        "changed": len(diff.changed),
        "added": len(diff.added),
        "removed": len(diff.removed),
        "with another id": len(diff.renamed),
    }
    print_line(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    if diff.by_field:
        fields = [f"{name} {count}" for name, count in diff.by_field.items()]
        print_line(f"changed fields: {', '.join(fields)}")
    _print_abilities(diff)
    for change in diff.changed[:most]:
        _print_change(change)
    _print_more(len(diff.changed), most, "changed")
    for title, ids in (("added", diff.added), ("removed", diff.removed)):
        if ids:
            print_line(f"{title}: {', '.join(ids[:most])}")
            _print_more(len(ids), most, title)
    for old, new in [*diff.renamed.items()][:most]:
        print_line(f"{old} is {new} now")
    _print_more(len(diff.renamed), most, "with another id")


def _print_abilities(diff: DataDiff) -> None:
    names = ("before", "after", "added", "removed", "changed")
    width = max(len(name or "no ability stated") for name in diff.by_ability)
    print_line(f"{'ability':{width}}  {'  '.join(names)}")
    for name, each in diff.by_ability.items():
        numbers = (each.before, each.after, each.added, each.removed, each.changed)
        cells = (f"{n:{len(head)}}" for head, n in zip(names, numbers, strict=True))
        print_line(f"{name or 'no ability stated':{width}}  {'  '.join(cells)}")


def _print_change(change: ItemChange) -> None:
    print_line(change.id)
    for name, (before, after) in change.fields.items():
        print_line(f"  {name}: {_short(before)} -> {_short(after)}")


def _print_more(count: int, most: int, title: str) -> None:
    if count > most:
        print_line(f"... and {count - most} more {title} (--top, or --json for all)")


def _short(text: str) -> str:
    text = " ".join(text.split())
    return (text[: _WIDTH - 3] + "..." if len(text) > _WIDTH else text) or "(empty)"
