"""`summary.md`: what every step did, in numbers."""

from __future__ import annotations

from pathlib import Path

from snellen.core.atomic_write import save
from snellen.curate.decisions import Decision
from snellen.curate.items import ITEMS_FILE
from snellen.curate.recipe.provenance import StepFolders, own_decisions
from snellen.curate.recipe.recipe_file import CurationRecipe

_VERBS = {"add": "added", "keep": "kept", "flag": "flagged", "drop": "dropped", "fix": "changed"}


def write_summary(path: Path, recipe: CurationRecipe, folders: StepFolders) -> None:
    """Write the page. It has no times, so that it is the same after any stops. Raises
    StorageError."""
    lines = [f"# {recipe.name}\n", f"Made by `snellen curate run {recipe.path.name}`.\n"]
    lines += ["| step | action | items written | decisions |", "| --- | --- | ---: | --- |"]
    details: list[str] = []
    for step, folder, private in folders:
        decisions = [*own_decisions(private)]
        count = _count_lines(folder / ITEMS_FILE)
        lines.append(
            f"| {step.name} | {step.action} | {count if count is not None else ''} | "
            f"{_actions(decisions)} |"
        )
        details += _details(step.name, decisions)
    lines += ["", "Every item's history is in `provenance.jsonl`.", *details]
    save(path, "\n".join(lines) + "\n")


def _actions(decisions: list[Decision]) -> str:
    counts = {
        verb: len({each.item for each in decisions if each.action == action})
        for action, verb in _VERBS.items()
    }
    return ", ".join(f"{count} {verb}" for verb, count in counts.items() if count)


def _details(name: str, decisions: list[Decision]) -> list[str]:
    """The section of a step: its decisions by rule and person, and the models that replied."""
    counts: dict[tuple[str, str, str], int] = {}
    models: dict[str, int] = {}
    for decision in decisions:
        key = (_VERBS[decision.action], decision.rule, decision.by)
        counts[key] = counts.get(key, 0) + 1
        for evidence in decision.evidence:
            if evidence.request:
                models[evidence.model] = models.get(evidence.model, 0) + 1
    if not counts:
        return []
    lines = [f"\n## {name}\n", "| decision | rule | by | items |", "| --- | --- | --- | ---: |"]
    lines += [
        f"| {verb} | {rule} | {by} | {count} |"
        for (verb, rule, by), count in sorted(counts.items())
    ]
    if models:
        listed = ", ".join(f"{model} ({count})" for model, count in sorted(models.items()))
        lines.append(f"\nReplies as evidence: {listed}.")
    return lines


def _count_lines(path: Path) -> int | None:
    if not path.is_file():
        return None
    with path.open("rb") as file:
        return sum(1 for _ in file)
