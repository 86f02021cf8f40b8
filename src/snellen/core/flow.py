"""A flow asks about one sample without doing any I/O.

It is a generator: it yields `Request`s, is sent an `Output` for each, and returns the sample's
`Record`. Everything that asks more than once is a flow, so each is tested by hand with `send()`
and one engine drives them all.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from snellen.core.output import Output
from snellen.core.record import Record
from snellen.core.request import Request

T = TypeVar("T")

Steps = Generator[Request, Output, T]
"""A part of a flow that may ask on its way to a T."""

Flow = Steps[Record]


def run_flow(flow: Steps[T], answer: Callable[[Request], Output]) -> T:
    """Run a flow to its end against a plain function: tests, scoring of recorded replies."""
    try:
        request = next(flow)
        while True:
            request = flow.send(answer(request))
    except StopIteration as stop:
        result: T = stop.value
        return result
