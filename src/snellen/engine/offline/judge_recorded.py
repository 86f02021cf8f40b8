"""Recorded replies of which other models judge or parse some."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator

from snellen.core.benchmark import Benchmark
from snellen.core.errors import SnellenError, UsageError
from snellen.core.event_loop import run_coroutine
from snellen.core.flow import Flow
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.engine.limits.abort import RunAborted
from snellen.engine.loop.request_broker import MAIN, RequestBroker, disconnect, model_concurrency
from snellen.engine.offline.score_recorded import Judges
from snellen.models.replay import Replay


def judge_samples(benchmark: Benchmark, samples: Iterable[Sample], replay: Replay, judges: Judges) -> list[Record]:
    """Drive the flows, with verdicts from the judges; as many at once as the judge with the highest
    concurrency allows. Errors in the data are raised as they are without judges."""
    return run_coroutine(_judge_samples(benchmark, samples, replay, judges))


async def _judge_samples(
    benchmark: Benchmark, samples: Iterable[Sample], replay: Replay, judges: Judges
) -> list[Record]:
    broker = RequestBroker(judges.models, judges.store)
    records: dict[int, Record] = {}

    async def worker(numbered: Iterator[tuple[int, Sample]]) -> None:
        for position, sample in numbered:
            try:
                records[position] = await _drive_flow(benchmark.flow(sample), replay, broker)
            except RunAborted:
                return

    shared = iter(enumerate(samples))
    width = max(map(model_concurrency, judges.models.values()))
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(width):
                group.create_task(worker(shared))
    except ExceptionGroup as errors:
        first = errors.exceptions[0]
        if isinstance(first, SnellenError):
            raise first from None
        raise
    finally:
        broker.close()
        await disconnect(*judges.models.values())
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
            if request.to == MAIN:
                request = flow.send(replay.reply(request))
            else:
                request = flow.send((await broker.ask(request)).output)
    except StopIteration as stop:
        record: Record = stop.value
        return record
