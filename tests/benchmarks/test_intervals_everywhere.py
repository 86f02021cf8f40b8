"""No number without its error bar: half-right replies to every registered benchmark."""

from __future__ import annotations

import random
from collections.abc import Iterator

import msgspec
import pytest
from test_declarations import FILES, Layout, of, roles

from snellen.core.output import Generated, Output
from snellen.core.record import Record
from snellen.core.request import Request
from snellen.core.summary import Metric, Summary
from snellen.engine.offline.gold_check import answer_samples, gold_reply
from snellen.scoring.accuracy import GUESSES

COPIES = 12
"""The layouts hold a few rows; they stand there so often, as questions of their own."""
EXPECTATIONS = {*GUESSES, "random_guess", "frequency_guess"}
"""What guessing would score is computed from the gold, and nothing is left to chance."""


def half_right(layout: Layout) -> Iterator[Record]:
    """Records of replies that are right six times in ten, by lot."""
    benchmark, told = of(layout, judges=int("judge" in roles(layout))), roles(layout)
    samples = list(benchmark.samples(benchmark.open()))

    def records(kind: str) -> list[Record]:
        def elsewhere(request: Request) -> Output:
            return Generated(told[request.to][kind])

        reply = gold_reply if kind == "gold" else lambda *_: Generated("")
        return list(answer_samples(benchmark, samples, reply, elsewhere))

    golds, blanks = records("gold"), records("blank")
    draw = random.Random(1)
    for copy in range(COPIES):
        for gold, blank in zip(golds, blanks, strict=True):
            one = gold if draw.random() < 0.6 else blank
            unit = f"{copy}#{one.unit}" if one.unit else ""
            media = tuple(f"{name}#{copy}" for name in one.media)
            yield msgspec.structs.replace(one, id=f"{one.id}#{copy}", unit=unit, media=media)


def numbers(summary: Summary) -> Iterator[tuple[str, Metric]]:
    yield "headline", summary.headline
    yield from summary.metrics.items()
    for column, labels in summary.groups.items():
        for label, metric in labels.items():
            if column.replace(" ", "_") not in EXPECTATIONS:
                yield f"{column}/{label}", metric


@pytest.mark.parametrize("layout", FILES, ids=lambda one: one.path.name)
def test_every_number_has_an_interval_around_it(layout: Layout) -> None:
    benchmark = of(layout, judges=int("judge" in roles(layout)))
    if benchmark.unscorable:
        return
    summary = benchmark.summarise(list(half_right(layout)))
    assert summary.headline.interval is not None
    for name, metric in numbers(summary):
        if name in EXPECTATIONS or metric.value is None:
            continue
        interval = metric.interval
        if interval is None:
            # Replies that are all alike in this respect tell nothing of their spread.
            assert metric.value in (0.0, 100.0) or metric.n < 2, (name, metric)
            continue
        assert interval.low <= metric.value + 1e-9, name
        assert interval.high >= metric.value - 1e-9, name
