"""The runs that a filter makes: each model on all items, with the images or without.

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
from snellen.store.runs import RunFolder
from snellen_curate.filter.rules import MODEL_FLAGS, ModelKind
from snellen_curate.spending import read_spending
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
    """Run the text-only models without images, then the vision models with them.

    `folder` is the step's. `has_problems`: some rows cannot be asked, so that the others are
    written to a file of their own. A budget is for all models together. Raises UsageError, and
    RunInterrupted on Ctrl-C, as `evaluate` does, and UsageError for a model that cannot take these
    questions.
    """
    data, columns = table.spec, dict(options.columns or {})
    if has_problems:
        data, columns = str(_write_askable(table, folder)), {}
    passed_on = {field.name for field in fields(options)} - {"circular", "columns", "budget", "prices"}
    asking = {name: getattr(options, name) for name in passed_on}
    made: list[tuple[ModelKind, RunFolder]] = []
    budget = options.budget
    for kind, names in models.items():
        if not names:
            continue
        before = _spending(folder, budget)
        others = [name for other in models if other != kind for name in models[other]]
        prices = _prices_for(options.prices, others)
        control = "blind" if kind == "text-only" else None
        variant = Variant(circular=options.circular, control=control, columns=columns)
        run_options = RunOptions(
            out=folder / RUNS_FOLDER, html=False, variant=variant, budget=budget, prices=prices, **asking
        )
        made += [(kind, run) for run in _run_kind(kind, names, data, run_options, reports)]
        budget = _remaining(budget, _spending(folder, budget) - before)
    return made


def _run_kind(
    kind: ModelKind, names: Sequence[AnyModel], data: str, options: RunOptions, reports: Reports
) -> Sequence[RunFolder]:
    """Run the models of one kind."""
    results = evaluate(
        list(names),
        data,
        options,
        command=reports.command,
        progress=reports.progress,
        fetching=reports.fetching,
        warned=reports.notify,
        serving=reports.notify,
    )
    for skipped in results.skipped:
        raise UsageError(f"{MODEL_FLAGS[kind]} {skipped.model}: {skipped.reason}")
    for lost in results.lost:
        if reports.notify is not None:
            reports.notify(str(lost))
    return results.runs


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


def _spending(folder: Path, budget: str | None) -> float:
    """What a step has spent so far, in the unit of the budget."""
    if budget is None:
        return 0.0
    spent = read_spending(folder)
    return spent.cost or 0.0 if Budget.parse(budget).is_money else spent.prompt_tokens + spent.completion_tokens


def _remaining(budget: str | None, spent: float) -> str | None:
    """What is left of a budget. A spent one is as good as spent: at least one reply must show it,
    since no budget is zero."""
    if budget is None:
        return None
    parsed = Budget.parse(budget)
    left = max(parsed.amount - spent, 1e-6)
    return f"{left:.6f}{'usd' if parsed.is_money else 'tok'}"
