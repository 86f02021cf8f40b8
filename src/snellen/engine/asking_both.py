"""Asks two models the same requests, one model after the other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from snellen.core.benchmark import Benchmark
from snellen.core.errors import MediaError, ModelError, UsageError
from snellen.core.flow import Flow
from snellen.core.model import Model, Rendered, Rendering
from snellen.core.output import Failure, Output
from snellen.core.request import Generate, Request
from snellen.engine.asking import MAIN
from snellen.engine.outputs import outputs_of
from snellen.engine.parity import Question, Told
from snellen.engine.run_plan import Plan, chosen_ids, flow_of
from snellen.store.responses import ResponseStore

LOGPROBS = 5
"""Likeliest first tokens that are compared."""


class Asked(NamedTuple):
    """A sample, and the first request of its flow."""

    sample: str
    request: Generate


def first_requests(plan: Plan) -> list[Asked]:
    """What the plan would ask first about each of its samples, with log-probabilities.

    Raises UsageError where a benchmark asks for something else than text.
    """
    table = plan.benchmark.open()
    chosen, flow = chosen_ids(plan, table), flow_of(plan)
    found: list[Asked] = []
    for sample in plan.benchmark.samples(table):
        if sample.id not in chosen:
            continue
        request = _first_of(flow(sample))
        if not isinstance(request, Generate):
            what = "nothing of the models" if request is None else type(request).__name__
            raise UsageError(
                f"{plan.benchmark.name} asks {what} first (sample {sample.id}); parity compares "
                "replies in text"
            )
        settings = replace(request.settings, logprobs=LOGPROBS)
        found.append(Asked(sample.id, replace(request, settings=settings, to=MAIN)))
    return found


def ask_both(
    benchmark: Benchmark,
    models: tuple[Model, Model],
    asked: Sequence[Asked],
    stores: tuple[ResponseStore, ResponseStore],
    before: Callable[[Model], object] = lambda model: None,
) -> list[Question]:
    """The requests with what either model made of them, each with a store of its own or both with
    one. `before` is told which model comes next.

    Raises UsageError where a model cannot take the benchmark.
    """
    for model in models:
        lacking = benchmark.needs(model.capabilities)
        if lacking:
            raise UsageError(f"{model.identity.name} on {benchmark.name}: {lacking}")
    told: list[list[Told]] = []
    for model, store in zip(models, stores, strict=True):
        before(model)
        told.append(asyncio.run(_told(model, [one.request for one in asked], store)))
    return [
        Question(one.sample, one.request.messages, first, second)
        for one, first, second in zip(asked, *told, strict=True)
    ]


async def _told(model: Model, requests: Sequence[Request], store: ResponseStore) -> list[Told]:
    async with outputs_of(model, MAIN, requests, store) as outputs:
        # Afterwards and one by one: a model's processor may not be used by two threads.
        return [
            Told(output, await _rendered(model, request, output))
            for request, output in zip(requests, outputs, strict=True)
        ]


async def _rendered(model: Model, request: Request, output: Output) -> Rendered | None:
    if isinstance(output, Failure) or not isinstance(model, Rendering):
        return None
    try:
        return await model.rendered(request)
    except (ModelError, MediaError):
        return None


def _first_of(flow: Flow) -> Request | None:
    try:
        return next(flow)
    except StopIteration:
        return None
