"""How many replies each parsing step resolves (MMT-Bench Table A16): labels of options, their
contents, a language model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from typing import NamedTuple

from snellen.core.output import Failure, Generated, Refused
from snellen.core.record import Record
from snellen.core.summary import Interval
from snellen.extract.steps import STEPS, Step, step_of
from snellen.stats.intervals import wilson


class StepRates(NamedTuple):
    """Replies parsed by each step or an earlier one; `llm` counts only if an extractor was
    asked."""

    replies: int
    read: dict[Step, int]
    refused: int
    extractor: bool

    def share(self, step: Step) -> float | None:
        """In 0..1; None if the run had no such step, or no replies."""
        if not self.replies or (step == "llm" and not self.extractor):
            return None
        return self.read[step] / self.replies

    def interval(self, step: Step) -> Interval | None:
        return None if self.share(step) is None else wilson(self.read[step], self.replies)


def step_rates(records: Iterable[Record], *, extractor: bool) -> StepRates:
    """Rates over the first pass of every multiple-choice question with a reply."""
    counts: Counter[Step] = Counter()
    replies = refused = 0
    for record in records:
        first = record.passes[0] if record.passes else None
        if record.kind != "choice" or first is None or not isinstance(first.output, Generated):
            continue
        if isinstance(first.extraction, Failure):
            continue
        replies += 1
        refused += isinstance(first.answer, Refused)
        step = step_of(first.answer, by_llm=first.extraction is not None)
        if step is not None:
            counts[step] += 1
    cumulative = {step: sum(counts[earlier] for earlier in STEPS[: index + 1]) for index, step in enumerate(STEPS)}
    return StepRates(replies, cumulative, refused, extractor)
