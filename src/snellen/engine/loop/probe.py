"""Asks representative samples of a run first, and projects what the others will take.

The samples are part of the run: their replies are stored, and nothing is asked twice or waits for
the projection. How samples are chosen and numbers projected is in `engine.forecast`.
"""

from __future__ import annotations

import inspect
import time
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import NamedTuple, cast

from msgspec import structs

from snellen.core.event_loop import run_coroutine
from snellen.core.model import BatchModel, Model, RemoteModel, abilities
from snellen.core.output import Compared, Drawn
from snellen.core.record import Record, every_pass
from snellen.core.request import CLIP, DRAWER
from snellen.core.sample import Sample
from snellen.core.summary import FailurePolicy
from snellen.engine.anytime.early_stop import (
    ComparisonRule,
    PrecisionRule,
    StopMonitor,
    parse_stop_rule,
    units_in_order,
)
from snellen.engine.forecast.probe_samples import (
    MIN_PROBE,
    USUAL_PROBE,
    SampleSize,
    choose_probe,
    most_ends,
    probe_count,
    sample_size,
)
from snellen.engine.forecast.projection import Forecast, forecast, with_range
from snellen.engine.forecast.sample_costs import CostLedger, Pace, RoleCost, SampleCost
from snellen.engine.forecast.wall_time import Capacity
from snellen.engine.loop.driving import drive_all
from snellen.engine.loop.plan import RunPlan, build_flow, select_ids
from snellen.engine.loop.request_broker import MAIN, RequestBroker, concurrent_flows
from snellen.extract.llm import EXTRACTOR
from snellen.scoring.accuracy import counted_score
from snellen.store.responses import ResponseStore


class Probe:
    """The samples of a run that are asked first, and what they took."""

    def __init__(
        self,
        plan: RunPlan,
        pending: Mapping[str, float],
        count: int,
        earlier: Sequence[SampleCost] = (),
        monitor: StopMonitor | None = None,
        scores: Iterable[float] = (),
    ) -> None:
        """`pending` are the sizes of all pending samples by id, of which `count` are asked first;
        `earlier` and `scores` are what the samples of an earlier start took and scored; `monitor`
        is that of the stop rule, if there is one."""
        self._plan, self._count, self._monitor = plan, count, monitor
        self._sizes, self._remaining = pending, dict(pending)
        self._scores = list(scores)
        warm_up = min(_flows_at_once(plan), count // 3)
        # A rule may end the run soon: nothing is watched for longer than the probe.
        most = most_ends(count, len(pending)) if monitor is None else count
        self.ledger = CostLedger(warm_up, most, earlier, is_begun=not count)

    @property
    def ids(self) -> list[str]:
        """The samples of the probe in their order, where no stop rule demands another."""
        sizes = (SampleSize(*item) for item in self._sizes.items())
        return choose_probe(sizes, self._count, self._plan.seed, self.ledger.warm_up)

    def first(self, samples: Callable[[], Iterator[Sample]]) -> Iterator[Sample]:
        """The samples of the probe, then the others in the order of the data; reads them twice."""
        if not self._count:
            yield from samples()
            return
        ids = self.ids
        wanted = set(ids)
        found = {sample.id: sample for sample in samples() if sample.id in wanted}
        yield from self.in_order(found.pop(name) for name in ids if name in found)
        yield from (sample for sample in samples() if sample.id not in wanted)

    def in_order(self, samples: Iterator[Sample]) -> Iterator[Sample]:
        """The samples in their order, the first of which are the probe."""
        for sample in samples:
            if not self.ledger.is_begun and sample.id in self._sizes:
                self.ledger.sizes[sample.id] = self._sizes[sample.id]
                self.ledger.is_begun = len(self.ledger.sizes) == self._count
            yield sample
        self.ledger.is_begun = True

    def add_end(self, record: Record) -> None:
        """Note that a sample of the run has ended."""
        self._remaining.pop(record.id, None)
        self.ledger.add_end(record.id)
        if record.id in self.ledger.sizes:
            self._scores += _counted_scores(self._plan, record)

    def forecast(self) -> Forecast | None:
        """What the samples that have not ended will take; with a stop rule, those before its
        expected end. None if nothing was measured, or nothing is left."""
        plan, monitor = self._plan, self._monitor
        if monitor is None or plan.stop_rule is None or not self._scores:
            return self._forecast(self._remaining)
        from snellen.engine.anytime.forecast import comparison_forecast, precision_forecast, precision_stop_range

        rule, units = parse_stop_rule(plan.stop_rule.text), monitor.units()
        score = fmean(self._scores)
        if isinstance(rule, ComparisonRule):
            expected = self._forecast(self._remaining)
            text = comparison_forecast(units, rule, score)
            return expected and structs.replace(expected, stop=text)
        stops = precision_stop_range(units, rule, self._scores)
        expected, low, high = (self._forecast(self._remaining_before(stop)) for stop in stops)
        if expected is None or high is None:
            return None
        text = precision_forecast(units, rule, stops, score)
        return structs.replace(with_range(expected, low, high), stop=text)

    def _remaining_before(self, stop: int) -> list[str]:
        """The remaining samples of so many units, and of those in flight when the rule is met."""
        assert self._monitor is not None
        models = {MAIN: self._plan.model, **self._plan.roles}
        units = self._monitor.units()[: stop + concurrent_flows(models, may_stop=True)]
        return [sample.id for unit in units for sample in unit.samples if sample.id in self._remaining]

    def _forecast(self, ids: Collection[str]) -> Forecast | None:
        measured = self.ledger.sample_costs()
        if not ids or not any(each.roles for each in measured):
            return None
        plan = self._plan
        return forecast(
            measured,
            [self._sizes[name] for name in ids],
            plan.prices,
            capacity_of({MAIN: plan.model, **plan.roles}),
            self.ledger.pace(),
            self.ledger.timed_costs(),
        )


def open_probe(
    plan: RunPlan,
    samples: Iterable[Sample],
    pending: Collection[str],
    earlier: Iterable[Record] = (),
    monitor: StopMonitor | None = None,
) -> Probe | None:
    """A probe of the pending ones of these samples; without samples of its own if they are too few,
    and the records of an `earlier` start are enough. None if neither is so."""
    # Not the records themselves, which hold every prompt and reply of the earlier start.
    earlier_roles: dict[str, dict[str, RoleCost]] = {}
    scores: list[float] = []
    for record in earlier:
        earlier_roles[record.id] = costs_of_record(record, plan.roles)
        scores += _counted_scores(plan, record)
    sizes: dict[str, float] = {}
    costs: list[SampleCost] = []
    for sample in samples:
        if sample.id in pending:
            sizes[sample.id] = sample_size(sample)
        elif sample.id in earlier_roles:
            costs.append(SampleCost(sample_size(sample), earlier_roles[sample.id]))
    flows = in_flight(plan.model)
    count = probe_count(len(sizes), flows)
    if monitor is not None:
        count = min(count, max(USUAL_PROBE, flows))
    if not count and min(len(costs), len(sizes)) < MIN_PROBE:
        return None
    return Probe(plan, sizes, count, costs, monitor, scores)


def _counted_scores(plan: RunPlan, record: Record) -> list[float]:
    """The score of a sample as the plan counts it; none if it does not count."""
    score = counted_score(record, cast(FailurePolicy, plan.failures))
    return [] if score is None else [score]


def costs_of_record(record: Record, roles: Collection[str] = ()) -> dict[str, RoleCost]:
    """What the replies in a record took, by role; `roles` are those besides the measured model,
    of which one may draw and one compare pictures with texts."""
    costs: dict[str, RoleCost] = defaultdict(RoleCost)
    for each in every_pass(record):
        role = _ROLES_OF_OUTPUTS.get(type(each.output), MAIN)
        costs[role if role in roles else MAIN].add(each.output)
        if each.cut_reply is not None:
            costs[MAIN].add(each.cut_reply.output)
        if each.extraction is not None:
            costs[EXTRACTOR].add(each.extraction)
        for verdict in each.verdicts:
            costs[verdict.judge].add(verdict.output)
    return dict(costs)


_ROLES_OF_OUTPUTS: Mapping[type, str] = {Drawn: DRAWER, Compared: CLIP}


class ProbeResult(NamedTuple):
    """A probe that was asked without a run."""

    samples: int
    pace: Pace | None
    """None if too few samples ended."""


def ask_probe(plan: RunPlan, store: ResponseStore, rule: PrecisionRule | ComparisonRule | None = None) -> ProbeResult:
    """Ask the samples of a probe, as the run would, and store the replies, so that the run does not
    ask them again; with a stop rule, the first of its order. Raises as `run` does."""
    table = plan.benchmark.open()
    pending = select_ids(plan, table)
    probe = open_probe(plan, plan.benchmark.samples(table), pending)
    if probe is None:
        return ProbeResult(0, None)
    if rule is None:
        in_order = probe.first(lambda: plan.benchmark.samples(table))
    else:
        wanted = [each for each in plan.benchmark.samples(table) if each.id in pending]
        units = units_in_order(rule, plan.benchmark, wanted, plan.seed)
        in_order = probe.in_order(sample for unit in units for sample in unit.samples)
    last_begun = time.monotonic()

    def samples() -> Iterator[Sample]:
        nonlocal last_begun
        for sample in in_order:
            if sample.id not in probe.ledger.sizes:
                return
            last_begun = time.monotonic()
            yield sample

    is_rate_limited = run_coroutine(_drive_probe(plan, store, probe, samples()))
    # Behind a rate limit samples wait after they were begun: then all ends tell the pace.
    until = None if is_rate_limited else last_begun
    return ProbeResult(len(probe.ledger.ended), probe.ledger.pace(until))


async def _drive_probe(plan: RunPlan, store: ResponseStore, probe: Probe, samples: Iterator[Sample]) -> bool:
    """Ask the samples; returns whether a server limited the rate of requests."""
    models = {MAIN: plan.model, **plan.roles}
    broker = RequestBroker(models, store, plan.limits, plan.prices, plan.fresh)
    broker.on_sent = probe.ledger.add_output
    try:
        await drive_all(
            samples,
            build_flow(plan),
            broker,
            probe.add_end,
            concurrent_flows(models),
            threaded=plan.benchmark.prepare is not None,
        )
        return any(client.usage.rate_limited for client in broker.clients.values())
    finally:
        await broker.stop()


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


def _flows_at_once(plan: RunPlan) -> int:
    """Samples that are in work at once: as many as requests of all accounts together."""
    others = {model.account: model.concurrency for model in plan.roles.values() if isinstance(model, RemoteModel)}
    if isinstance(plan.model, RemoteModel):
        others.pop(plan.model.account, None)
    return in_flight(plan.model) + sum(others.values())


def _concurrency(model: Model) -> int:
    """Requests that overlap in time. The seconds of a batch are shared among its replies, so that
    those of a local model do not."""
    is_async = inspect.iscoroutinefunction(getattr(model, "answer", None))
    return abilities(model).concurrency if is_async else 1
