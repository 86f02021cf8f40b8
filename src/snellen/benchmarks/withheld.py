"""Benchmarks that cannot be scored here, with the reason."""

from __future__ import annotations

from dataclasses import replace

from snellen.core.benchmark import Benchmark, Variant


def withheld(benchmark: Benchmark, variant: Variant, option: str, *values: str) -> Benchmark:
    """Says of the variants whose answers their authors keep that they have no score; a data file
    of the user's own may hold the answers."""
    known = benchmark.options[option]
    value = variant.options.get(option, known[0])
    if value not in values or variant.data is not None:
        return benchmark
    reason = (
        f"the answers of {option}={value} are withheld by the authors of {benchmark.name}: the "
        "questions are asked, and only the authors can score the replies"
    )
    return replace(benchmark, oracle=None, unscorable=reason)
