"""One run: a model on a benchmark, into a folder that the same command finds again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from snellen.core.errors import RunLocked, StorageError, UsageError
from snellen.core.model import RemoteModel, SelfReportingModel
from snellen.core.sample import Sample
from snellen.engine.loop.concurrent_runs import ConcurrentRuns
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.environment import infrequent_gc
from snellen.engine.loop.plan import RunPlan, build_flow, folder_name, run_config, select_ids
from snellen.engine.loop.request_broker import MAIN, RequestBroker, concurrent_flows, disconnect
from snellen.engine.loop.resume import resume
from snellen.engine.loop.state import RunState, initial_info
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder, RunWriter, open_run


class RunInterrupted(Exception):
    """Ctrl-C, after everything finished was kept."""

    def __init__(self, run: Path) -> None:
        super().__init__(str(run))
        self.run = run


class UnsupportedBenchmark(UsageError):
    """The model lacks what the benchmark needs: skipped with that reason, never scored 0."""


def run(plan: RunPlan, store: ResponseStore) -> RunFolder:
    """Ask what is owed, write the folder, and return it for reading.

    A complete run is only summed up again. A run that the plan's terms ended early is kept as
    interrupted, with the reason. Raises UsageError subclasses, and Interrupted when the user
    stopped it.
    """
    missing = plan.benchmark.requires(plan.model.capabilities)
    if missing:
        raise UnsupportedBenchmark(f"{plan.model_name} on {plan.benchmark.name}: {missing}")
    table = plan.benchmark.open()
    selected = select_ids(plan, table)
    config = run_config(plan, table)
    folder = plan.out / folder_name(plan, config)
    with RunWriter(folder) as writer:
        done, repairs = resume(plan, table, writer, selected)
        info = initial_info(plan, table, config, writer, repairs, store)
        state = RunState(plan, writer, info, len(selected), done)
        pending = selected - done
        samples = state.samples(table, selected, pending)
        # Said before anything is spent, so that a dead run explains itself.
        state.write_info("running")
        try:
            if pending:
                store.set_run_folder(folder)
                _drive(plan, samples, store, state)
        except BaseException:
            # What stopped the run is the news, e.g. a full disk, which stops this as well.
            with suppress(StorageError, RunLocked):
                state.finish("interrupted")
            raise
        state.finish(state.final_status())
    return open_run(folder)


def _drive(plan: RunPlan, samples: Iterator[Sample], store: ResponseStore, state: RunState) -> None:
    async def main() -> None:
        models = {MAIN: plan.model, **plan.roles}
        for model in models.values():
            if isinstance(model, SelfReportingModel):
                model.reset_served()
        broker = RequestBroker(models, store, plan.limits, plan.prices, plan.fresh)
        state.broker = broker
        broker.on_spent = state.note_spent
        concurrent_runs = broker.concurrent_runs = ConcurrentRuns(store)
        broker.on_reused = partial(state.note_reused, store)
        try:
            await concurrent_runs.start(broker.in_flight)
            await drive_all(
                samples,
                build_flow(plan),
                broker,
                state.add_record,
                concurrent_flows(models),
                threaded=plan.benchmark.prepare is not None,
            )
        finally:
            broker.close()
            await concurrent_runs.stop()
            await disconnect(*models.values())

    remote = isinstance(plan.model, RemoteModel)
    try:
        # A local model spends no time to speak of on collecting, and its tensors are large.
        with infrequent_gc() if remote else nullcontext():
            asyncio.run(main())
    except KeyboardInterrupt:
        raise RunInterrupted(state.writer.path) from None
