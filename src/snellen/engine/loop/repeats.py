"""Flows that ask a question several times, each time as a whole, sampled as the command says."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from msgspec.structs import replace

from snellen.core.errors import UsageError
from snellen.core.flow import Flow
from snellen.core.record import Record
from snellen.core.repeats import merged
from snellen.core.request import Compare, Draw, Generate, Rank, Request, Sampling
from snellen.core.sample import Sample
from snellen.engine.loop.driving import settled
from snellen.engine.loop.request_broker import MAIN

_AS_IT_IS = Sampling()


def repeated(
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
        found = []
        for number in range(repeats):
            found.append(settled((yield from _draw(flow(sample), number, repeats, sampling))))
        return merged(found)

    return draws


def _draw(flow: Flow, number: int, repeats: int, sampling: Mapping[str, Sampling]) -> Flow:
    try:
        request = next(flow)
        while True:
            how = sampling.get(request.to)
            if request.to == MAIN:
                _check(request, repeats, how)
                request = _numbered(request, number)
            output = yield _sampled(request, number, how or _AS_IT_IS)
            request = flow.send(output)
    except StopIteration as end:
        record: Record = end.value
        return record


def _check(request: Request, repeats: int, how: Sampling | None) -> None:
    if isinstance(request, Rank) and (repeats > 1 or how is not None):
        raise UsageError(
            "the model ranks the candidates by their likelihood here, which is the same each time; "
            "leave out --repeats, temperature, top_p and seed"
        )
    if isinstance(request, Draw) and how is not None:
        raise UsageError(
            "the model draws pictures here, which have no temperature, top_p or seed of this kind; "
            "leave these out (--repeats alone draws each picture several times)"
        )


def _numbered(request: Request, number: int) -> Request:
    if number and isinstance(request, Generate | Draw):
        return replace(request, repeat=number)
    return request


def _sampled(request: Request, number: int, how: Sampling) -> Request:
    if isinstance(request, Rank | Draw | Compare):
        return request
    repeat = number if request.to == MAIN else 0
    settings = how.applied(request.settings, repeat)
    return request if settings == request.settings else replace(request, settings=settings)
