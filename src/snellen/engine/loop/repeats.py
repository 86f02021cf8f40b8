"""Flows that ask a question several times, each time as a whole, sampled as the command says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.record import Record, merge_draws
from snellen.core.request import Compare, Draw, Generate, Rank, Request, Sampling
from snellen.core.sample import Sample
from snellen.engine.loop.driving import reclassify_too_long
from snellen.engine.loop.request_broker import MAIN

_DEFAULT_SAMPLING = Sampling()


def repeat_flow(
    flow: Callable[[Sample], Flow], repeats: int, sampling: Mapping[str, Sampling]
) -> Callable[[Sample], Flow]:
    """The flow, `repeats` times one after the other, whose requests are sampled as `sampling` says
    of the role they are addressed to. Draws of the measured model differ by their number, which is
    part of the request; a reader or judge is asked once about replies that are the same.

    The flow raises UsageError where the model ranks candidates, which no sampling changes.
    """
    if repeats == 1 and not sampling:
        return flow

    def draws(sample: Sample) -> Flow:
        records = []
        for number in range(repeats):
            records.append(
                reclassify_too_long(
                    (yield from _draw_once(flow(sample), number, repeats, sampling))
                )
            )
        return merge_draws(records)

    return draws


def _draw_once(flow: Flow, index: int, repeats: int, sampling: Mapping[str, Sampling]) -> Flow:
    try:
        request = next(flow)
        while True:
            role_sampling = sampling.get(request.to)
            if request.to == MAIN:
                _check_repeatable(request, repeats, role_sampling)
                request = _set_repeat(request, index)
            output = yield _apply_sampling(request, index, role_sampling or _DEFAULT_SAMPLING)
            request = flow.send(output)
    except StopIteration as end:
        record: Record = end.value
        return record


def _check_repeatable(request: Request, repeats: int, sampling: Sampling | None) -> None:
    if isinstance(request, Rank) and (repeats > 1 or sampling is not None):
        raise UsageError(
            "the model ranks the candidates by their likelihood here, which is the same each time; "
            "leave out --repeats, temperature, top_p and seed"
        )
    if isinstance(request, Draw) and sampling is not None:
        raise UsageError(
            "the model draws pictures here, which have no temperature, top_p or seed of this kind; "
            "leave these out (--repeats alone draws each picture several times)"
        )


def _set_repeat(request: Request, index: int) -> Request:
    if index and isinstance(request, Generate | Draw):
        return replace(request, repeat=index)
    return request


def _apply_sampling(request: Request, index: int, sampling: Sampling) -> Request:
    if isinstance(request, Rank | Draw | Compare):
        return request
    repeat = index if request.to == MAIN else 0
    settings = sampling.apply_to(request.settings, repeat)
    return request if settings == request.settings else replace(request, settings=settings)
