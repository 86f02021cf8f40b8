"""Recorded replies of which other models judge or parse some."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from snellen.core.benchmark import Benchmark
from snellen.core.errors import UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.model import Model
from snellen.core.record import Flow, Record
from snellen.core.sample import Sample
from snellen.engine.loop.driving import drive_each
from snellen.engine.loop.request_broker import MAIN, RequestBroker, model_concurrency
from snellen.models.replay import Replay
from snellen.store.responses import ResponseStore


def judge_samples(
    benchmark: Benchmark, samples: Iterator[Sample], replay: Replay, judges: Mapping[str, Model], store: ResponseStore
) -> list[Record]:
    """Drive the flows, with verdicts from the judges; as many at once as the judge with the highest
    concurrency allows. Errors in the data are raised as they are without judges."""
    return run_coroutine(_judge_samples(benchmark, samples, replay, judges, store))


async def _judge_samples(
    benchmark: Benchmark, samples: Iterator[Sample], replay: Replay, judges: Mapping[str, Model], store: ResponseStore
) -> list[Record]:
    broker = RequestBroker(judges, store)
    records: dict[int, Record] = {}

    async def drive(numbered: tuple[int, Sample]) -> None:
        position, sample = numbered
        records[position] = await _drive_flow(benchmark.flow(sample), replay, broker)

    try:
        width = max(map(model_concurrency, judges.values()))
        await drive_each(enumerate(samples), drive, broker, lambda _: None, width)
    finally:
        await broker.stop()
    if broker.abort_signal.reason:
        raise UsageError(
            f"{broker.abort_signal.reason}; nothing is scored, and the verdicts that were given "
            "are kept: the same command goes on from there"
        )
    return [records[position] for position in range(len(records))]


async def _drive_flow(flow: Flow, replay: Replay, broker: RequestBroker) -> Record:
    try:
        request = next(flow)
        while True:
            output = replay.reply(request) if request.to == MAIN else (await broker.ask(request)).output
            request = flow.send(output)
    except StopIteration as stop:
        record: Record = stop.value
        return record
