"""A benchmark rehearsed without a model: every question answered by its own gold, or by nothing.

What the gold answers score is what a perfect model could score: less than the declared `oracle`
means that some gold cannot be read or graded.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from snellen.benchmarks.protocol.flows import planned_passes
from snellen.core.benchmark import Benchmark
from snellen.core.flow import run_flow
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record
from snellen.core.request import Request
from snellen.core.sample import Sample
from snellen.engine.loop.request_broker import MAIN

AnswerRole = Callable[[Request], Output]
"""Answers what a flow asks others than the model: judges, extractors."""


def fail_missing_role(request: Request) -> Output:
    """There is no such role."""
    return Failure("missing", f"nobody has the role {request.to} in a rehearsal")


def gold_reply(sample: Sample, request: Request) -> Output:
    """The first gold answer of the pass that is asked; a failure where there is none."""
    planned = planned_passes(sample)
    gold = planned[request.ref.turn].gold if request.ref.turn < len(planned) else sample.gold
    return Generated(gold[0]) if gold else Generated("")


def answer_samples(
    benchmark: Benchmark,
    samples: Iterable[Sample],
    reply: Callable[[Sample, Request], Output],
    answer_role: AnswerRole = fail_missing_role,
) -> list[Record]:
    """Records of the samples, in order, answered by `reply`."""

    def drive_sample(sample: Sample) -> Record:
        def answer(request: Request) -> Output:
            return reply(sample, request) if request.to == MAIN else answer_role(request)

        return run_flow(benchmark.flow(sample), answer)

    return [drive_sample(sample) for sample in samples]
