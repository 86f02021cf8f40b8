"""Asks representative samples of a run first, and projects what the others will take.

The samples are part of the run: their replies are stored, and nothing is asked twice or waits for
the projection. How samples are chosen and numbers projected is in `engine.forecast`.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Callable, Iterator, Mapping
from typing import NamedTuple

from snellen.core.benchmark import Table
from snellen.core.event_loop import run_coroutine
from snellen.core.model import BatchModel, Model, RemoteModel, abilities
from snellen.core.sample import Sample
from snellen.engine.forecast.probe_samples import (
    SampleSize,
    choose_probe,
    probe_count,
    sample_size,
)
from snellen.engine.forecast.projection import Capacity, Forecast, forecast
from snellen.engine.forecast.sample_costs import CostLedger
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.plan import RunPlan, build_flow, select_ids
from snellen.engine.loop.request_broker import MAIN, RequestBroker, concurrent_flows, disconnect
from snellen.store.responses import ResponseStore


class Probe:
    """The samples of a run that are asked first, and what they took."""

    def __init__(self, plan: RunPlan, sizes: Mapping[str, float], ids: list[str]) -> None:
        """`sizes` are those of all pending samples, `ids` the samples of the probe in order."""
        self._plan, self._ids = plan, ids
        self._remaining = {name: size for name, size in sizes.items() if name not in set(ids)}
        warm_up = min(in_flight(plan.model), len(ids) // 3)
        self.ledger = CostLedger({name: sizes[name] for name in ids}, warm_up)

    def first(self, samples: Callable[[], Iterator[Sample]]) -> Iterator[Sample]:
        """The samples of the probe, then the others in the order of the data; reads them twice."""
        wanted = set(self._ids)
        found = {sample.id: sample for sample in samples() if sample.id in wanted}
        yield from (found.pop(name) for name in self._ids if name in found)
        yield from (sample for sample in samples() if sample.id not in wanted)

    def add_end(self, sample: str) -> None:
        """Note that a sample of the run has ended."""
        self._remaining.pop(sample, None)
        self.ledger.add_end(sample)

    def forecast(self) -> Forecast | None:
        """What the samples that have not ended will take; None if nothing was asked."""
        plan = self._plan
        if not self.ledger.costs:
            return None
        return forecast(
            self.ledger.sample_costs(),
            list(self._remaining.values()),
            plan.prices,
            capacity_of({MAIN: plan.model, **plan.roles}),
            self.ledger.seconds_per_sample(),
        )


def open_probe(plan: RunPlan, table: Table, pending: set[str]) -> Probe | None:
    """A probe of the pending samples; None if they are too few. Reads the data once."""
    sizes = {
        sample.id: sample_size(sample)
        for sample in plan.benchmark.samples(table)
        if sample.id in pending
    }
    count = probe_count(len(sizes), in_flight(plan.model))
    if not count:
        return None
    ids = choose_probe((SampleSize(*item) for item in sizes.items()), count, plan.seed)
    return Probe(plan, sizes, ids)


class ProbeResult(NamedTuple):
    """A probe that was asked without a run."""

    samples: int
    seconds_per_sample: float | None
    """Time between two ends of samples; None if too few samples ended."""


def ask_probe(plan: RunPlan, store: ResponseStore) -> ProbeResult:
    """Ask the samples of a probe, as the run would, and store the replies, so that the run does not
    ask them again. Raises as `run` does."""
    table = plan.benchmark.open()
    pending = select_ids(plan, table)
    probe = open_probe(plan, table, pending)
    if probe is None:
        return ProbeResult(0, None)
    last_begun = time.monotonic()

    def samples() -> Iterator[Sample]:
        nonlocal last_begun
        for sample in probe.first(lambda: plan.benchmark.samples(table)):
            if sample.id not in probe.ledger.sizes:
                return
            last_begun = time.monotonic()
            yield sample

    async def main() -> None:
        models = {MAIN: plan.model, **plan.roles}
        broker = RequestBroker(models, store, plan.limits, plan.prices, plan.fresh)
        broker.on_sent = probe.ledger.add_output
        try:
            await drive_all(
                samples(),
                build_flow(plan),
                broker,
                lambda record: probe.add_end(record.id),
                concurrent_flows(models),
                threaded=plan.benchmark.prepare is not None,
            )
        finally:
            broker.close()
            await disconnect(*models.values())

    run_coroutine(main())
    return ProbeResult(len(probe.ledger.ended), probe.ledger.seconds_per_sample(last_begun))


def capacity_of(models: Mapping[str, Model], replicas: int = 1) -> Capacity:
    """How many requests each model, by role, has in flight; those of one account together.
    `replicas` are copies of the measured model."""
    accounts: dict[str, str] = {}
    concurrency: dict[str, int] = {}
    for role, model in models.items():
        account = model.account if isinstance(model, RemoteModel) else f"local {role}"
        accounts[role] = account
        own = _concurrency(model) * (replicas if role == MAIN else 1)
        concurrency[account] = min(concurrency.get(account, own), own)
    return Capacity(accounts=accounts, concurrency=concurrency)


def in_flight(model: Model) -> int:
    """Requests of a model that are computed at once."""
    return model.batch_size if isinstance(model, BatchModel) else _concurrency(model)


def _concurrency(model: Model) -> int:
    """Requests that overlap in time. The seconds of a batch are shared among its replies, so that
    those of a local model do not."""
    is_async = inspect.iscoroutinefunction(getattr(model, "answer", None))
    return abilities(model).concurrency if is_async else 1
