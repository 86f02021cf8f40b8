"""Plans and runs that a program asks for: of models and data that the command line allows, one run
after the other, within one budget for all of them."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

import msgspec

from snellen.benchmarks.declaration.registry import expand_suites, is_data_source, split_spec
from snellen.core.errors import SnellenError, StorageError, UsageError
from snellen.core.run import RoleUsage
from snellen.engine.limits.spending import Budget
from snellen.mcp_server.job_queue import JobQueue, JobState, QueuedRun
from snellen.store.runs import RUN_FILES, open_run, recover_spent

if TYPE_CHECKING:
    from snellen.api.results import Results

_FILE_OPTIONS = ("file", "shots_from")
"""Options of a benchmark that name a file."""


_POLL = 0.2
"""Seconds between two looks at the queue."""
_CLOSE = 30.0
"""Seconds that the run going on may take to stop when the server ends."""


@dataclass(slots=True)
class RunStarter:
    """Works on the jobs of a queue, in a thread, as long as the server lives. What is answered by
    then is stored, and the next server of the folder goes on."""

    folders: Sequence[Path]
    """Folders that may hold data files, and the folder of runs."""
    out: Path
    models: Sequence[str]
    """The models that may be asked, as the command line names them."""
    budget: Budget
    queue: JobQueue = field(init=False)
    _thread: Thread | None = None
    _closing: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)

    def __post_init__(self) -> None:
        self.queue = JobQueue(self.out, "usd" if self.budget.is_money else "tok")
        if any(not job.is_over for job in self.queue.jobs()):
            self._work_in_thread()

    def left(self) -> float:
        """What may still be spent, in the budget's unit."""
        return max(0.0, self.budget.amount - self.queue.total_spent())

    def start(self, model: str, benchmark: str, wait: float, limit: int | None) -> str:
        """Put a run of one model on one benchmark into the queue, and wait for it at most `wait`
        seconds.

        Raises UsageError for another model or data, when the budget is spent, and for what the run
        itself refuses.
        """
        if model not in self.models:
            raise UsageError(f"{model!r} may not be asked here; allowed with -m: {', '.join(self.models)}")
        check_benchmark(benchmark, self.folders)
        self._refuse_spent_budget()
        job = self.queue.submit(model, benchmark, limit)
        self._work_in_thread()
        deadline = time.monotonic() + wait
        while not job.is_over and time.monotonic() < deadline:
            time.sleep(_POLL)
            job = self.queue.job(job.id)
        if job.state == "failed":
            raise UsageError(job.note)
        return self._encode(job)

    def stop(self, number: int) -> str:
        """Stop a job; what was answered is kept. Raises UsageError for one that there is not."""
        return self._encode(self.queue.request_stop(number))

    def listing(self, limit: int) -> str:
        """The newest jobs, and what is left of the budget."""
        jobs = [msgspec.to_builtins(job) for job in self.queue.jobs()]
        value = {"total": len(jobs), "jobs": jobs[:limit], "budget_left": self._amount(self.left())}
        return msgspec.json.encode(value).decode()

    def close(self) -> None:
        """Stop the run that is going on; it waits for the next server."""
        self._closing.set()
        if self._thread is not None:
            self._thread.join(_CLOSE)

    def _encode(self, job: QueuedRun) -> str:
        ahead = sum(other.id < job.id and not other.is_over for other in self.queue.jobs())
        value = {
            "job": job.id,
            "state": job.state,
            "ended": job.is_over,
            "ahead": 0 if job.is_over else ahead,
            "runs": job.runs,
            "stopped": [job.note] if job.note else [],
            "budget_left": self._amount(self.left()),
        }
        return msgspec.json.encode(value).decode()

    def _refuse_spent_budget(self) -> None:
        if self.left() <= 0:
            raise UsageError(f"the budget of {self._amount(self.budget.amount)} is spent")

    def _work_in_thread(self) -> None:
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = Thread(target=self._work, daemon=True)
                self._thread.start()

    def _work(self) -> None:
        """Work on one job after the other, whenever no other process does."""
        while not self._closing.wait(_POLL):
            # A full disk, say: it is tried again.
            with suppress(StorageError):
                if self.queue.has_waiting(self.models) and self.queue.try_to_lock():
                    try:
                        begun = self.queue.begin(self.models, self._total_spent())
                        if begun is not None:
                            self._run(*begun)
                    finally:
                        # Another server of the folder may have other models.
                        self.queue.unlock()

    def _run(self, job: QueuedRun, before: float) -> None:
        """Run a job, and write how it ended. `before` is what all runs of the folder had spent."""
        runs, note = list[str](), ""
        state: JobState = "ended"
        # Of a job that goes on after a kill, what it had spent is no longer left.
        self._write(job, "running", before)
        try:
            self._refuse_spent_budget()
            results = asyncio.run(self._evaluate(job))
            if results.skipped:
                state, note = "failed", f"{job.model} was not asked: {results.skipped[0].reason}"
            runs = [run.name for run in results.runs]
            note = note or "; ".join(run.info.stopped for run in results.runs if run.info.stopped)
        except asyncio.CancelledError:
            state = "waiting" if self._closing.is_set() else "stopped"
        except SnellenError as error:
            state, note = "failed", str(error)
        except Exception as error:  # noqa: BLE001 - a defect of a plug-in, say: who follows the job is to read it
            state, note = "failed", f"{type(error).__name__}: {error}"
        self._write(job, state, before, runs, note)

    def _write(self, job: QueuedRun, state: JobState, before: float, runs: Sequence[str] = (), note: str = "") -> None:
        self.queue.write(job.id, state, max(0.0, self._total_spent() - before), list(runs), note)

    async def _evaluate(self, job: QueuedRun) -> Results:
        """The results of a job. Raises CancelledError once it is to stop."""
        from snellen.api.evaluation import aevaluate

        left = f"{self.left():.6f}{'usd' if self.budget.is_money else 'tok'}"
        call = aevaluate(
            [job.model], [job.benchmark], out=self.out, limit=job.limit, budget=left, command="snellen mcp"
        )
        task = asyncio.ensure_future(call)
        while not task.done():
            await asyncio.wait([task], timeout=_POLL)
            if self._closing.is_set() or self.queue.is_stop_requested(job.id):
                # Once: a second cancellation would not wait until the run has ended.
                task.cancel()
                break
        return await task

    def _total_spent(self) -> float:
        """What all runs of the folder have spent, in the budget's unit."""
        return sum(self._amount_of(usage) for roles in _run_spending(self.out).values() for usage in roles.values())

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
    spending: dict[Path, Mapping[str, RoleUsage]] = {}
    for file in out.glob(RUN_FILES):
        # One that is damaged does not hide what the others spend.
        with suppress(SnellenError):
            spending[file.parent] = recover_spent(file.parent, open_run(file.parent).info.spent)
    return spending
