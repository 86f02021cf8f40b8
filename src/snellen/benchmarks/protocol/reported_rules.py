"""One reply, several named readings: so that a number says how its replies were read."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from snellen.benchmarks.protocol.flows import Manner, YesNoReader, asked_once
from snellen.core.answer import Found
from snellen.core.flow import Flow
from snellen.core.output import Generated
from snellen.core.record import Record
from snellen.core.sample import Sample
from snellen.scoring.yes_no import YES

SAYS_YES = "yes_{reading}"
"""Name of the value that tells whether a reading finds a yes."""


def asked_with_readings(
    how: Manner, readings: Mapping[str, YesNoReader]
) -> Callable[[Sample], Flow]:
    """Ask once; `how.yes_no` decides the score, and `values` keeps what each of `readings` makes
    of the same reply: under its own name 1 where that is right, under `yes_<name>` 1 where it
    is a yes."""
    ask = asked_once(how)

    def flow(sample: Sample) -> Flow:
        record = yield from ask(sample)
        return msgspec.structs.replace(
            record, values={**record.values, **dict(_read(record, readings))}
        )

    return flow


def _read(record: Record, readings: Mapping[str, YesNoReader]) -> Iterator[tuple[str, float]]:
    output = record.passes[0].output
    if not isinstance(output, Generated):
        return
    for name, reader in readings.items():
        answer = reader(output.text, output.stop_reason)
        said = answer.value if isinstance(answer, Found) else None
        if record.gold:
            yield name, float(said in record.gold)
        yield SAYS_YES.format(reading=name), float(said == YES)
