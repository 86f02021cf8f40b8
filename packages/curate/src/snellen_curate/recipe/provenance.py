"""Where each item comes from: `provenance.jsonl`, a line for every item that any step saw; and
`summary.md`, what every step did, in numbers.

An item's line has its images by digest, its source and licence, where it ended, and what each
step decided about it: by which rule or person, on what which model said. Machines' decisions have
no time here, so that the same steps on the same replies give the same bytes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from snellen.core.atomic_write import save, save_json_lines
from snellen.data_sets.decisions import Decision, Evidence, read_decisions
from snellen.data_sets.items import ITEMS_FILE, Item
from snellen.data_sets.step import STEP_FILE, read_step
from snellen_curate.attribution import own_licence
from snellen_curate.open_data import open_items
from snellen_curate.recipe.recipe_file import CurationRecipe
from snellen_curate.recipe.step_commands import StepCommand

MADE_FROM = "picture"
"""Column of items that says what they were made from."""
Lineages = Mapping[str, Collection[str]]
"""The last steps, each with the steps that its data went through, itself included."""


class ProvenanceEntry(Struct, frozen=True, omit_defaults=True):
    """What one step decided about an item."""

    step: str
    """Name of the step in the recipe."""
    action: str
    rule: str
    reason: str = ""
    about: str = ""
    """The image that it was decided about, if not the item itself."""
    by: str = ""
    at: str = ""
    """When, if a person decided."""
    evidence: tuple[Evidence, ...] = ()
    changes: dict[str, tuple[str, str]] = {}


class ItemProvenance(Struct, frozen=True, omit_defaults=True, rename={"images": "pictures"}):
    """The history of an item."""

    item: str
    ended: dict[str, str] = {}
    """By each last step, such as a publication: `kept`, or `dropped by STEP`."""
    made_from: str = ""
    """Name of the image, video or record that the item was made from, if a step made it."""
    images: list[str] = []
    """SHA-256 of its images and videos, in hex, as the last step that wrote it has them."""
    source: str = ""
    licence: str = ""
    history: list[ProvenanceEntry] = []


def write_provenance(path: Path, commands: Sequence[StepCommand], lineages: Lineages, start: str = "") -> int:
    """Write the record of all items; returns their number. `start` are the items that the first
    step read, if it read items. Raises StorageError and DataError."""
    histories: dict[str, list[ProvenanceEntry]] = {}
    origins: dict[str, ItemProvenance] = {}
    written = [command.folder for command in commands if (command.folder / ITEMS_FILE).is_file()]
    tables: list[str | Path] = [start, *written] if start else [*written]
    for data in tables:
        for item in open_items(data):
            origins[item.id] = _origin(item)
            histories.setdefault(item.id, [])
    for command in commands:
        for decision in own_decisions(command.private):
            histories.setdefault(decision.item, []).append(_entry(command.step.name, decision))
    parents = {origin.made_from for origin in origins.values()}
    names = [name for name in sorted(histories) if name not in parents]
    return save_json_lines(path, _whole_histories(names, origins, histories, lineages), sort_keys=True)


def _whole_histories(
    names: Iterable[str],
    origins: Mapping[str, ItemProvenance],
    histories: Mapping[str, Sequence[ProvenanceEntry]],
    lineages: Lineages,
) -> Iterator[ItemProvenance]:
    """The items with what was decided about each, and about what it was made from."""
    for name in names:
        origin = origins.get(name) or ItemProvenance(name)
        about = [replace(entry, about=origin.made_from) for entry in histories.get(origin.made_from, ())]
        history = [*about, *histories[name]]
        yield replace(origin, ended=_ends(history, lineages), history=history)


def _ends(history: Sequence[ProvenanceEntry], lineages: Lineages) -> dict[str, str]:
    dropped = [entry.step for entry in history if entry.action == "drop"]
    ended = {}
    for last, steps in lineages.items():
        by = next((step for step in dropped if step in steps), "")
        ended[last] = f"dropped by {by}" if by else "kept"
    return ended


def _origin(item: Item) -> ItemProvenance:
    """Where an item comes from."""
    return ItemProvenance(
        item=item.id,
        made_from=item.cells.get(MADE_FROM, ""),
        images=[ref.digest for ref in item.sample.media],
        source=item.cells.get("source", ""),
        licence=own_licence(item.cells),
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


_VERBS = {"add": "added", "keep": "kept", "flag": "flagged", "drop": "dropped", "fix": "changed"}


def write_summary(path: Path, recipe: CurationRecipe, commands: Sequence[StepCommand]) -> None:
    """Write the page. It has no times, so that it is the same after any stops. Raises
    StorageError."""
    lines = [f"# {recipe.name}\n", f"Made by `snellen curate run {recipe.path.name}`.\n"]
    lines += ["| step | action | items written | decisions |", "| --- | --- | ---: | --- |"]
    details: list[str] = []
    for command in commands:
        step, decisions = command.step, [*own_decisions(command.private)]
        items = {action: {each.item for each in decisions if each.action == action} for action in _VERBS}
        counts = ", ".join(f"{len(names)} {_VERBS[action]}" for action, names in items.items() if names)
        lines.append(f"| {step.name} | {step.action} | {_count_lines(command.folder / ITEMS_FILE)} | {counts} |")
        details += _details(step.name, decisions)
    lines += ["", "Every item's history is in `provenance.jsonl`.", *details]
    save(path, "\n".join(lines) + "\n")


def _details(name: str, decisions: list[Decision]) -> list[str]:
    """The section of a step: its decisions by rule and person, and the models that replied."""
    counts = Counter((_VERBS[each.action], each.rule, each.by) for each in decisions)
    models = Counter(said.model for each in decisions for said in each.evidence if said.request)
    if not counts:
        return []
    lines = [f"\n## {name}\n", "| decision | rule | by | items |", "| --- | --- | --- | ---: |"]
    lines += [f"| {verb} | {rule} | {by} | {count} |" for (verb, rule, by), count in sorted(counts.items())]
    if models:
        listed = ", ".join(f"{model} ({count})" for model, count in sorted(models.items()))
        lines.append(f"\nReplies as evidence: {listed}.")
    return lines


def _count_lines(path: Path) -> str:
    """The number of lines of a file; "" if there is none."""
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return str(sum(1 for _ in file))
