"""Questions that local models and replicas are asked."""

from __future__ import annotations

from itertools import islice

from snellen.benchmarks.registry import open_benchmark
from snellen.core.benchmark import Variant
from snellen.core.output import Generated
from snellen.core.request import Request

TOKENS = 16
"""Of each reply."""


def passes(count: int) -> list[Request]:
    """Every pass of the first questions of the bundled benchmark that have one picture."""
    asked = open_benchmark("eyechart", Variant(circular="full", max_new_tokens=TOKENS))
    samples = (one for one in asked.samples(asked.open()) if len(one.media) == 1)
    found: list[Request] = []
    for sample in islice(samples, count):
        flow = asked.flow(sample)
        request = next(flow)
        while True:
            found.append(request)
            try:
                request = flow.send(Generated("A"))
            except StopIteration:
                break
    return found
