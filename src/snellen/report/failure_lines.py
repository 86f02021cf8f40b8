"""Why samples failed, in the words of whoever failed them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

from snellen.core.output import Failure
from snellen.core.record import Record
from snellen.core.repeats import every_pass
from snellen.report import format as fmt
from snellen.store.runs import RunFolder

if TYPE_CHECKING:
    from rich.console import Console

MOST = 3
"""Messages that are told of one run; the others are counted."""


def print_failures(runs: Sequence[RunFolder], console: Console) -> None:
    """A line for each of the commonest messages of each run; nothing where nothing failed."""
    from rich.text import Text

    for run in runs:
        whose = f"{run.info.model} on {run.info.benchmark}: " if len(runs) > 1 else ""
        for line in failure_lines(run.failures()):
            console.print(Text(f"{whose}{line}", style="yellow"))


def failure_lines(records: Iterable[Record]) -> Iterator[str]:
    """How many samples each message cost, the commonest message first."""
    told = Counter(message for record in records if (message := _message(record)))
    for message, samples in told.most_common(MOST):
        yield f"{fmt.plural(samples, 'sample')} failed: {message}"
    rest = sum(told.values()) - sum(samples for _, samples in told.most_common(MOST))
    if rest:
        yield f"{fmt.plural(rest, 'sample')} failed for other reasons: snellen view tells them"


def _message(record: Record) -> str:
    outputs = (one.output for one in every_pass(record))
    return next((one.message for one in outputs if isinstance(one, Failure)), "")
