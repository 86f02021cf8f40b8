"""A flow asks about one sample without doing any I/O.

It is a generator: it yields `Request`s, receives an `Output` for each, and returns the sample's
`Record`. Whatever asks more than once is a flow, so that tests can drive it with `send()` and one
engine drives all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import TypeVar

from snellen.core.output import Output
from snellen.core.record import Record
from snellen.core.request import Request

T = TypeVar("T")

Steps = Generator[Request, Output, T]
"""A part of a flow that returns a T and may ask on the way."""

Flow = Steps[Record]


def run_flow(flow: Steps[T], answer: Callable[[Request], Output]) -> T:
    """Run a flow to its end against a plain function, for tests and recorded replies."""
    try:
        request = next(flow)
        while True:
            request = flow.send(answer(request))
    except StopIteration as stop:
        result: T = stop.value
        return result


def change_requests(steps: Steps[T], change: Callable[[Request], Request]) -> Steps[T]:
    """Steps whose requests are changed before they are asked."""
    try:
        request = next(steps)
        while True:
            request = steps.send((yield change(request)))
    except StopIteration as stop:
        result: T = stop.value
        return result
