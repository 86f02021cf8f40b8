"""`snellen curate diff`: what changed between two versions of a data set."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from snellen.api.flags import argument, option
from snellen.core.errors import UsageError
from snellen_curate.commands._action import ActionOptions, Finished, sentence

if TYPE_CHECKING:
    from snellen.report.document import Block
    from snellen.report.table import Table
    from snellen_curate.items_diff import DataDiff

_WIDTH = 60
"""Characters of a text that a cell shows."""


@dataclass(frozen=True, kw_only=True)
class Options(ActionOptions):
    """What `snellen curate diff` takes."""

    old: str = argument("OLD", "the earlier version: a data set folder, data file, TOML file or benchmark")
    new: str = argument("NEW", "the later version")
    columns: Mapping[str, str] | None = option(None, "--columns")
    top: int = option(10, "--top")


def main(options: Options) -> Finished:
    """Compare two versions."""
    from snellen.report.document import Document
    from snellen_curate.items_diff import compare_tables
    from snellen_curate.open_data import open_items

    if options.top < 1:
        raise UsageError(f"--top {options.top}: expected at least 1")
    old, new = (open_items(name, options.columns) for name in (options.old, options.new))
    diff = compare_tables(old, new, options.old, options.new)
    document = Document(list(_blocks(diff, options.top)), {"diff": diff})
    next = ("curate", "statistics", options.new)
    return Finished("clean" if diff.is_empty else "flagged", document, next)


def _blocks(diff: DataDiff, most: int) -> Iterator[Block]:
    """Counts, the table of abilities, and the first items of each list."""
    from snellen.report.document import EmptyLine

    yield sentence(f"{diff.old} -> {diff.new}", "heading")
    if diff.is_empty:
        yield sentence(f"no item differs ({diff.same} are the same)")
        return
    counts = {
        "the same": diff.same,
        "changed": len(diff.changed),
        "added": len(diff.added),
        "removed": len(diff.removed),
        "with another id": len(diff.renamed),
    }
    yield sentence(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    if diff.by_field:
        fields = [f"{name} {count}" for name, count in diff.by_field.items()]
        yield sentence(f"changed fields: {', '.join(fields)}")
    abilities, *lists = _tables(diff, most)
    yield abilities
    for table in lists:
        if table.rows:
            yield from (EmptyLine(), table)
    for name, count in [*counts.items()][1:]:
        if count > most:
            yield sentence(f"... and {count - most} more {name} (--top, or --json for all)")


def _tables(diff: DataDiff, most: int) -> Iterator[Table]:
    """Numbers by ability, the first changes, and the first of the other items."""
    from snellen.report.table import Column, Table

    abilities = [
        (name or "no ability stated", each.before, each.after, each.added, each.removed, each.changed)
        for name, each in diff.by_ability.items()
    ]
    numbers = (Column(name, "count") for name in ("before", "after", "added", "removed", "changed"))
    yield Table("items by ability", (Column("ability"), *numbers), abilities)
    changes = [
        (change.id, name, _short(before), _short(after))
        for change in diff.changed[:most]
        for name, (before, after) in change.fields.items()
    ]
    yield Table("changed", [Column(name) for name in ("item", "field", "before", "after")], changes)
    ids = [(name, "added") for name in diff.added[:most]]
    ids += [(name, "removed") for name in diff.removed[:most]]
    ids += [(old, f"is {new} now") for old, new in [*diff.renamed.items()][:most]]
    yield Table("other items", [Column("item"), Column("what")], ids)


def _short(text: str) -> str:
    text = " ".join(text.split())
    return (text[: _WIDTH - 3] + "..." if len(text) > _WIDTH else text) or "(empty)"
