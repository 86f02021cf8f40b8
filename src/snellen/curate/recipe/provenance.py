"""Where each item comes from: `provenance.jsonl`, a line for every item that any step saw.

An item's line has its pictures by digest, its source and licence, where it ended, and what each
step decided about it: by which rule or person, on what which model said. Machines' decisions have
no time here, so that the same steps on the same replies give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from snellen.core.atomic_write import atomic_file
from snellen.core.errors import StorageError
from snellen.curate.decisions import Decision, Evidence, read_decisions
from snellen.curate.items import ITEMS_FILE
from snellen.curate.recipe.recipe_file import RecipeStep
from snellen.curate.step import STEP_FILE, read_step

StepFolders = Sequence[tuple[RecipeStep, Path, Path]]
"""Each step with its folder, and the folder of its decisions."""


class ProvenanceEntry(Struct, frozen=True, omit_defaults=True):
    """What one step decided about an item."""

    step: str
    """Name of the step in the recipe."""
    action: str
    rule: str
    reason: str = ""
    by: str = ""
    at: str = ""
    """When, if a person decided."""
    evidence: tuple[Evidence, ...] = ()
    changes: dict[str, tuple[str, str]] = {}


class ItemProvenance(Struct, frozen=True, omit_defaults=True):
    """The history of an item."""

    item: str
    status: str
    """`kept`, or `dropped by STEP`."""
    pictures: list[str] = []
    """SHA-256 of its pictures and videos, in hex, as the last step that wrote it has them."""
    source: str = ""
    licence: str = ""
    history: list[ProvenanceEntry] = []


def write_provenance(path: Path, folders: StepFolders) -> int:
    """Write the record of all items; returns their number. Raises StorageError."""
    histories: dict[str, list[ProvenanceEntry]] = {}
    records: dict[str, dict[str, Any]] = {}
    for step, folder, private in folders:
        for record in _read_items(folder):
            name = str(record["index"])
            records[name] = record
            histories.setdefault(name, [])
        for decision in own_decisions(private):
            histories.setdefault(decision.item, []).append(_entry(step.name, decision))
    try:
        with atomic_file(path) as part, part.open("wb") as file:
            for name in sorted(histories):
                entry = _provenance(name, records.get(name, {}), histories[name])
                file.write(msgspec.json.encode(entry, order="deterministic") + b"\n")
    except OSError as error:
        raise StorageError(f"cannot write {path}: {error.strerror or error}") from error
    return len(histories)


def _provenance(
    name: str, record: dict[str, Any], history: list[ProvenanceEntry]
) -> ItemProvenance:
    last = next((entry for entry in reversed(history) if entry.action == "drop"), None)
    pictures = record.get("image", [])
    named = [*([pictures] if isinstance(pictures, str) else pictures)]
    named += [record["video_path"]] if "video_path" in record else []
    return ItemProvenance(
        item=name,
        status=f"dropped by {last.step}" if last else "kept",
        pictures=[Path(str(each)).stem for each in named],
        source=str(record.get("source", "")),
        licence=str(record.get("license", record.get("licence", ""))),
        history=history,
    )


def _entry(step: str, decision: Decision) -> ProvenanceEntry:
    return ProvenanceEntry(
        step=step,
        action=decision.action,
        rule=decision.rule,
        reason=decision.reason,
        by=decision.by,
        at=decision.at if decision.by else "",
        evidence=decision.evidence,
        changes=decision.changes,
    )


def own_decisions(folder: Path) -> Iterator[Decision]:
    """The step's own decisions, without those that a later start made again."""
    if not (folder / STEP_FILE).is_file():
        return
    own = [*read_decisions(folder)][read_step(folder).inherited :]
    seen: dict[tuple[str, str, str], Decision] = {}
    for decision in own:
        if not decision.is_retryable:
            seen[(decision.item, decision.rule, decision.by)] = decision
    yield from seen.values()


def _read_items(folder: Path) -> Iterator[dict[str, Any]]:
    file = folder / ITEMS_FILE
    if not file.is_file():
        return
    try:
        with file.open("rb") as lines:
            for line in lines:
                yield msgspec.json.decode(line)
    except OSError as error:
        raise StorageError(f"cannot read {file}: {error.strerror or error}") from error
