"""The gold check: a benchmark answered by its own gold answers, without a model.

Their score is what a perfect model could score. If it is below the declared `oracle`, some gold
cannot be parsed or graded.
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
"""Answers requests to other roles than the measured model: judges, extractors."""


def fail_missing_role(request: Request) -> Output:
    """A Failure for every request: the gold check has no other roles."""
    return Failure("missing", f"no model has the role {request.to} in the gold check")


def gold_reply(sample: Sample, request: Request) -> Output:
    """Reply with the first gold answer of the pass; empty text if it has none."""
    planned = planned_passes(sample)
    gold = planned[request.ref.turn].gold if request.ref.turn < len(planned) else sample.gold
    return Generated(gold[0]) if gold else Generated("")


def answer_samples(
    benchmark: Benchmark,
    samples: Iterable[Sample],
    reply: Callable[[Sample, Request], Output],
    answer_role: AnswerRole = fail_missing_role,
) -> list[Record]:
    """Drive the samples' flows with the outputs of `reply`, and return their records in order."""

    def drive_sample(sample: Sample) -> Record:
        def answer(request: Request) -> Output:
            return reply(sample, request) if request.to == MAIN else answer_role(request)

        return run_flow(benchmark.flow(sample), answer)

    return [drive_sample(sample) for sample in samples]
