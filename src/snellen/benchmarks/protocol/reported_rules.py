"""One reply parsed by several named rules, all of them in the record."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping

import msgspec

from snellen.benchmarks.protocol.flows import AskConfig, SinglePassFlow, YesNoParser
from snellen.core.output import Generated, ParsedAnswer
from snellen.core.record import Flow, Record
from snellen.core.sample import Sample
from snellen.scoring.yes_no import YES

YES_VALUE = "yes_{reading}"
"""Name of the value that tells whether a reading finds a yes."""


def flow_reporting_all_rules(config: AskConfig, parsers: Mapping[str, YesNoParser]) -> Callable[[Sample], Flow]:
    """Ask once; `config.yes_no` decides the score, and `values` keeps the result of each parser.

    Under the parser's own name: 1 if it is right; under `yes_<name>`: 1 if it is a yes.
    """
    ask = SinglePassFlow(config)

    def flow(sample: Sample) -> Flow:
        record = yield from ask(sample)
        return msgspec.structs.replace(record, values={**record.values, **dict(_rule_values(record, parsers))})

    return flow


def _rule_values(record: Record, parsers: Mapping[str, YesNoParser]) -> Iterator[tuple[str, float]]:
    output = record.passes[0].output
    if not isinstance(output, Generated):
        return
    for name, reader in parsers.items():
        answer = reader(output.text, output.stop_reason)
        value = answer.value if isinstance(answer, ParsedAnswer) else None
        if record.gold:
            yield name, float(value in record.gold)
        yield YES_VALUE.format(reading=name), float(value == YES)
