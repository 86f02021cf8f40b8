"""One run: a model on a benchmark, into a folder that the same command finds again."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import nullcontext, suppress
from functools import partial
from pathlib import Path

from snellen.core.errors import RunLocked, StorageError, UsageError
from snellen.core.model import RemoteModel, SelfReporting
from snellen.core.sample import Sample
from snellen.engine.loop.concurrent_runs import Sharing
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.environment import rare_collection
from snellen.engine.loop.plan import Plan, chosen_ids, config_of, flow_of, folder_name
from snellen.engine.loop.request_broker import MAIN, Asker, disconnect, flows_for
from snellen.engine.loop.resume import resume
from snellen.engine.loop.state import RunState, first_info
from snellen.store.responses import ResponseStore
from snellen.store.runs import RunFolder, RunWriter, open_run


class Interrupted(Exception):
    """Ctrl-C, after everything finished was kept."""

    def __init__(self, run: Path) -> None:
        super().__init__(str(run))
        self.run = run


class UnsupportedBenchmark(UsageError):
    """The model lacks what the benchmark needs: skipped with that reason, never scored 0."""


def run(plan: Plan, store: ResponseStore) -> RunFolder:
    """Ask what is owed, write the folder, and return it for reading.

    A complete run is only summed up again. A run that the plan's terms ended early is kept as
    interrupted, with the reason. Raises UsageError subclasses, and Interrupted when the user
    stopped it.
    """
    lacking = plan.benchmark.needs(plan.model.capabilities)
    if lacking:
        raise UnsupportedBenchmark(f"{plan.model_name} on {plan.benchmark.name}: {lacking}")
    table = plan.benchmark.open()
    chosen = chosen_ids(plan, table)
    config = config_of(plan, table)
    folder = plan.out / folder_name(plan, config)
    with RunWriter(folder) as writer:
        done, repairs = resume(plan, table, writer, chosen)
        info = first_info(plan, table, config, writer, repairs, store)
        state = RunState(plan, writer, info, len(chosen), done)
        owed = chosen - done
        samples = state.samples(table, chosen, owed)
        # Said before anything is spent, so that a dead run explains itself.
        state.write("running")
        try:
            if owed:
                store.asked_by(folder)
                _drive(plan, samples, store, state)
        except BaseException:
            # What stopped the run is the news, e.g. a full disk, which stops this as well.
            with suppress(StorageError, RunLocked):
                state.finish("interrupted")
            raise
        state.finish(state.ending())
    return open_run(folder)


def _drive(plan: Plan, samples: Iterator[Sample], store: ResponseStore, state: RunState) -> None:
    async def main() -> None:
        models = {MAIN: plan.model, **plan.roles}
        for model in models.values():
            if isinstance(model, SelfReporting):
                model.begin_served()
        asker = Asker(models, store, plan.terms, plan.prices, plan.fresh)
        state.asker = asker
        asker.paid = state.note_spent
        sharing = asker.sharing = Sharing(store)
        asker.found = partial(state.note_reused, store)
        try:
            await sharing.start(asker.in_flight)
            await drive_all(
                samples,
                flow_of(plan),
                asker,
                state.finished,
                flows_for(models),
                threaded=plan.benchmark.prepare is not None,
            )
        finally:
            asker.close()
            await sharing.stop()
            await disconnect(*models.values())

    remote = isinstance(plan.model, RemoteModel)
    try:
        # A local model spends no time to speak of on collecting, and its tensors are large.
        with rare_collection() if remote else nullcontext():
            asyncio.run(main())
    except KeyboardInterrupt:
        raise Interrupted(state.writer.path) from None
