"""Withhold the headline if too many samples have no score: `withhold>5%`, for any benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

from msgspec import structs

from snellen.core.benchmark import Benchmark, Variant
from snellen.core.errors import UsageError
from snellen.core.record import Record
from snellen.core.summary import Summary
from snellen.scoring.accuracy import GUESSES

_GATE = re.compile(r"withhold\s*>\s*(?P<share>\d+(?:\.\d+)?)\s*%")
GATE_EXAMPLE = "withhold>5%"


class GateOption(NamedTuple):
    """The variant without gate, and the fraction of samples, 0..1, above which there is no
    headline."""

    variant: Variant
    max_fraction: float


def split_gate(variant: Variant) -> GateOption:
    """Split the gate off a variant that has one; below it, failed and missing samples are left out.

    Raises UsageError for a malformed gate.
    """
    match = _GATE.fullmatch(variant.failures or "")
    if match is None:
        raise UsageError(f"--failures {variant.failures!r}: expected a share of the samples, e.g. '{GATE_EXAMPLE}'")
    share = float(match["share"]) / 100
    if not 0 < share < 1:
        raise UsageError(
            f"--failures {variant.failures!r}: expected a share between 0 and 100 %; `withhold` "
            "gives no score if a single sample failed"
        )
    return GateOption(replace(variant, failures="exclude"), share)


def apply_gate(benchmark: Benchmark, max_fraction: float) -> Benchmark:
    """The benchmark without a headline where a larger fraction of samples has no score."""
    summarise = benchmark.summarise

    def summarise_with_gate(records: Sequence[Record]) -> Summary:
        summary = summarise(records)
        lost = sum(record.is_retryable for record in records)
        return _withhold(summary, lost, max_fraction) if lost > max_fraction * len(records) else summary

    return replace(benchmark, summarise=summarise_with_gate)


def _withhold(summary: Summary, missing: int, max_fraction: float) -> Summary:
    note = f"withheld: {missing} of {summary.total} samples failed or are missing, more than "
    note += f"{100 * max_fraction:g} %"
    headline = structs.replace(summary.headline, value=None, interval=None, note=note)
    kept = {name: metric for name, metric in summary.metrics.items() if name in GUESSES}
    return structs.replace(
        summary,
        headline=headline,
        metrics={headline.name: headline, **kept},
        groups={},
        beside=(),
        notices=(f"the headline is {note}", *summary.notices),
    )
