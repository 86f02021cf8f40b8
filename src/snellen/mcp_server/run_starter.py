"""Plans and runs that a program asks for: of models and data that the command line allows, within
one budget for the life of the server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as NotYet
from dataclasses import dataclass, field
from pathlib import Path
from threading import Lock, Thread
from typing import Any, NamedTuple

import msgspec

from snellen.benchmarks.declaration.registry import expand_suites, is_data_source, split_spec
from snellen.core.errors import SnellenError, UsageError
from snellen.core.run import RoleUsage
from snellen.engine.limits.spending import Budget
from snellen.store.runs import find_runs

_FILE_OPTIONS = ("file", "shots_from")
"""Options of a benchmark that name a file."""


class FinishedRuns(NamedTuple):
    """The folders of the runs that a call made, and why they stopped early, if they did."""

    names: list[str]
    stopped: list[str]


@dataclass(slots=True)
class RunStarter:
    """Starts one run after the other, each in a thread that ends with the process: what is answered
    by then is stored, and the same call continues."""

    folders: Sequence[Path]
    """Folders that may hold data files, and the folder of runs."""
    out: Path
    models: Sequence[str]
    """The models that may be asked, as the command line names them."""
    budget: Budget
    _spent: float = 0.0
    _current: Future[FinishedRuns] | None = None
    _lock: Lock = field(default_factory=Lock)

    def left(self) -> float:
        """What may still be spent, in the budget's unit."""
        return max(0.0, self.budget.amount - self._spent)

    def start(self, model: str, benchmark: str, wait: float, options: Mapping[str, Any]) -> str:
        """Run one model on one benchmark, and wait for it at most `wait` seconds.

        Raises UsageError for another model or data, while a run is going on, and when the budget is
        spent; and what `evaluate` raises.
        """
        if model not in self.models:
            raise UsageError(f"{model!r} may not be asked here; allowed with -m: {', '.join(self.models)}")
        check_benchmark(benchmark, self.folders)
        with self._lock:
            if self._current is not None and not self._current.done():
                raise UsageError("a run is going on; wait for it: the tool `runs` shows its status")
            if self.left() <= 0:
                raise UsageError(f"the budget of {self._amount(self.budget.amount)} is spent")
            current = self._current = Future()
            Thread(target=self._evaluate, args=(current, model, benchmark, dict(options)), daemon=True).start()
        try:
            finished, ended = current.result(timeout=max(0.0, wait)), True
        except NotYet:
            finished, ended = FinishedRuns([], []), False
        value = {
            "ended": ended,
            "runs": finished.names,
            "stopped": finished.stopped,
            "budget_left": self._amount(self.left()),
        }
        return msgspec.json.encode(value).decode()

    def _evaluate(self, future: Future[FinishedRuns], model: str, benchmark: str, options: dict[str, Any]) -> None:
        """Fill the future with the names of the runs, or with the error that ended them."""
        from snellen.api.evaluation import evaluate

        before = _run_spending(self.out)
        unit = "usd" if self.budget.is_money else "tok"
        try:
            results = evaluate(
                [model], [benchmark], out=self.out, budget=f"{self.left():.6f}{unit}", command="snellen mcp", **options
            )
            if results.skipped:
                raise UsageError(f"{model} was not asked: {results.skipped[0].reason}")
            outcome: FinishedRuns | BaseException = FinishedRuns(
                [run.name for run in results.runs], [run.info.stopped for run in results.runs if run.info.stopped]
            )
        except BaseException as error:  # noqa: BLE001 - whatever ended it, the caller waits for it
            outcome = error
        self._spent += self._difference(before, _run_spending(self.out))
        if isinstance(outcome, BaseException):
            future.set_exception(outcome)
        else:
            future.set_result(outcome)

    def _difference(
        self, before: Mapping[Path, Mapping[str, RoleUsage]], after: Mapping[Path, Mapping[str, RoleUsage]]
    ) -> float:
        """What was spent between two readings of the runs, in the budget's unit."""
        total = 0.0
        for path, roles in after.items():
            for role, usage in roles.items():
                total += self._amount_of(usage) - self._amount_of(before.get(path, {}).get(role, RoleUsage()))
        return max(0.0, total)

    def _amount_of(self, usage: RoleUsage) -> float:
        if self.budget.is_money:
            return usage.cost or 0.0
        return float(usage.usage.prompt_tokens + usage.usage.completion_tokens)

    def _amount(self, number: float) -> str:
        return f"{number:.4f} USD" if self.budget.is_money else f"{number:,.0f} tokens"


def check_benchmark(spec: str, folders: Sequence[Path]) -> None:
    """Raises UsageError for a benchmark that reads a file outside `folders`."""
    for one in expand_suites([spec]):
        assert isinstance(one, str)
        name, options = split_spec(one)
        for option in _FILE_OPTIONS:
            if option in options:
                raise UsageError(f"{option}= names a file; a program may not choose one")
        if is_data_source(name) and not name.startswith(("hf://", "modelscope://")):
            path = Path(name.partition("?")[0]).expanduser().resolve()
            if not any(path.is_relative_to(folder.resolve()) for folder in folders):
                raise UsageError(
                    f"{name} lies outside the folders that this server may read ({', '.join(map(str, folders))})"
                )


def plan_json(models: Sequence[str], benchmarks: Sequence[str], folders: Sequence[Path], **options: Any) -> str:
    """What `snellen plan --json` prints. Nothing is sent. Raises UsageError for data outside
    `folders`, and for a model that is a file."""
    from snellen.api.planning import plan

    for spec in benchmarks:
        check_benchmark(spec, folders)
    for model in models:
        name = model.partition("/")[2].partition(":")[0]
        if model.startswith("replay/") or (name and Path(name).expanduser().exists()):
            raise UsageError(f"{model} is a file of this machine; name a model by provider and name")
    planned = plan(list(models), list(benchmarks), **options)
    return msgspec.json.encode(planned).decode()


def _run_spending(out: Path) -> dict[Path, Mapping[str, RoleUsage]]:
    try:
        return {run.path: run.info.spent for run in find_runs(out)}
    except SnellenError:
        return {}
