"""Every registered benchmark under each of its rules: its flow from an arbitrary reply to a record.

The rows are those of tests/benchmarks/layouts. What judges and other roles reply is arbitrary too.
"""

from __future__ import annotations

import math
import random
from functools import cache
from pathlib import Path
from typing import NamedTuple

import msgspec
from tests.fuzz.pieces import WORDS, encoded_reply, text_of
from tests.fuzz.target import Broken, Target

from snellen.benchmarks.declaration.registry import open_benchmark
from snellen.benchmarks.protocol.judging import JUDGE
from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.output import Failure, Generated, Output
from snellen.core.record import Record, run_flow
from snellen.core.request import Generate, Request
from snellen.core.sample import Sample

LAYOUTS = Path(__file__).parents[1] / "benchmarks" / "layouts"


class Case(NamedTuple):
    """A benchmark of one rule, with or without a judge, and the samples of its file."""

    name: str
    benchmark: Benchmark
    samples: tuple[Sample, ...]


@cache
def cases() -> tuple[Case, ...]:
    found: list[Case] = []
    for path in sorted(LAYOUTS.iterdir()):
        if path.suffix not in (".tsv", ".jsonl"):
            continue
        name, _, told = path.stem.partition("@")
        options = dict(pair.split("=", 1) for pair in told.split(",") if pair)
        rules = open_benchmark(name, Variant(data=str(path), options=options)).rules
        for rule in rules:
            for judges in (0, 1):
                variant = Variant(data=str(path), options=options, judges=judges, rule=rule)
                try:
                    benchmark = open_benchmark(name, variant)
                except UsageError:  # no judge beside this rule
                    continue
                if judges and JUDGE not in benchmark.extra_roles:
                    continue
                samples = tuple(benchmark.samples(benchmark.open()))
                found.append(Case(f"{path.stem} {rule} {judges}", benchmark, samples))
    return tuple(found)


def record_of(case: Case, sample: Sample, reply: str, verdict: str) -> Record:
    """The record of a reply of the model, where all other roles say `verdict`. Raises Broken for a
    score that is none."""

    def answer(request: Request) -> Output:
        if isinstance(request, Generate):
            return Generated(reply if request.to == "model" else verdict)
        return Failure("unsupported", "only text is fuzzed")

    record = run_flow(case.benchmark.flow(sample), answer)
    numbers = [*record.values.values(), *([] if record.score is None else [record.score])]
    if not all(math.isfinite(number) for number in numbers) or not 0 <= (record.score or 0) <= 1:
        raise Broken(f"{case.name}, sample {sample.id}: score {record.score}, {record.values}")
    return record


def _any_flow(data: bytes) -> object:
    """The first two bytes choose benchmark and sample; a zero byte parts reply and verdict."""
    case = cases()[(int.from_bytes(data[:2], "big") // 4) % len(cases())]
    sample = case.samples[data[1] % 4 % len(case.samples) if len(data) > 1 else 0]
    reply, _, verdict = text_of(data[2:]).partition("\0")
    record = record_of(case, sample, reply, verdict or reply)
    return case.name, sample.id, msgspec.structs.replace(record, passes=())


_SEEDS = tuple(
    bytes((lead, lead * 7 % 256)) + reply
    for lead in range(0, 256, 32)
    for reply in (b"The answer is B.\0Score: 0.5", b"Yes\0[[A]] 10 1", b"1,200.5 \\boxed{3}\0Correct")
)


def _made(lot: random.Random) -> bytes:
    return lot.randbytes(2) + encoded_reply(lot) + b"\0" + encoded_reply(lot)


TARGETS: tuple[Target, ...] = (Target("replies-flow", _any_flow, _SEEDS, WORDS, (), made=_made),)
