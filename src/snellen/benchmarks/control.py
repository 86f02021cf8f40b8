"""Any benchmark under a control: without pictures, or with black ones (MMT-Bench Table A13)."""

from __future__ import annotations

from dataclasses import replace
from typing import get_args

from snellen.core.benchmark import TEXT, Benchmark
from snellen.core.errors import UsageError
from snellen.core.model import Capabilities
from snellen.core.sample import Sample
from snellen.prompts.control import Control, controlled

OPTION = "control"
CONTROLS: tuple[Control, ...] = get_args(Control)


def with_control(benchmark: Benchmark, control: str | None) -> Benchmark:
    """The benchmark asked under a control, which is recorded in its parameters; unchanged for
    None. Text-only models may be asked blind. Raises UsageError for an unknown control."""
    if control is None:
        return benchmark
    chosen = next((known for known in CONTROLS if known == control), None)
    if chosen is None:
        raise UsageError(f"control {control!r}: expected one of {', '.join(CONTROLS)}")
    own, beyond = benchmark.prepare, benchmark.beyond

    def prepare(sample: Sample) -> Sample:
        return controlled(own(sample) if own else sample, chosen)

    def blind_beyond(sample: Sample, capabilities: Capabilities) -> str | None:
        return beyond(replace(sample, media=()), capabilities) if beyond else None

    changed = replace(
        benchmark,
        prepare=prepare,
        parameters={**benchmark.parameters, OPTION: chosen},
    )
    if chosen == "black":
        return changed
    return replace(changed, needs=TEXT, beyond=blind_beyond if beyond else None)
