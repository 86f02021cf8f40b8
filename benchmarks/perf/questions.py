"""Questions that local models and replicas are asked."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.output import Generated
from snellen.core.record import Flow
from snellen.core.request import Request

TOKENS = 16
"""Of each reply."""


def passes(count: int) -> list[Request]:
    """Every pass of the first questions of the bundled benchmark that have one picture."""
    asked = open_benchmark("eyechart", Variant(circular="full", max_new_tokens=TOKENS))
    samples = (one for one in asked.samples(asked.open()) if len(one.media) == 1)
    found: list[Request] = []
    for sample in islice(samples, count):
        found += requests_of(asked.flow(sample))
    return found


def requests_of(flow: Flow) -> Iterator[Request]:
    """What a flow asks when early stop is off, whatever it is told."""
    request = next(flow)
    while True:
        yield request
        try:
            request = flow.send(Generated("A"))
        except StopIteration:
            return
