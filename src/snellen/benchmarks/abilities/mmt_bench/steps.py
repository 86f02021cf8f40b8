"""Success rate of each step that reads a reply (MMT-Bench Sec. 4.1, Table A16), as values of the
records, because passes are not looked at when a run is summed up."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import msgspec

from snellen.core.flow import Flow
from snellen.core.output import Failure, Generated, Refused
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.extract.steps import STEPS, step_of

RATES = ("step_1_label", "step_2_content", "step_3_llm")
"""Share of replies read after each step, so that each rate includes those before it; the third
stands only where an LLM extractor was there to be asked."""
REFUSED = "refused"


def add_step_rates(flow: Callable[[Sample], Flow], *, extractor: bool) -> Callable[[Sample], Flow]:
    """The same flow, its records telling which step read the first pass's reply."""

    def flow_with_rates(sample: Sample) -> Flow:
        record = yield from flow(sample)
        values = record.values | dict(_step_rates(record, extractor=extractor))
        return msgspec.structs.replace(record, values=values)

    return flow_with_rates


def _step_rates(record: Record, *, extractor: bool) -> Iterator[tuple[str, float]]:
    first = record.passes[0]
    if record.kind != "choice" or not isinstance(first.output, Generated):
        return
    if isinstance(first.extraction, Failure):
        return
    step = step_of(first.answer, by_llm=first.extraction is not None)
    reached = len(STEPS) if step is None else STEPS.index(step)
    for position, name in enumerate(RATES[: 3 if extractor else 2]):
        yield name, float(reached <= position)
    yield REFUSED, float(isinstance(first.answer, Refused))
