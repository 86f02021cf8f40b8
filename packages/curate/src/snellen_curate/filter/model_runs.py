"""The runs that a filter makes: each model on all items, with the pictures or without.

They are ordinary runs, in the folder `runs` of the step: resumed, budgeted and viewed as any other.
"""

# A field of a frozen class is never shared.
# ruff: noqa: RUF009
from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import msgspec

from snellen.api.evaluation import evaluate
from snellen.api.options import RunOptions
from snellen.core.atomic_write import atomic_file
from snellen.core.benchmark import FetchProgress, Variant
from snellen.core.errors import UsageError
from snellen.core.model import AnyModel
from snellen.data_sets.items import ItemTable, item_record
from snellen.data_sets.step import MediaWriter
from snellen.engine.limits.spending import Budget
from snellen.engine.loop.progress import NoProgress, Progress
from snellen.store.runs import RunFolder, find_runs
from snellen_curate.filter.rules import MODEL_FLAGS, ModelKind
from snellen_curate.step_options import FilterOptions

RUNS_FOLDER = "runs"


@dataclass(frozen=True, slots=True)
class Reports:
    """Who follows the runs."""

    progress: Progress = NoProgress()
    notify: Callable[[str], None] | None = None
    fetching: FetchProgress | None = None
    command: str = ""
    """Recorded with the runs, and shown as the command that resumes them."""


def run_models(
    models: Mapping[ModelKind, Sequence[AnyModel]],
    table: ItemTable,
    has_problems: bool,
    folder: Path,
    options: FilterOptions,
    reports: Reports,
) -> list[tuple[ModelKind, RunFolder]]:
    """Run the text-only models without pictures, then the vision models with them.

    `folder` is the step's. `has_problems`: some rows cannot be asked, so that the others are
    written to a file of their own. A budget is for all models together. Raises UsageError, and
    RunInterrupted on Ctrl-C, as `evaluate` does, and UsageError for a model that cannot take these
    questions.
    """
    data, columns = table.spec, dict(options.columns or {})
    if has_problems:
        data, columns = str(_write_askable(table, folder)), {}
    runs_folder = folder / RUNS_FOLDER
    made: list[tuple[ModelKind, RunFolder]] = []
    budget = options.budget
    for kind, names in models.items():
        if not names:
            continue
        before = _spending(runs_folder, budget)
        others = [name for other in models if other != kind for name in models[other]]
        control = "blind" if kind == "text-only" else None
        names_of_own = {field.name for field in fields(options)} - {"circular", "columns"}
        own = {name: getattr(options, name) for name in names_of_own}
        own |= {"budget": budget, "prices": _prices_for(options.prices, others)}
        variant = Variant(circular=options.circular, control=control, columns=columns)
        results = evaluate(
            list(names),
            data,
            RunOptions(out=runs_folder, html=False, variant=variant, **own),
            command=reports.command,
            progress=reports.progress,
            fetching=reports.fetching,
            warned=reports.notify,
            serving=reports.notify,
        )
        for skipped in results.skipped:
            raise UsageError(f"{MODEL_FLAGS[kind]} {skipped.model}: {skipped.reason}")
        made += [(kind, run) for run in results.runs]
        for lost in results.lost:
            if reports.notify is not None:
                reports.notify(str(lost))
        budget = _remaining(budget, _spending(runs_folder, budget) - before)
    return made


def _write_askable(table: ItemTable, folder: Path) -> Path:
    """Write the items that can be asked, with their media, into a folder; returns the data file. A
    run refuses data some of whose rows cannot be asked."""
    media = MediaWriter(folder)
    path = folder / "asked.jsonl"
    with atomic_file(path) as part, part.open("wb") as file:
        for item in table:
            if not item.problem:
                cells = {**item_record(item), **media.cells(item.sample.media)}
                file.write(msgspec.json.encode(cells) + b"\n")
    return path


def _prices_for(prices: Sequence[str], others: Sequence[AnyModel]) -> list[str]:
    """The prices without those of models that are asked in other runs."""
    elsewhere = " ".join(map(str, others))
    return [price for price in prices if price.rpartition(":")[0] not in elsewhere]


def _spending(runs: Path, budget: str | None) -> float:
    """What the runs of a folder have spent so far, in the unit of the budget."""
    if budget is None or not runs.is_dir() or not any(runs.glob("*/run.json")):
        return 0.0
    is_money = Budget.parse(budget).is_money
    roles = [role for run in find_runs(runs) for role in run.info.spent.values()]
    if is_money:
        return sum(role.cost or 0.0 for role in roles)
    return float(sum(role.usage.prompt_tokens + role.usage.completion_tokens for role in roles))


def _remaining(budget: str | None, spent: float) -> str | None:
    """What is left of a budget. A spent one is as good as spent: at least one reply must show it,
    since no budget is zero."""
    if budget is None:
        return None
    parsed = Budget.parse(budget)
    left = max(parsed.amount - spent, 1e-6)
    return f"{left:.6f}{'usd' if parsed.is_money else 'tok'}"
